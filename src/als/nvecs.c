#include "als/nvecs.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "lapack/symmetric_eigen.h"
#include "model/factor_columns.h"
#include "problem/initial_guess.h"

/* Squared singular values below this part of the largest are rounding. */
#define NOTHING 1e-12

struct sketch {
    struct backend *b;
    struct ktensor *k;
    struct ktensor mix; /* (R x R) for each mode: random numbers               */
    double *m;          /* (rows of the longest mode here x R): X_(n) W        */
    double *gram;       /* (R x R): its Gram, then its eigenvectors            */
    double *weights;    /* (R x R)                                             */
    double *values;     /* (R): eigenvalues                                    */
};

/* Chooses weights so that the columns of M weights are the left singular vectors of M, the largest
 * singular values first, and then random combinations of these. */
static void choose_weights(struct sketch *s, int n)
{
    uint64_t rank = s->k->rank, kept = 0;
    const double *q = s->gram, *w = s->values, *mix = s->mix.factor[n];
    while (kept < rank && w[rank - 1 - kept] > NOTHING * w[rank - 1])
        kept++;
    for (uint64_t c = 0; c < rank; c++)
        for (uint64_t i = 0; i < rank; i++) {
            double sum = 0;
            for (uint64_t e = 0; e < kept; e++) {
                const double *vector = q + (rank - 1 - e) * rank;
                double part = c < kept ? c == e : mix[e * rank + c] / sqrt((double)kept);
                sum += part * vector[i] / sqrt(w[rank - 1 - e]);
            }
            s->weights[i * rank + c] = sum;
        }
}

/* Factor matrix n of k = the left singular vectors of X_(n) W, where the backend has W. */
static enum status find_vectors(struct sketch *s, int n, struct error *error)
{
    const struct rank_rows *ranks = s->b->ranks;
    const struct mode_rows *rows = &ranks->mode[n];
    uint64_t rank = s->k->rank, skip = rows->first * rank;
    const struct factor_rows own = {.a = s->m + skip, .rows = rows->count, .rank = rank};
    TRY(backend_mttkrp(s->b, n, error));
    TRY(backend_fetch(s->b, n, s->m, error));
    TRY(rank_rows_reduce_scatter(ranks, n, s->m, rank, error));
    TRY(factor_columns_products(&own, &own, s->gram, error));
    TRY(comm_allreduce_sum(ranks->all, s->gram, rank * rank, error));
    TRY(symmetric_eigen(s->gram, rank, s->values, error));
    choose_weights(s, n);
    factor_columns_multiply(s->m + skip, rows->count, rank, s->weights, s->k->factor[n] + skip);
    return rank_rows_allgather(ranks, n, s->k->factor[n], rank, error);
}

/* Replaces the vectors in k by random combinations of them. */
static void mix_vectors(struct sketch *s)
{
    const struct ktensor *k = s->k;
    for (int n = 0; n < s->b->order; n++) {
        uint64_t rows = k->shape.dims[n];
        memory_copy(s->m, k->factor[n], rows * k->rank * sizeof *s->m);
        factor_columns_multiply(s->m, rows, k->rank, s->mix.factor[n], k->factor[n]);
    }
}

enum status nvecs_start(struct ktensor *k, struct backend *b, uint64_t seed,
                        struct progress *progress, struct error *error)
{
    struct sketch s = {.b = b, .k = k};
    const uint64_t rank = k->rank;
    uint64_t longest = 0;
    struct shape square = {.order = b->order};
    progress_stage(progress, "sketching");
    for (int n = 0; n < b->order; n++) {
        square.dims[n] = rank;
        if (k->shape.dims[n] > longest)
            longest = k->shape.dims[n];
    }
    TRY_OR(done, ktensor_create(&s.mix, &square, rank, error));
    s.m = memory_array(longest, rank * sizeof *s.m, error);
    s.gram = memory_array(rank, rank * sizeof *s.gram, error);
    s.weights = memory_array(rank, rank * sizeof *s.weights, error);
    s.values = memory_array(rank, sizeof *s.values, error);
    TRY_OR(done, error->status);
    ktensor_randomise(k, KTENSOR_NORMAL, seed);
    for (int i = 0; i < NVECS_SKETCHES; i++) {
        ktensor_randomise(&s.mix, KTENSOR_NORMAL, seed + (uint64_t)i);
        if (i > 0)
            mix_vectors(&s);
        TRY_OR(done, backend_load(b, k, error)); /* with W from k */
        for (int n = 0; n < b->order; n++)
            TRY_OR(done, find_vectors(&s, n, error));
    }
    for (int n = 0; n < b->order; n++)
        if (b->options.problem.rules.nonneg[n])
            ktensor_drop_signs(k, n);
    progress_done(progress, "%d sketches of each unfolding", NVECS_SKETCHES);
done:
    ktensor_free(&s.mix);
    memory_free(s.m);
    memory_free(s.gram);
    memory_free(s.weights);
    memory_free(s.values);
    return error->status;
}
