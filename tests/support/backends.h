/* What the tests that run on every backend share: the backend that a test is about, the tensor in
 * its memory or flowing to it, and the list of tests. Include it after cmocka.h. */
#pragma once

#include <math.h>

#include "backend/backend.h"
#include "support/naive.h"

struct tensor_case {
    int order;
    uint64_t dims[MAX_ORDER];
    uint64_t nnz;
    int skewed;
};

/* The backend that a test is about; the test counts as skipped where it cannot run, or, where
 * BLCO_NEED_GPU is set (make check-gpu), as failed. */
static inline const struct backend_kind *backend_of(void **state)
{
    struct error error = {0};
    const struct backend_kind *kind = *state;
    if (kind->available(&error) == STATUS_OK)
        return kind;
    if (getenv("BLCO_NEED_GPU"))
        fail_msg("%s", error.message);
    skip();
    return NULL;
}

/* Where the nonzeros are while a backend works: with it, or on the host, from where they flow to it
 * in a few batches, or in many (of one nonzero, where they are not more than 500), or as far as
 * they do not fit. */
enum flow { IN_MEMORY, IN_BATCHES, IN_MANY_BATCHES, IN_PART, FLOWS };

static int flowed; /* backends that were opened so */

static inline struct plan plan_of(const struct backend_kind *kind, const struct coo *x,
                                  const struct backend_options *setting)
{
    struct error error = {0};
    struct plan plan;
    const struct plan_tensor tensor = {.shape = x->shape, .nnz = x->nnz};
    assert_int_equal(backend_plan(&plan, kind, &tensor, setting, &error), STATUS_OK);
    return plan;
}

/* The least that a backend which can stream takes of its own memory. */
static inline uint64_t smallest_memory(const struct backend_options *setting,
                                       const struct backend_kind *kind, const struct coo *x)
{
    struct backend_options least = *setting;
    least.memory = 1;
    return plan_of(kind, x, &least).total_bytes;
}

/* Gives the backend as little memory as that takes. False where it has no need or no way to. */
static inline bool set_flow(struct backend_options *setting, enum flow flow,
                            const struct backend_kind *kind, const struct coo *x)
{
    if (flow == IN_MEMORY)
        return true;
    setting->forced.batch_nnz = (x->nnz - 1) / (flow == IN_MANY_BATCHES ? 500 : 20) + 1;
    setting->memory = smallest_memory(setting, kind, x);
    struct plan plan = plan_of(kind, x, setting);
    if (flow == IN_PART) /* a third of each ordering stays */
        setting->memory += plan.host_bytes / 3;
    plan = plan_of(kind, x, setting);
    flowed += plan.streamed && plan.fits;
    return plan.streamed && plan.fits;
}

/* The same ridge for every mode. */
static inline struct mode_rules same_ridge(double ridge)
{
    struct mode_rules rules = {0};
    for (int n = 0; n < MAX_ORDER; n++)
        rules.ridge[n] = ridge;
    return rules;
}

static inline void open_backend(struct backend *b, const struct backend_kind *kind,
                                const struct coo *x, uint64_t rank, enum conflict conflict)
{
    struct error error = {0};
    struct backend_options options = {.problem.rank = rank, .conflict = conflict};
    if (backend_open(b, kind, x, &options, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
}

/* Updates all modes in turn; the fit. */
static inline double sweep_modes(struct backend *b)
{
    struct error error = {0};
    struct backend_fit fit = {.value = NAN};
    for (int n = 0; n < b->order; n++)
        if (backend_mttkrp(b, n, &error) != STATUS_OK || backend_update(b, n, &error) != STATUS_OK)
            fail_msg("%s", error.message);
    assert_int_equal(backend_fit(b, b->order - 1, NULL, &fit, &error), STATUS_OK);
    return fit.value;
}

static inline void open_setting(struct backend *b, const struct backend_kind *kind,
                                const struct coo *x, const struct backend_options *setting)
{
    struct error error = {0};
    if (backend_open(b, kind, x, setting, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
}

static inline void create_model(struct ktensor *k, const struct coo *x, uint64_t rank,
                                uint64_t seed)
{
    struct error error = {0};
    assert_int_equal(ktensor_create(k, &x->shape, rank, &error), STATUS_OK);
    ktensor_randomise(k, KTENSOR_NORMAL, seed);
}

#define ON(test, kind)                                                                             \
    {                                                                                              \
#test "_" #kind, test, NULL, NULL, (void *)&kind                                           \
    }
#define ON_ALL(test) ON(test, backend_host), ON(test, backend_cuda)
