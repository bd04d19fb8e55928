/* ALS runs, for tests: on one rank alone, or on several ranks that are threads, which begin with
 * shares of a tensor in memory. Include it after cmocka.h. */
#pragma once

#include <string.h>

#include "als/decompose.h"
#include "als/replication.h"
#include "base/memory.h"
#include "comm/comm.h"
#include "ranks/holdout_set.h"
#include "ranks/model_collect.h"
#include "ranks/slice_means.h"
#include "support/backends.h"
#include "support/rank_threads.h"
#include "support/sanitized.h"

#define SHARING_RANKS 4 /* of one device */

static inline int devices_of(const struct backend_kind *kind)
{
    struct error error = {0};
    int count = 0;
    assert_int_equal(kind->devices(&count, &error), STATUS_OK);
    return count;
}

/* Whether the kind can work in so many ranks here. They share a device that is the only one. */
static inline bool has_room(const struct backend_kind *kind, int ranks)
{
    if (!kind->devices)
        return true;
    const int devices = devices_of(kind);
    return ranks <= (devices == 1 ? SHARING_RANKS : devices);
}

/* The device of a rank, where there is room for it. */
static inline int device_of(const struct backend_kind *kind, int rank)
{
    struct error error = {0};
    int count = 0;
    return kind->devices && kind->devices(&count, &error) == STATUS_OK ? rank % count : rank;
}

/* The largest of these numbers of ranks that there is room for. */
static inline int most_ranks(const struct backend_kind *kind, int wanted)
{
    while (!has_room(kind, wanted))
        wanted--;
    return wanted;
}

#define MOST_STARTS 12
#define MOST_RUNS   (60 + RIDGE_TRIALS)

/* What the ranks of a run share. */
struct together {
    const struct coo *x;
    struct rank_request request; /* path: of the .blco file that has x, from which the ranks take
                                  * their parts; or NULL: the ranks share x */
    const struct backend_kind *kind;
    struct backend_options options;
    struct decomposition d;
    struct run_list list;             /* no starts count as 1                                  */
    uint64_t host_memory[MOST_RANKS]; /* that each rank may use; 0: as the options say         */
    struct ktensor models[MOST_RUNS]; /* of the runs, of all ranks; the first is `model`'s */
    struct ktensor model;             /* of the first start                                  */
    struct runs account;              /* rank 0's; its models are `models`                   */
    struct cpals_result result;       /* of the first start                                  */
    struct rank_report report[MOST_RANKS];
    struct replication replication; /* what those on replicates say                    */
    bool center[MAX_ORDER];         /* modes whose means are taken off first: */
    struct slice_means means;       /* the caller's to free                   */
    struct baseline baseline;       /* of these                               */
};

/* parts (order of x), or NULL where the ranks choose the grid. start: NULL where it is random. */
static inline struct together make_together(const struct backend_kind *kind, const struct coo *x,
                                            const int *parts, const struct backend_options *options,
                                            const struct ktensor *start,
                                            const struct cpals_options *als)
{
    static const struct tns_options one_based_text = {.index_base = 1};
    struct together t = {.x = x,
                         .request = {.tns = &one_based_text,
                                     .row_bytes = 64,
                                     .machine = {.one_host = true, .threads = 1},
                                     .packed = kind->takes_parts},
                         .kind = kind,
                         .options = *options,
                         .d = {.als = *als}};
    if (start)
        t.list.guess = (struct initial_guess){.kind = GUESS_MODEL, .model = start};
    t.request.modes = parts ? x->shape.order : 0;
    if (parts)
        memcpy(t.request.parts, parts, (size_t)x->shape.order * sizeof *parts);
    return t;
}

static inline enum status work_together(struct comm *c, void *context, struct error *error)
{
    struct together *t = context;
    struct rank_request request = t->request;
    struct rank_tensor tensor;
    struct runs own = {0};
    struct run_list list = t->list;
    struct backend b;
    struct backend_options options = t->options;
    options.device = device_of(t->kind, c->rank);
    options.spends = list.parts.mode == 0;
    list.starts = list.starts ? list.starts : 1;
    if (t->host_memory[c->rank])
        options.host_memory = t->host_memory[c->rank];
    runs_create(&own, &list, t->d.spread ? NULL : t->models, error);
    if (comm_end_phase(c, error) != STATUS_OK) {
        runs_free(&own);
        return error->status;
    }
    request.by_rows = problem_by_rows(&options.problem);
    request.cells = options.problem.holdout.share > 0;
    if (t->request.path)
        rank_tensor_open(&tensor, c, &request, NULL, error);
    else
        rank_tensor_share(&tensor, c, t->x, &request, error);
    struct slice_means means = {.shrinkage = -1};
    struct baseline baseline = {0};
    memcpy(means.mode, t->center, sizeof means.mode);
    if (error->status == STATUS_OK && slice_means_components(&means) > 0 &&
        slice_means_find(&means, &baseline, &tensor, &options.problem, NULL, error) == STATUS_OK)
        slice_means_take_off(&means, &tensor, error);
    if (c->rank == 0) {
        t->means = means;
        t->baseline = baseline;
    } else {
        slice_means_free(&means);
    }
    if (error->status == STATUS_OK && options.problem.holdout.share > 0)
        holdout_set_take(&tensor, &options.problem.holdout, options.problem.unlisted.weight > 0,
                         error);
    if (error->status == STATUS_OK)
        replication_check(&own.list, &tensor, error);
    if (error->status == STATUS_OK &&
        backend_prepare(&b, t->kind, &tensor, &options, NULL, error) == STATUS_OK)
        decompose(&b, &tensor, &t->d, &own, &t->report[c->rank], error);
    if (error->status == STATUS_OK && t->d.spread)
        model_collect(&t->models[0], &own.model[0], &tensor.rows, error);
    rank_tensor_close(&tensor);
    if (error->status == STATUS_OK && c->rank == 0)
        t->account = own;
    else
        runs_free(&own);
    return error->status;
}

/* Fills t->model, which the caller frees, and t->result; where the list has starts, instead
 * t->account and t->models. With d.spread the rows are collected here. All is empty on failure. */
static inline enum status run_together(struct together *t, int ranks, struct error *error)
{
    uint64_t nnz = 0;
    assert_true(run_list_most(&t->list) <= MOST_RUNS);
    if (comm_run_team(ranks, work_together, t, error) != STATUS_OK) {
        for (int i = 0; i < MOST_RUNS; i++) /* some ranks may have been done */
            ktensor_free(&t->models[i]);
        runs_free(&t->account);
        return error->status;
    }
    for (int r = 0; r < ranks; r++)
        nnz += t->report[r].nnz;
    assert_true(t->options.problem.holdout.share > 0 || nnz == t->x->nnz);
    t->result = t->account.starts[0].start[0].result;
    if (t->list.starts)
        return STATUS_OK;
    runs_free(&t->account);
    t->model = t->models[0];
    t->models[0] = (struct ktensor){0};
    return STATUS_OK;
}

/* Runs ALS on an open backend, from als->random or the model in k, which becomes the result. */
static inline enum status run_als(struct backend *b, struct ktensor *k,
                                  const struct cpals_options *als, struct cpals_result *result,
                                  struct error *error)
{
    TRY(cpals_iterate(b, k, als, NULL, result, error));
    return cpals_store(b, k, als, NULL, result, error);
}

/* From the model in k, which becomes the result. */
static inline enum status run_alone(const struct backend_kind *kind, const struct coo *x,
                                    struct ktensor *k, const struct backend_options *options,
                                    const struct cpals_options *als, struct cpals_result *result,
                                    struct error *error)
{
    struct backend b;
    if (backend_open(&b, kind, x, options, NULL, error) == STATUS_OK)
        run_als(&b, k, als, result, error);
    backend_close(&b);
    return error->status;
}

/* The backend and the number of ranks that a test is about. */
struct ranked {
    const struct backend_kind *kind;
    int ranks;
    enum flow flow; /* of one rank                                                  */
};

static struct ranked under_test;

/* To be called by every test of the list ON_RANKS. */
static inline void use_ranks(void **state)
{
    under_test = *(const struct ranked *)*state;
    backend_of((void *[]){(void *)under_test.kind});
    if (!has_room(under_test.kind, under_test.ranks))
        skip();
}

/* One whole run of the backend and the ranks under test, from the model in k to the model in k. */
static inline enum status run_from(const struct coo *x, struct ktensor *k,
                                   const struct backend_options *options,
                                   const struct cpals_options *als, struct cpals_result *result,
                                   struct error *error)
{
    struct backend_options setting = *options;
    setting.forced.streamed |= under_test.flow != IN_MEMORY;
    assert_true(set_flow(&setting, under_test.flow, under_test.kind, x));
    if (options->problem.holdout.share > 0) /* held-out unlisted entries are in addition to x */
        setting.memory *= under_test.flow == IN_MEMORY ? 1 : 2;
    if (under_test.ranks == 1 && options->problem.holdout.share == 0)
        return run_alone(under_test.kind, x, k, &setting, als, result, error);
    struct together t = make_together(under_test.kind, x, NULL, &setting, k, als);
    TRY(run_together(&t, under_test.ranks, error));
    ktensor_free(k);
    *k = t.model;
    *result = t.result;
    return STATUS_OK;
}

/* A random start, which becomes the result; the caller frees *k. A failure fails the test. */
static inline struct cpals_result run_random(const struct coo *x,
                                             const struct backend_options *options, uint64_t seed,
                                             const struct cpals_options *als, struct ktensor *k)
{
    struct error error = {0};
    struct cpals_result result;
    assert_int_equal(ktensor_create(k, &x->shape, options->problem.rank, &error), STATUS_OK);
    ktensor_randomise(k, KTENSOR_RANDOM, seed);
    if (run_from(x, k, options, als, &result, &error) != STATUS_OK)
        fail_msg("%d ranks: %s", under_test.ranks, error.message);
    return result;
}

/* Runs again and again, each time with another allocation that fails, until none is left: each run
 * ends with STATUS_MEMORY, unless several devices make do. Returns about how many there were; on
 * several devices, which meet slowly, some are left out. */
static inline int fail_every_allocation(const struct coo *x, const struct backend_options *machine,
                                        const struct cpals_options *options)
{
    struct ktensor k;
    struct error error = {0};
    const bool several = under_test.kind->devices && under_test.ranks > 1;
    const long step = several ? 7 : ALLOCATION_STEP;
    int failures = 0;
    assert_int_equal(ktensor_create(&k, &x->shape, machine->problem.rank, &error), STATUS_OK);
    for (long i = 0, fired = 1; fired; i += step) {
        struct cpals_result result;
        error = (struct error){0};
        ktensor_randomise(&k, KTENSOR_RANDOM, 1);
        memory_hook_set(i);
        enum status status = run_from(x, &k, machine, options, &result, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        if (!several || status != STATUS_OK)
            assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += (int)(fired * step);
    }
    ktensor_free(&k);
    return failures;
}

#define ON_RANKS_OF(test, kind, ranks)                                                             \
    {                                                                                              \
#test "_" #kind "_" #ranks, test, NULL, NULL, &(struct ranked)                             \
        {                                                                                          \
            &kind, ranks, IN_MEMORY                                                                \
        }                                                                                          \
    }
/* On a GPU to which the tensor flows. */
#define ON_FLOW(test, how)                                                                         \
    {                                                                                              \
#test "_cuda_" #how, test, NULL, NULL, &(struct ranked)                                    \
        {                                                                                          \
            .kind = &backend_cuda, .ranks = 1, .flow = how                                         \
        }                                                                                          \
    }
/* Runs on one rank, on three, whose parts are uneven, and on four, whose grid cuts two modes; under
 * a sanitizer on one and three. test_cpals_ranks.c has more numbers of ranks. */
#if SANITIZED
#define ON_RANKS(test) ON_RANKS_OF(test, backend_host, 1), ON_RANKS_OF(test, backend_host, 3)
#else
#define ON_RANKS(test)                                                                             \
    ON_RANKS_OF(test, backend_host, 1), ON_RANKS_OF(test, backend_host, 3),                        \
        ON_RANKS_OF(test, backend_host, 4), ON_RANKS_OF(test, backend_cuda, 1),                    \
        ON_RANKS_OF(test, backend_cuda, 2), ON_RANKS_OF(test, backend_cuda, 3),                    \
        ON_RANKS_OF(test, backend_cuda, 4)
#endif
