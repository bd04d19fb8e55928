/* Runs that save checkpoints and go on from them. Include it after cmocka.h. */
#pragma once

#include <math.h>
#include <string.h>

#include "support/rank_runs.h"
#include "support/scratch.h"

/* Options that save checkpoints of x to `path` after so many iterations. */
static inline struct checkpoint_options save_to(const char *path, const struct coo *x,
                                                const struct backend_options *options)
{
    return (struct checkpoint_options){
        .path = path,
        .about = {.tensor = {.shape = x->shape, .nnz = x->nnz, .hash = fingerprint_hash(x, NULL)},
                  .problem = options->problem}};
}

static inline void read_checkpoint(struct checkpoint *c, const char *path)
{
    struct error error = {0};
    if (checkpoint_open(c, path, 0, 1, &error) != STATUS_OK)
        fail_msg("%s", error.message);
}

/* The start of the run that goes on, which the caller frees. */
static inline void copy_model(struct ktensor *k, const struct ktensor *from)
{
    struct error error = {0};
    assert_int_equal(ktensor_create(k, &from->shape, from->rank, &error), STATUS_OK);
    memcpy(k->lambda, from->lambda, from->rank * sizeof *k->lambda);
    for (int n = 0; n < k->shape.order; n++)
        memcpy(k->factor[n], from->factor[n], k->shape.dims[n] * k->rank * sizeof(double));
}

/* Goes on from the checkpoint at `path`; the caller frees *k. */
static inline struct cpals_result go_on_from(const struct coo *x,
                                             const struct backend_options *options,
                                             const char *path, int iterations, struct ktensor *k)
{
    struct error error = {0};
    struct checkpoint c;
    struct cpals_result result;
    read_checkpoint(&c, path);
    assert_int_equal(ktensor_create(k, &x->shape, options->problem.rank, &error), STATUS_OK);
    ktensor_copy_rows(k, &c.model[CHECKPOINT_STATE].rows);
    const struct cpals_options als = {.max_iterations = iterations, .resume = &c};
    if (run_from(x, k, options, &als, &result, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    checkpoint_close(&c);
    return result;
}

/* Weights differ by no more than `weights`, relative to them, and entries by no more than
 * `entries`; 0: the same bits. */
static inline void assert_near(const struct ktensor *a, const struct ktensor *b, double weights,
                               double entries)
{
    for (uint64_t r = 0; r < a->rank; r++)
        assert_true(fabs(a->lambda[r] - b->lambda[r]) <= weights * fabs(a->lambda[r]));
    for (int n = 0; n < a->shape.order; n++)
        for (uint64_t i = 0; i < a->shape.dims[n] * a->rank; i++)
            assert_true(fabs(a->factor[n][i] - b->factor[n][i]) <= entries);
}

/* As ON_RANKS of rank_runs.h, with a folder for scratch files. */
#define IN_FOLDER_OF(test, kind, ranks)                                                            \
    {                                                                                              \
#test "_" #kind "_" #ranks, test, scratch_make, scratch_remove, &(struct ranked)           \
        {                                                                                          \
            &kind, ranks, IN_MEMORY                                                                \
        }                                                                                          \
    }
#define IN_FOLDER(test)                                                                            \
    IN_FOLDER_OF(test, backend_host, 1), IN_FOLDER_OF(test, backend_host, 2),                      \
        IN_FOLDER_OF(test, backend_host, 3), IN_FOLDER_OF(test, backend_cuda, 1),                  \
        IN_FOLDER_OF(test, backend_cuda, 2)
