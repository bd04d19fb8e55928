#include <math.h>

#include "base/memory.h"
#include "selftest/known_tensors.h"
#include "selftest/selftest_checks.h"

struct scattered_case {
    struct shape shape;
    uint64_t nnz;
    int skewed;
    uint64_t rank;
};

static const struct scattered_case cases[] = {
    {{3, {50, 31, 400}}, 5000, 1, 16},
    {{4, {17, 5, 90, 33}}, 2500, 0, 33},
    {{5, {900, 8, 700, 6, 50}}, 4000, 1, 1},
    {{3, {3000, 2, 2500}}, 20000, 1, 33},
    {{5, {10000, 7000, 9000, 10000, 8000}}, 3000, 0, 7}, /* a line of more than 64 bits */
};

#define CASES       ((int)(sizeof cases / sizeof *cases))
#define SHORT_CASES 3 /* the first ones, whose lines have at most 64 bits */

/* How MTTKRPs of a tensor are made. */
struct way {
    enum conflict conflict;
    struct plan_forced forced;
};

static const struct way streamed_ways[] = {
    {CONFLICT_AUTO, {.streamed = true, .one_copy = true}},
    {CONFLICT_AUTO, {.streamed = true, .replicas_at_once = true}},
    {CONFLICT_ORDERED, {.streamed = true}},
    {CONFLICT_REGISTER, {.streamed = true}},
};

#define STREAMED_WAYS ((int)(sizeof streamed_ways / sizeof *streamed_ways))

/* Opens a backend for one way, and compares MTTKRP of x for k with expected[n] (I_n x R). Two
 * passes over all modes of a streamed tensor, because in the second one some batches are on the
 * device already. */
static enum status compare_modes(const struct selftest_place *p, const struct coo *x,
                                 const struct ktensor *k, long double *const *expected,
                                 enum precision_policy precision, const struct way *way,
                                 struct verdict *f, struct error *error)
{
    const int order = k->shape.order, passes = way->forced.streamed ? 2 : 1;
    struct backend_options options = {.problem.rank = k->rank,
                                      .conflict = way->conflict,
                                      .problem.precision = precision,
                                      .device = p->device,
                                      .host_memory = p->host_memory,
                                      .forced = way->forced};
    const double most = precision == POLICY_SINGLE ? 1e-5 : 1e-12;
    struct backend b = {0};
    double *m = memory_array(shape_longest(&k->shape), k->rank * sizeof *m, error);
    TRY(error->status);
    if (way->forced.streamed)
        options.forced.batch_nnz = x->nnz / 20 + 1;
    TRY_OR(done, backend_open(&b, p->kind, x, &options, NULL, error));
    verdict_equal(f, b.plan.streamed, way->forced.streamed, "%s, tensor is streamed",
                  conflict_name(way->conflict));
    TRY_OR(done, backend_load(&b, k, error));
    for (int i = 0; i < passes * order; i++) {
        const int n = i % order;
        TRY_OR(done, backend_mttkrp(&b, n, error));
        TRY_OR(done, backend_fetch(&b, n, m, error));
        const double difference =
            (double)naive_relative_error(m, expected[n], k->shape.dims[n] * k->rank);
        verdict_at_most(f, difference, most, "order %d, rank %d, %s, mode %d: relative error",
                        order, (int)k->rank, conflict_name(way->conflict), n + 1);
    }
done:
    backend_close(&b);
    memory_free(m);
    return error->status;
}

static enum status check_case(const struct selftest_place *p, const struct scattered_case *c,
                              int which, struct verdict *f, struct error *error)
{
    const enum precision_policy precision = which == MTTKRP_SINGLE ? POLICY_SINGLE : POLICY_DOUBLE;
    const int ways = which == MTTKRP_STREAMED ? STREAMED_WAYS : CONFLICTS;
    struct coo x = {0};
    struct ktensor k = {0};
    long double *expected[MAX_ORDER] = {0};
    TRY_OR(done, known_scattered(&x, &c->shape, c->nnz, 1, c->skewed, error));
    TRY_OR(done, ktensor_create(&k, &c->shape, c->rank, error));
    /* In single precision sums of terms of one sign, which do not cancel, are exact enough. */
    ktensor_randomise(&k, precision == POLICY_SINGLE ? KTENSOR_RANDOM : KTENSOR_NORMAL, 7);
    for (uint64_t i = 0; i < x.nnz && precision == POLICY_SINGLE; i++)
        x.value[i] = fabs(x.value[i]);
    for (int n = 0; n < c->shape.order; n++) {
        expected[n] = memory_array(c->shape.dims[n] * c->rank, sizeof *expected[n], error);
        TRY_OR(done, error->status);
        naive_mttkrp(&x, &k, n, expected[n]);
    }
    for (int w = 0; w < ways; w++) {
        const struct way in_memory = {.conflict = (enum conflict)w};
        const struct way *way = which == MTTKRP_STREAMED ? &streamed_ways[w] : &in_memory;
        TRY_OR(done, compare_modes(p, &x, &k, expected, precision, way, f, error));
    }
done:
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(expected[n]);
    ktensor_free(&k);
    coo_free(&x);
    return error->status;
}

/* Every case with every conflict resolution, or streamed in several ways. */
enum status check_mttkrp(const struct selftest_place *p, int which, struct verdict *f,
                         struct error *error)
{
    for (int i = 0; i < (which == MTTKRP_STREAMED ? SHORT_CASES : CASES); i++)
        TRY(check_case(p, &cases[i], which, f, error));
    return STATUS_OK;
}
