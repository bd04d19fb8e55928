#include <math.h>

#include "base/memory.h"
#include "selftest/known_tensors.h"
#include "selftest/selftest_checks.h"

/* A tensor, a model, and what MTTKRP of each mode must give. */
struct product {
    struct coo x;
    struct ktensor k;
    long double *expected[MAX_ORDER]; /* (I_n x R) each; owned */
};

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

/* The caller frees *q, after a failure too. */
static enum status product_make(struct product *q, const struct scattered_case *c,
                                enum precision_policy precision, struct error *error)
{
    *q = (struct product){0};
    TRY(known_scattered(&q->x, &c->shape, c->nnz, 1, c->skewed, error));
    TRY(ktensor_create(&q->k, &c->shape, c->rank, error));
    ktensor_randomise(&q->k, KTENSOR_NORMAL, 7);
    if (precision == POLICY_SINGLE) { /* sums of terms of one sign do not cancel: exact enough */
        for (uint64_t i = 0; i < q->x.nnz; i++)
            q->x.value[i] = fabs(q->x.value[i]);
        ktensor_randomise(&q->k, KTENSOR_RANDOM, 7);
    }
    for (int n = 0; n < c->shape.order; n++) {
        q->expected[n] = memory_array(c->shape.dims[n] * c->rank, sizeof *q->expected[n], error);
        if (!q->expected[n])
            return error->status;
        naive_mttkrp(&q->x, &q->k, n, q->expected[n]);
    }
    return STATUS_OK;
}

/* How MTTKRPs of a tensor are made. */
struct way {
    enum conflict conflict;
    struct plan_forced forced;
};

/* The ways that a check compares. */
struct ways {
    enum precision_policy precision;
    int cases; /* the first so many */
    int count;
    struct way way[CONFLICTS];
};

/* Opens a backend for one way. Two passes over all modes of a streamed tensor, because in the
 * second one some batches are on the device already. */
static enum status compare_modes(const struct selftest_place *p, const struct product *q,
                                 enum precision_policy precision, const struct way *way,
                                 struct verdict *f, struct error *error)
{
    const int order = q->k.shape.order, passes = way->forced.streamed ? 2 : 1;
    struct backend_options options = {.problem.rank = q->k.rank,
                                      .conflict = way->conflict,
                                      .problem.precision = precision,
                                      .device = p->device,
                                      .host_memory = p->host_memory,
                                      .forced = way->forced};
    const double most = precision == POLICY_SINGLE ? 1e-5 : 1e-12;
    struct backend b = {0};
    double *m = memory_array(shape_longest(&q->k.shape), q->k.rank * sizeof *m, error);
    if (!m)
        return error->status;
    if (way->forced.streamed)
        options.forced.batch_nnz = q->x.nnz / 20 + 1;
    TRY_OR(done, backend_open(&b, p->kind, &q->x, &options, NULL, error));
    verdict_equal(f, b.plan.streamed, way->forced.streamed, "%s, tensor is streamed",
                  conflict_name(way->conflict));
    TRY_OR(done, backend_load(&b, &q->k, error));
    for (int i = 0; i < passes * order; i++) {
        const int n = i % order;
        TRY_OR(done, backend_mttkrp(&b, n, error));
        TRY_OR(done, backend_fetch(&b, n, m, error));
        const double difference =
            (double)naive_relative_error(m, q->expected[n], q->k.shape.dims[n] * q->k.rank);
        verdict_at_most(f, difference, most, "order %d, rank %d, %s, mode %d: relative error",
                        order, (int)q->k.rank, conflict_name(way->conflict), n + 1);
    }
done:
    backend_close(&b);
    memory_free(m);
    return error->status;
}

static enum status check_case(const struct selftest_place *p, const struct scattered_case *c,
                              const struct ways *ways, struct verdict *f, struct error *error)
{
    struct product q;
    TRY_OR(done, product_make(&q, c, ways->precision, error));
    for (int w = 0; w < ways->count; w++)
        TRY_OR(done, compare_modes(p, &q, ways->precision, &ways->way[w], f, error));
done:
    for (int n = 0; n < q.x.shape.order; n++)
        memory_free(q.expected[n]);
    ktensor_free(&q.k);
    coo_free(&q.x);
    return error->status;
}

/* Every case with every conflict resolution, or streamed in several ways. */
enum status check_mttkrp(const struct selftest_place *p, int which, struct verdict *f,
                         struct error *error)
{
    static const struct ways streamed = {
        .cases = SHORT_CASES,
        .count = 4,
        .way = {{CONFLICT_AUTO, {.streamed = true, .one_copy = true}},
                {CONFLICT_AUTO, {.streamed = true, .replicas_at_once = true}},
                {CONFLICT_ORDERED, {.streamed = true}},
                {CONFLICT_REGISTER, {.streamed = true}}}};
    struct ways ways = {.cases = CASES, .count = CONFLICTS};
    for (int c = 0; c < CONFLICTS; c++)
        ways.way[c].conflict = (enum conflict)c;
    if (which == MTTKRP_STREAMED)
        ways = streamed;
    ways.precision = which == MTTKRP_SINGLE ? POLICY_SINGLE : POLICY_DOUBLE;
    for (int i = 0; i < ways.cases; i++)
        TRY(check_case(p, &cases[i], &ways, f, error));
    return STATUS_OK;
}
