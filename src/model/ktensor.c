#include "model/ktensor.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random_counter.h"
#include "model/factor_columns.h"

enum status ktensor_create(struct ktensor *k, const struct shape *shape, uint64_t rank,
                           struct error *error)
{
    *k = (struct ktensor){.shape.order = shape->order, .rank = rank};
    if (shape->order < 1 || shape->order > MAX_ORDER || rank < 1) {
        error_set(error, STATUS_INPUT,
                  "a model of %d modes and rank %llu, expected 1 to %d modes and rank 1 or more",
                  shape->order, (unsigned long long)rank, MAX_ORDER);
        goto fail;
    }
    k->lambda = memory_array(rank, sizeof *k->lambda, error); /* refuses a rank that overflows */
    if (!k->lambda)
        goto fail;
    for (uint64_t r = 0; r < rank; r++)
        k->lambda[r] = 1;
    for (int n = 0; n < shape->order; n++) {
        k->shape.dims[n] = shape->dims[n];
        k->factor[n] = memory_array(shape->dims[n], rank * sizeof *k->factor[n], error);
        if (!k->factor[n])
            goto fail;
    }
    return STATUS_OK;
fail:
    ktensor_free(k);
    return error->status;
}

enum status ktensor_create_part(struct ktensor *k, const struct part *part, uint64_t rank,
                                struct error *error)
{
    if (ktensor_create(k, &part->here, rank, error) == STATUS_OK)
        memcpy(k->first, part->first, sizeof k->first);
    return error->status;
}

void ktensor_free(struct ktensor *k)
{
    memory_free(k->lambda);
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(k->factor[n]);
    *k = (struct ktensor){0};
}

/* Two independent standard normal numbers from two random words (Box and Muller 1958). */
static void normal_pair(const uint64_t word[2], double pair[2])
{
    double radius = sqrt(-2 * log(1 - random_uniform(word[0])));
    double angle = 2 * acos(-1) * random_uniform(word[1]);
    pair[0] = radius * cos(angle);
    pair[1] = radius * sin(angle);
}

/* Fills row i of the whole factor matrix n. Columns 2j and 2j + 1 come from one counter. */
static void randomise_row(double *row, uint64_t rank, enum ktensor_init init, uint64_t seed, int n,
                          uint64_t i)
{
    for (uint64_t r = 0; r < rank; r += 2) {
        uint64_t word[2];
        double pair[2];
        random_words(seed, (uint64_t)n << 56 | r / 2, i, word);
        if (init == KTENSOR_NORMAL) {
            normal_pair(word, pair);
        } else {
            pair[0] = random_uniform(word[0]);
            pair[1] = random_uniform(word[1]);
        }
        row[r] = pair[0];
        if (r + 1 < rank)
            row[r + 1] = pair[1];
    }
}

void ktensor_randomise(struct ktensor *k, enum ktensor_init init, uint64_t seed)
{
    for (uint64_t r = 0; r < k->rank; r++)
        k->lambda[r] = 1;
    for (int n = 0; n < k->shape.order; n++) {
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < k->shape.dims[n]; i++)
            randomise_row(k->factor[n] + i * k->rank, k->rank, init, seed, n, k->first[n] + i);
    }
}

struct component {
    double lambda;
    uint64_t index;
};

static int larger_first(const void *a, const void *b)
{
    const struct component *x = a, *y = b;
    if (x->lambda != y->lambda)
        return x->lambda > y->lambda ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* What ktensor_arrange computes before it changes the model. */
struct arrangement {
    double *norm;                /* (N x R): of the columns; later their divisors      */
    double *largest;             /* (N x R): each column's entry of largest magnitude  */
    struct component *component; /* (R): lambda times the norms, and the old index     */
    uint64_t *from;              /* (R): the old index of the component                */
    double *divisor;             /* (R): scratch, the divisors of a mode in new order  */
    double *buffer;              /* (threads x R): scratch                             */
};

static enum status arrangement_create(struct arrangement *p, const struct ktensor *k,
                                      struct error *error)
{
    size_t order = (size_t)k->shape.order;
    if (!(p->norm = memory_array(order * k->rank, sizeof *p->norm, error)) ||
        !(p->largest = memory_array(order * k->rank, sizeof *p->largest, error)) ||
        !(p->component = memory_array(k->rank, sizeof *p->component, error)) ||
        !(p->from = memory_array(k->rank, sizeof *p->from, error)) ||
        !(p->divisor = memory_array(k->rank, sizeof *p->divisor, error)) ||
        !(p->buffer =
              memory_array((size_t)omp_get_max_threads(), k->rank * sizeof *p->buffer, error)))
        return error->status;
    for (int n = 0; n < k->shape.order; n++)
        if (factor_columns_norms(k->factor[n], k->shape.dims[n], k->rank,
                                 p->norm + (uint64_t)n * k->rank,
                                 p->largest + (uint64_t)n * k->rank, error) != STATUS_OK)
            return error->status;
    return STATUS_OK;
}

static void arrangement_free(struct arrangement *p)
{
    memory_free(p->norm);
    memory_free(p->largest);
    memory_free(p->component);
    memory_free(p->from);
    memory_free(p->divisor);
    memory_free(p->buffer);
}

/* Multiplies lambda by the norms, makes lambda positive and sorts the components. p->norm becomes
 * the signed numbers by which the columns are divided. */
static void arrangement_plan(struct arrangement *p, const struct ktensor *k)
{
    for (uint64_t r = 0; r < k->rank; r++) {
        double lambda = k->lambda[r];
        int odd = lambda < 0, zero = 0;
        for (int n = 0; n < k->shape.order; n++) {
            uint64_t at = (uint64_t)n * k->rank + r;
            lambda *= p->norm[at];
            int flip = n < k->shape.order - 1 ? p->largest[at] < 0 : odd;
            odd ^= flip;
            zero |= p->norm[at] == 0;
            p->norm[at] = p->norm[at] == 0 ? 1 : flip ? -p->norm[at] : p->norm[at];
        }
        p->component[r] = (struct component){zero ? 0 : fabs(lambda), r};
    }
    qsort(p->component, k->rank, sizeof *p->component, larger_first);
    for (uint64_t r = 0; r < k->rank; r++)
        p->from[r] = p->component[r].index;
}

enum status ktensor_arrange(struct ktensor *k, struct error *error)
{
    struct arrangement p = {0};
    if (arrangement_create(&p, k, error) != STATUS_OK)
        goto end;
    arrangement_plan(&p, k);
    for (int n = 0; n < k->shape.order; n++) {
        for (uint64_t r = 0; r < k->rank; r++)
            p.divisor[r] = p.norm[(uint64_t)n * k->rank + p.from[r]];
        factor_columns_rearrange(k->factor[n], k->shape.dims[n], k->rank, p.from, p.divisor,
                                 p.buffer);
    }
    for (uint64_t r = 0; r < k->rank; r++)
        k->lambda[r] = p.component[r].lambda;
end:
    arrangement_free(&p);
    return error->status;
}
