/* ALS runs, for tests: on one rank, or on several ranks that are threads, which start with shares
 * of a tensor in memory. Include it after cmocka.h. */
#ifndef BLCO_RANK_RUNS_H
#define BLCO_RANK_RUNS_H

#include <string.h>

#include "als/cpals_ranks.h"
#include "base/memory.h"
#include "comm/comm_team.h"
#include "support/backends.h"
#include "support/rank_threads.h"

/* Whether the kind can work with so many ranks here: each needs its own device. */
static inline bool has_room(const struct backend_kind *kind, int ranks)
{
    struct error error = {0};
    int count = ranks;
    if (kind->devices)
        assert_int_equal(kind->devices(&count, &error), STATUS_OK);
    return ranks <= count;
}

/* The largest of these numbers of ranks that this machine allows. */
static inline int most_ranks(const struct backend_kind *kind, int wanted)
{
    while (!has_room(kind, wanted))
        wanted--;
    return wanted;
}

#define MOST_STARTS 4

/* Common to the ranks of a run. */
struct together {
    const struct coo *x;
    const char *path; /* of the .blco file that has x, from which the ranks take their parts; or
                       * NULL: the ranks share x                                               */
    struct rank_request request;
    struct cpals_setting setting;
    uint64_t host_memory[MOST_RANKS];   /* that each rank may use; 0: as the options say */
    struct ktensor models[MOST_STARTS]; /* of setting.starts beyond one, in place of `model` */
    struct cpals_result results[MOST_STARTS]; /* likewise */
    struct ktensor model;                     /* the result, of all ranks            */
    struct ktensor rows[MOST_RANKS];          /* with setting.spread: of each rank   */
    struct cpals_result result;
    struct rank_report report[MOST_RANKS];
};

/* parts (order of x), or NULL if the ranks choose the grid. */
static inline struct together make_together(const struct backend_kind *kind, const struct coo *x,
                                            const int *parts, const struct backend_options *options,
                                            const struct ktensor *start,
                                            const struct cpals_options *als)
{
    struct together t = {
        .x = x,
        .request = {.row_bytes = 64,
                    .machine = {.one_host = true, .threads = 1},
                    .packed = kind->takes_parts},
        .setting = {.kind = kind, .options = *options, .start = {.from = start}, .als = *als}};
    t.request.modes = parts ? x->shape.order : 0;
    if (parts)
        memcpy(t.request.parts, parts, (size_t)x->shape.order * sizeof *parts);
    return t;
}

static inline enum status work_together(struct comm *c, void *context, struct error *error)
{
    static const struct tns_options options = {.index_base = 1};
    struct together *t = context;
    struct rank_tensor tensor;
    struct cpals_setting setting = t->setting;
    struct cpals_result result[MOST_STARTS] = {{0}};
    struct ktensor *model = setting.spread       ? &t->rows[c->rank]
                            : setting.starts > 1 ? t->models
                                                 : &t->model;
    setting.options.device = c->rank;
    if (t->host_memory[c->rank])
        setting.options.host_memory = t->host_memory[c->rank];
    t->path ? rank_tensor_open(&tensor, c, t->path, &options, &t->request, NULL, error)
            : rank_tensor_share(&tensor, c, t->x, &t->request, error);
    if (error->status == STATUS_OK)
        cpals_run_rank(c, &tensor, &setting, model, result, &t->report[c->rank], error);
    rank_tensor_close(&tensor);
    if (error->status == STATUS_OK && c->rank == 0)
        t->result = result[0];
    if (error->status == STATUS_OK && c->rank == 0)
        memcpy(t->results, result, sizeof result);
    return error->status;
}

/* Fills t->model, or t->rows, which the caller frees, and t->result; the model is empty on failure.
 */
static inline enum status run_together(struct together *t, int ranks, struct error *error)
{
    uint64_t nnz = 0;
    if (comm_run_team(ranks, work_together, t, error) != STATUS_OK) {
        ktensor_free(&t->model); /* some ranks may have finished */
        for (int i = 0; i < MOST_STARTS; i++)
            ktensor_free(&t->models[i]);
        for (int r = 0; r < ranks; r++)
            ktensor_free(&t->rows[r]);
        return error->status;
    }
    for (int r = 0; r < ranks; r++)
        nnz += t->report[r].nnz;
    assert_true(nnz == t->x->nnz);
    return STATUS_OK;
}

/* From the model in k, which becomes the result. */
static inline enum status run_alone(const struct backend_kind *kind, const struct coo *x,
                                    struct ktensor *k, const struct backend_options *options,
                                    const struct cpals_options *als, struct cpals_result *result,
                                    struct error *error)
{
    struct backend b;
    enum status status = backend_open(&b, kind, x, options, NULL, NULL, error);
    if (status == STATUS_OK)
        status = cpals_run(&b, k, als, NULL, result, error);
    backend_close(&b);
    return status;
}

/* The backend and the number of ranks under test. */
struct ranked {
    const struct backend_kind *kind;
    int ranks; /* MOST_RANKS: of a backend with devices, as many as the machine has, up to so many
                */
};

static struct ranked under_test;

/* To be called by every test of the list ON_RANKS. */
static inline void use_ranks(void **state)
{
    under_test = *(const struct ranked *)*state;
    backend_of((void *[]){(void *)under_test.kind});
    if (under_test.kind->devices && under_test.ranks > 1)
        under_test.ranks = most_ranks(under_test.kind, under_test.ranks);
    if (under_test.kind->devices && ((const struct ranked *)*state)->ranks != 1 &&
        under_test.ranks == 1)
        skip();
}

/* One whole run of the backend and the ranks under test, from the model in k to the model in k. */
static inline enum status run_from(const struct coo *x, struct ktensor *k,
                                   const struct backend_options *options,
                                   const struct cpals_options *als, struct cpals_result *result,
                                   struct error *error)
{
    if (under_test.ranks == 1)
        return run_alone(under_test.kind, x, k, options, als, result, error);
    struct together t = make_together(under_test.kind, x, NULL, options, k, als);
    if (run_together(&t, under_test.ranks, error) != STATUS_OK)
        return error->status;
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

/* Repeats the run, each time with the next allocation failing, until none fails: each of these runs
 * must end with STATUS_MEMORY. Returns their number. */
static inline int fail_every_allocation(const struct coo *x, const struct backend_options *machine,
                                        const struct cpals_options *options)
{
    struct ktensor k;
    struct error error = {0};
    int failures = 0;
    assert_int_equal(ktensor_create(&k, &x->shape, machine->problem.rank, &error), STATUS_OK);
    for (long i = 0, fired = 1; fired; i++) {
        struct cpals_result result;
        error = (struct error){0};
        ktensor_randomise(&k, KTENSOR_RANDOM, 1);
        memory_hook_set(i);
        enum status status = run_from(x, &k, machine, options, &result, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += (int)fired;
    }
    ktensor_free(&k);
    return failures;
}

#define ON_RANKS_OF(test, kind, ranks)                                                             \
    {                                                                                              \
#test "_" #kind "_" #ranks, test, NULL, NULL, &(struct ranked)                             \
        {                                                                                          \
            &kind, ranks                                                                           \
        }                                                                                          \
    }
#define ON_RANKS(test)                                                                             \
    ON_RANKS_OF(test, backend_host, 1), ON_RANKS_OF(test, backend_host, 2),                        \
        ON_RANKS_OF(test, backend_host, 3), ON_RANKS_OF(test, backend_host, 4),                    \
        ON_RANKS_OF(test, backend_host, 7), ON_RANKS_OF(test, backend_cuda, 1),                    \
        ON_RANKS_OF(test, backend_cuda, MOST_RANKS)

#endif
