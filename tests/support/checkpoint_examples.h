/* Checkpoints of made-up states: written, read back, refused. Include it after cmocka.h. */
#pragma once

#include <string.h>

#include "base/memory.h"
#include "checkpoint/checkpoint.h"
#include "support/scratch.h"

#define MOST_PIECES 128

static const uint64_t example_dims[] = {7, 1, 50};

/* A state to save: numbers that tell their places. */
struct example {
    struct checkpoint_about about;
    struct checkpoint_rows model[CHECKPOINT_MODELS];
};

/* All rows of a model, of numbers that `from` tells from others. */
static inline void example_fill(struct example *e, enum checkpoint_model model, int from)
{
    struct error error = {0};
    struct checkpoint_rows *rows = &e->model[model];
    uint64_t rank = e->about.problem.rank, order = (uint64_t)e->about.tensor.shape.order;
    assert_int_equal(ktensor_create(&rows->rows, &e->about.tensor.shape, rank, &error), STATUS_OK);
    assert_int_equal(carried_create(&rows->carried, (int)order, rank, &error), STATUS_OK);
    ktensor_randomise(&rows->rows, KTENSOR_NORMAL, (uint64_t)from);
    for (uint64_t r = 0; r < rank; r++)
        rows->rows.lambda[r] = from * 500 + (double)r;
    for (uint64_t i = 0; i < order * rank; i++)
        rows->carried.scale[i] = from * 1000 + (double)i;
    for (uint64_t i = 0; i < order * rank * rank; i++)
        rows->carried.gram[i] = from * 2000 + (double)i;
}

static inline void example_create(struct example *e, int order, uint64_t rank)
{
    *e = (struct example){.about = {.tensor = {.shape = shape_of(order, example_dims),
                                               .nnz = 300,
                                               .hash = 0x123456789abcdef0},
                                    .problem.rank = rank,
                                    .problem.precision = POLICY_SINGLE,
                                    .problem.rules = {.ridge = {0.5}, .nonneg = {true}},
                                    .seed = 77,
                                    .init = GUESS_MODEL,
                                    .iterations = 12,
                                    .fit = 0.75,
                                    .change = -1e-3}};
    if (order > 2) {
        e->about.problem.rules.ridge[2] = 2;
        e->about.problem.rules.fixed[1] = true;
    }
    example_fill(e, CHECKPOINT_STATE, 5);
}

static inline void example_free(struct example *e)
{
    checkpoint_rows_free(e->model);
}

/* An earlier iteration had a better model. */
static inline void example_was_better(struct example *e)
{
    e->about.best.iteration = 9;
    e->about.best.fit = 0.875;
    e->about.best_factors = PRECISION_DOUBLE;
    example_fill(e, CHECKPOINT_BEST, 7);
}

/* The next iteration begins with extrapolated factor matrices. */
static inline void example_extrapolate(struct example *e)
{
    e->about.has_momentum = true;
    e->about.momentum = (struct momentum){.t = 2.5,
                                          .objective = 0.625,
                                          .noise = 1e-15,
                                          .precision = PRECISION_SINGLE,
                                          .sweeps = e->about.iterations,
                                          .restarts = 3,
                                          .extrapolated = 1};
    e->about.small_changes = 1;
    example_fill(e, CHECKPOINT_PREVIOUS, 6);
}

/* The rows of the model that part `part` of `parts` has; borrowed. */
static inline struct ktensor rows_of(const struct ktensor *k, uint64_t part, uint64_t parts)
{
    struct ktensor rows = *k;
    for (int n = 0; n < k->shape.order; n++) {
        rows.first[n] = k->shape.dims[n] * part / parts;
        rows.shape.dims[n] = k->shape.dims[n] * (part + 1) / parts - rows.first[n];
        rows.factor[n] += rows.first[n] * k->rank;
    }
    return rows;
}

/* Writes the state in parts, the last one first. */
static inline enum status write_parts(const struct example *e, const char *path, uint64_t parts,
                                      struct error *error)
{
    struct outfile f;
    struct checkpoint_output o = {0};
    TRY(outfile_open(&f, path, error));
    TRY_OR(done, checkpoint_output_begin(&o, &f, &e->about, error));
    for (uint64_t p = parts; p-- > 0;)
        for (enum checkpoint_model m = 0; m < CHECKPOINT_MODELS; m++) {
            if (!checkpoint_has(&e->about, m))
                continue;
            const struct ktensor rows = rows_of(&e->model[m].rows, p, parts);
            TRY_OR(done, checkpoint_output_put(&o, m, &(struct ktensor_source){.k = &rows},
                                               p == 0 ? &e->model[m].carried : NULL, error));
        }
    if (checkpoint_output_end(&o, error) == STATUS_OK)
        outfile_commit(&f, error);
done:
    checkpoint_output_free(&o);
    outfile_discard(&f);
    return error->status;
}

static inline const char *write_example(const struct example *e, uint64_t parts)
{
    struct error error = {0};
    const char *path = scratch_path("checkpoint");
    if (write_parts(e, path, parts, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    return path;
}

static inline void assert_doubles(const double *a, const double *b, uint64_t count)
{
    assert_memory_equal(a, b, count * sizeof *a);
}

/* Of everything but lambda. */
static inline void assert_rows(const struct checkpoint *c, const struct example *e,
                               enum checkpoint_model model)
{
    const struct checkpoint_rows *rows = &c->model[model], *expected = &e->model[model];
    uint64_t rank = expected->rows.rank, order = (uint64_t)expected->rows.shape.order;
    assert_doubles(rows->carried.scale, expected->carried.scale, order * rank);
    assert_doubles(rows->carried.gram, expected->carried.gram, order * rank * rank);
    for (uint64_t n = 0; n < order; n++)
        assert_doubles(rows->rows.factor[n], expected->rows.factor[n],
                       expected->rows.shape.dims[n] * rank);
}

static inline void assert_reads(const char *path, const struct example *e)
{
    struct error error = {0};
    struct checkpoint c;
    const struct checkpoint_about *a = &e->about, *b = &c.about;
    uint64_t rank = a->problem.rank;
    if (checkpoint_open(&c, path, 0, 1, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_true(shape_equal(&a->tensor.shape, &b->tensor.shape) && a->tensor.nnz == b->tensor.nnz &&
                a->tensor.hash == b->tensor.hash && a->problem.rank == b->problem.rank &&
                a->problem.precision == b->problem.precision &&
                memcmp(&a->problem.rules, &b->problem.rules, sizeof a->problem.rules) == 0 &&
                a->seed == b->seed && a->init == b->init && a->iterations == b->iterations &&
                a->fit == b->fit && a->change == b->change);
    assert_true(a->problem.holdout.share == b->problem.holdout.share &&
                a->problem.holdout.seed == b->problem.holdout.seed &&
                a->holdout_error == b->holdout_error &&
                a->best.holdout_error == b->best.holdout_error);
    assert_true(a->has_momentum == b->has_momentum && a->small_changes == b->small_changes &&
                memcmp(&a->momentum, &b->momentum, sizeof a->momentum) == 0);
    assert_true(a->best.iteration == b->best.iteration && a->best.fit == b->best.fit &&
                a->best_factors == b->best_factors);
    if (a->momentum.extrapolated) {
        assert_rows(&c, e, CHECKPOINT_PREVIOUS);
        assert_doubles(c.model[CHECKPOINT_PREVIOUS].rows.lambda,
                       e->model[CHECKPOINT_STATE].rows.lambda, rank);
    }
    if (a->best.iteration > 0) {
        assert_rows(&c, e, CHECKPOINT_BEST);
        assert_doubles(c.model[CHECKPOINT_BEST].rows.lambda, e->model[CHECKPOINT_BEST].rows.lambda,
                       rank);
        assert_int_equal(c.model[CHECKPOINT_BEST].carried.precision, a->best_factors);
    }
    assert_rows(&c, e, CHECKPOINT_STATE);
    assert_doubles(c.model[CHECKPOINT_STATE].rows.lambda, e->model[CHECKPOINT_STATE].rows.lambda,
                   rank);
    checkpoint_close(&c);
}

static inline void assert_refused(const char *path, const char *why)
{
    struct error error = {0};
    struct checkpoint c;
    memory_hook_set(0); /* the first allocation would fail */
    assert_int_equal(checkpoint_open(&c, path, 0, 1, &error), STATUS_INPUT);
    assert_true(!c.map.bytes && !c.model[CHECKPOINT_STATE].rows.lambda);
    assert_null(strchr(error.message, '\n'));
    if (!strstr(error.message, why))
        fail_msg("%s; expected: %s", error.message, why);
    memory_hook_set(-1);
}
