#include "model/ktensor.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
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
    TRY(ktensor_create(k, &part->here, rank, error));
    for (int n = 0; n < k->shape.order; n++) {
        k->first[n] = part->first[n];
        k->row[n] = part->row[n];
    }
    return STATUS_OK;
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
        random_model_words(seed, n, r / 2, i, word);
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
