#include "model/ktensor.h"

#include <math.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/vector_clones.h"
#include "numerics/random_counter.h"

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
    k->lambda =
        memory_array(rank, 3 * sizeof *k->lambda, error); /* refuses a rank that overflows */
    TRY_OR(fail, error->status);
    k->explained = k->lambda + rank;
    k->lost = k->explained + rank;
    for (uint64_t r = 0; r < rank; r++) {
        k->lambda[r] = 1;
        k->explained[r] = k->lost[r] = NAN;
    }
    for (int n = 0; n < shape->order; n++) {
        k->shape.dims[n] = shape->dims[n];
        k->factor[n] = memory_array(shape->dims[n], rank * sizeof *k->factor[n], error);
        TRY_OR(fail, error->status);
    }
    return STATUS_OK;
fail:
    ktensor_free(k);
    return error->status;
}

enum status ktensor_create_part(struct ktensor *k, const struct part *part, uint64_t rank,
                                struct error *error)
{
    TRY(ktensor_create(k, &part->here, rank, error));
    for (int n = 0; n < k->shape.order; n++) {
        k->first[n] = part->first[n];
        k->row[n] = part->row[n];
    }
    return STATUS_OK;
}

enum status ktensor_set_rank(struct ktensor *k, uint64_t rank, struct error *error)
{
    const uint64_t old = k->rank, kept = least_of(old, rank);
    double *lambda = memory_array(rank, 3 * sizeof *lambda, error);
    TRY(error->status);
    for (int n = 0; n < k->shape.order && rank > old; n++)
        TRY_OR(failed,
               memory_resize(&k->factor[n], k->shape.dims[n], rank * sizeof *k->factor[n], error));
    for (uint64_t r = 0; r < rank; r++) {
        lambda[r] = r < kept ? k->lambda[r] : 1;
        lambda[rank + r] = r < kept && k->explained ? k->explained[r] : NAN;
        lambda[2 * rank + r] = r < kept && k->lost ? k->lost[r] : NAN;
    }
    for (int n = 0; n < k->shape.order;
         n++) /* rows move up from the first, or down from the last */
        for (uint64_t i = 0; i < k->shape.dims[n]; i++) {
            const uint64_t row = rank > old ? k->shape.dims[n] - 1 - i : i;
            memmove(k->factor[n] + row * rank, k->factor[n] + row * old, kept * sizeof(double));
        }
    memory_free(k->lambda);
    k->lambda = lambda;
    k->explained = lambda + rank;
    k->lost = k->explained + rank;
    k->rank = rank;
    return STATUS_OK;
failed:
    memory_free(lambda);
    return error->status;
}

void ktensor_free(struct ktensor *k)
{
    memory_free(k->lambda);
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(k->factor[n]);
    *k = (struct ktensor){0};
}

/* Fills row i of the whole factor matrix n. Columns 2j and 2j + 1 come from one counter. */
static void randomise_row(double *row, uint64_t rank, enum ktensor_init init, uint64_t seed, int n,
                          uint64_t i)
{
    for (uint64_t r = 0; r < rank; r += 2) {
        uint64_t word[2];
        double pair[2];
        random_model_words(seed, n, r / 2, i, word);
        if (init == KTENSOR_NORMAL) { /* two independent numbers (Box and Muller 1958) */
            double radius = sqrt(-2 * log(1 - random_uniform(word[0])));
            double angle = 2 * acos(-1) * random_uniform(word[1]);
            pair[0] = radius * cos(angle);
            pair[1] = radius * sin(angle);
        } else {
            pair[0] = random_uniform(word[0]);
            pair[1] = random_uniform(word[1]);
        }
        row[r] = pair[0];
        if (r + 1 < rank)
            row[r + 1] = pair[1];
    }
}

void ktensor_random_rows(double *a, const struct part *part, int n, uint64_t rank,
                         enum ktensor_init init, uint64_t seed)
{
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < part->here.dims[n]; i++) {
        uint64_t row = part->row[n] ? part->row[n][i] : part->first[n] + i;
        if (row == NO_ROW)
            memset(a + i * rank, 0, rank * sizeof *a);
        else
            randomise_row(a + i * rank, rank, init, seed, n, row);
    }
}

void ktensor_randomise(struct ktensor *k, enum ktensor_init init, uint64_t seed)
{
    struct part part = {.here = k->shape};
    for (uint64_t r = 0; r < k->rank; r++)
        k->lambda[r] = 1;
    for (int n = 0; n < k->shape.order; n++) {
        part.first[n] = k->first[n];
        part.row[n] = k->row[n];
        ktensor_random_rows(k->factor[n], &part, n, k->rank, init, seed);
    }
}

uint64_t ktensor_bytes(const struct shape *shape, uint64_t rank)
{
    uint64_t rows = 1; /* lambda */
    for (int n = 0; n < shape->order; n++)
        rows += shape->dims[n];
    return rows * rank * sizeof(double);
}

#define PART   1024 /* entries that a thread takes */
#define AHEAD  8    /* entries whose rows are fetched beforehand */
#define CACHED 64   /* bytes that are fetched together */

#define INLINE static inline __attribute__((always_inline))

/* sum (width) += the terms r to r + width - 1 of an entry with these rows. */
INLINE void add_terms(double *sum, uint64_t width, const struct ktensor *k, uint64_t r,
                      const double *const *row)
{
    double term[8];
    for (uint64_t w = 0; w < width; w++)
        term[w] = k->lambda[r + w];
    for (int n = 0; n < k->shape.order; n++)
        for (uint64_t w = 0; w < width; w++)
            term[w] *= row[n][r + w];
    for (uint64_t w = 0; w < width; w++)
        sum[w] += term[w];
}

INLINE double value_of(const struct ktensor *k, const double *const *row)
{
    double sum[8] = {0};
    uint64_t r = 0;
    for (; r + 8 <= k->rank; r += 8)
        add_terms(sum, 8, k, r, row);
    if (r + 4 <= k->rank) {
        add_terms(sum, 4, k, r, row);
        r += 4;
    }
    for (; r < k->rank; r++)
        add_terms(sum, 1, k, r, row);
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

INLINE void fetch_rows(const struct ktensor *k, const struct coo *x, uint64_t i)
{
    for (int n = 0; n < k->shape.order; n++) {
        const char *row = (const char *)(k->factor[n] + x->index[n][i] * k->rank);
        for (uint64_t at = 0; at < k->rank * sizeof(double); at += CACHED)
            __builtin_prefetch(row + at);
    }
}

/* Of entries [first, last). */
VECTOR_CLONES static void values_of(double *value, const struct ktensor *k, const struct coo *x,
                                    uint64_t first, uint64_t last)
{
    const double *row[MAX_ORDER];
    for (uint64_t i = first; i < last; i++) {
        if (i + AHEAD < last)
            fetch_rows(k, x, i + AHEAD);
        for (int n = 0; n < k->shape.order; n++)
            row[n] = k->factor[n] + x->index[n][i] * k->rank;
        value[i] = value_of(k, row);
    }
}

void ktensor_at(double *value, const struct ktensor *k, const struct coo *x)
{
#pragma omp parallel for schedule(dynamic) if (x->nnz > PART)
    for (uint64_t first = 0; first < x->nnz; first += PART)
        values_of(value, k, x, first, least_of(first + PART, x->nnz));
}

VECTOR_CLONES double ktensor_value(const struct ktensor *k, const uint32_t *index)
{
    const double *row[MAX_ORDER];
    for (int n = 0; n < k->shape.order; n++)
        row[n] = k->factor[n] + index[n] * k->rank;
    return value_of(k, row);
}

uint64_t ktensor_rows_of_bytes(uint64_t bytes, uint64_t rank)
{
    const uint64_t row = rank * sizeof(double);
    return row < bytes ? bytes / row : 1;
}

enum status ktensor_pieces(const struct ktensor_source *from, uint64_t most, ktensor_take *take,
                           void *context, struct error *error)
{
    const struct ktensor *k = from->k;
    uint64_t longest = 0;
    if (!from->bring)
        return take(context, k, error);
    for (int n = 0; n < k->shape.order; n++)
        longest = k->shape.dims[n] > longest ? k->shape.dims[n] : longest;
    const uint64_t step = least_of(most, longest);
    double *rows = memory_array(step * k->rank, sizeof *rows, error);
    TRY(error->status);
    for (int n = 0; n < k->shape.order; n++)
        for (uint64_t first = 0; first < k->shape.dims[n]; first += step) {
            struct ktensor piece = {.shape.order = k->shape.order, .rank = k->rank};
            piece.lambda = k->lambda;
            piece.factor[n] = rows;
            piece.first[n] = first;
            piece.shape.dims[n] = least_of(step, k->shape.dims[n] - first);
            TRY_OR(done, from->bring(from->context, n, first, piece.shape.dims[n], rows, error));
            TRY_OR(done, take(context, &piece, error));
        }
done:
    memory_free(rows);
    return error->status;
}

enum status carried_create(struct carried *c, int order, uint64_t rank, struct error *error)
{
    uint64_t rows = (uint64_t)order * rank;
    c->scale = memory_array(rows, sizeof *c->scale, error);
    c->gram = memory_array(rows, rank * sizeof *c->gram, error);
    if (error->status != STATUS_OK)
        carried_free(c);
    return error->status;
}

void carried_copy(struct carried *to, const struct carried *from, int order, uint64_t rank)
{
    uint64_t rows = (uint64_t)order * rank;
    memcpy(to->scale, from->scale, rows * sizeof *to->scale);
    memcpy(to->gram, from->gram, rows * rank * sizeof *to->gram);
    to->precision = from->precision;
}

void carried_free(struct carried *c)
{
    memory_free(c->scale, c->gram);
    *c = (struct carried){0};
}
