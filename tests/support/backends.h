/* What the tests that run on every backend share: the backend that a test is about, the tensor in
 * its memory or flowing to it, and the list of tests. Include it after cmocka.h. */
#ifndef BLCO_BACKENDS_H
#define BLCO_BACKENDS_H

#include "backend/backend.h"
#include "support/naive.h"

static const enum conflict conflicts[] = {CONFLICT_AUTO, CONFLICT_ORDERED, CONFLICT_HIERARCHICAL,
                                          CONFLICT_REGISTER, CONFLICT_ATOMIC};

struct tensor_case {
    int order;
    uint64_t dims[MAX_ORDER];
    uint64_t nnz;
    int skewed;
};

/* The backend that a test is about; the test counts as skipped where it cannot run. */
static inline const struct backend_ops *backend_of(void **state)
{
    struct error error = {0};
    const struct backend_ops *ops = *state;
    if (ops->available(&error) != STATUS_OK)
        skip();
    return ops;
}

/* Where the nonzeros are while a backend works: with it, or on the host, from where they flow to it
 * in a few batches, or in many (of one nonzero, where they are not more than 500), or as far as
 * they do not fit. */
enum flow { IN_MEMORY, IN_BATCHES, IN_MANY_BATCHES, IN_PART, FLOWS };

static int flowed; /* backends that were opened so */

/* The least that a backend which can stream takes of its own memory. */
static inline uint64_t smallest_memory(const struct backend_options *options,
                                       const struct backend_ops *ops, const struct coo *x)
{
    struct error error = {0};
    struct backend_options least = *options;
    struct plan plan;
    least.memory = 1;
    assert_int_equal(ops->plan(x->shape.order, x->shape.dims, x->nnz, &least, &plan, &error),
                     STATUS_OK);
    return plan.total_bytes;
}

/* Gives the backend as little memory as that takes. False where it has no need or no way to. */
static inline bool set_flow(struct backend_options *options, enum flow flow,
                            const struct backend_ops *ops, const struct coo *x)
{
    struct error error = {0};
    struct plan plan;
    if (flow == IN_MEMORY)
        return true;
    options->batch_nnz = (x->nnz - 1) / (flow == IN_MANY_BATCHES ? 500 : 20) + 1;
    options->memory = smallest_memory(options, ops, x);
    assert_int_equal(ops->plan(x->shape.order, x->shape.dims, x->nnz, options, &plan, &error),
                     STATUS_OK);
    if (flow == IN_PART) /* a third of each ordering stays */
        options->memory += plan.host_bytes / 3;
    assert_int_equal(ops->plan(x->shape.order, x->shape.dims, x->nnz, options, &plan, &error),
                     STATUS_OK);
    flowed += plan.streamed && plan.fits;
    return plan.streamed && plan.fits;
}

static inline void open_backend(struct backend *b, const struct backend_ops *ops,
                                const struct coo *x, uint64_t rank, enum conflict conflict)
{
    struct error error = {0};
    struct backend_options options = {.rank = rank, .conflict = conflict};
    if (backend_open(b, ops, x, &options, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
}

static inline void create_model(struct ktensor *k, const struct coo *x, uint64_t rank,
                                uint64_t seed)
{
    struct error error = {0};
    assert_int_equal(ktensor_create(k, &x->shape, rank, &error), STATUS_OK);
    ktensor_randomise(k, KTENSOR_NORMAL, seed);
}

#define ON(test, ops)                                                                              \
    {                                                                                              \
#test "_" #ops, test, NULL, NULL, (void *)&ops                                             \
    }
#define ON_ALL(test) ON(test, backend_host), ON(test, backend_cuda)

#endif
