#include <math.h>

#include "base/memory.h"
#include "selftest/known_tensors.h"
#include "selftest/naive_mttkrp.h"
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

/* Sums of terms of one sign do not cancel: single precision is then exact enough. */
static void make_positive(struct product *q)
{
    for (uint64_t i = 0; i < q->x.nnz; i++)
        q->x.value[i] = fabs(q->x.value[i]);
    ktensor_randomise(&q->k, KTENSOR_RANDOM, 7);
}

static void product_free(struct product *q)
{
    for (int n = 0; n < q->x.shape.order; n++)
        memory_free(q->expected[n]);
    ktensor_free(&q->k);
    coo_free(&q->x);
}

/* The caller frees *q, after a failure too. */
static enum status product_make(struct product *q, const struct scattered_case *c,
                                enum precision_policy precision, struct error *error)
{
    *q = (struct product){0};
    if (known_scattered(&q->x, &c->shape, c->nnz, 1, c->skewed, error) != STATUS_OK ||
        ktensor_create(&q->k, &c->shape, c->rank, error) != STATUS_OK)
        return error->status;
    ktensor_randomise(&q->k, KTENSOR_NORMAL, 7);
    if (precision == POLICY_SINGLE)
        make_positive(q);
    for (int n = 0; n < c->shape.order; n++) {
        q->expected[n] = memory_array(c->shape.dims[n] * c->rank, sizeof *q->expected[n], error);
        if (!q->expected[n])
            return error->status;
        naive_mttkrp(&q->x, &q->k, n, q->expected[n]);
    }
    return STATUS_OK;
}

/* MTTKRP of one mode of an open backend that has the model. */
static enum status compare_mode(struct backend *b, const struct product *q, int n,
                                const struct backend_options *options, struct verdict *f,
                                struct error *error)
{
    const uint64_t entries = q->k.shape.dims[n] * q->k.rank;
    const double most = options->problem.precision == POLICY_SINGLE ? 1e-5 : 1e-12;
    double *m = memory_array(entries, sizeof *m, error);
    if (m && backend_mttkrp(b, n, error) == STATUS_OK && backend_fetch(b, n, m, error) == STATUS_OK)
        verdict_at_most(f, (double)naive_relative_error(m, q->expected[n], entries), most,
                        "order %d, rank %d, %s, mode %d: relative error", q->k.shape.order,
                        (int)q->k.rank, conflict_name(options->conflict), n + 1);
    memory_free(m);
    return error->status;
}

/* Two passes over all modes: a streamed tensor is in other places in the second. */
static enum status compare_modes(const struct selftest_place *p, const struct product *q,
                                 enum conflict conflict, enum precision_policy precision,
                                 const struct plan_forced *forced, struct verdict *f,
                                 struct error *error)
{
    const struct backend_options options = {.problem.rank = q->k.rank,
                                            .conflict = conflict,
                                            .problem.precision = precision,
                                            .device = p->device,
                                            .host_memory = p->host_memory,
                                            .forced = *forced};
    struct backend b = {0};
    if (backend_open(&b, p->kind, &q->x, &options, NULL, error) == STATUS_OK) {
        verdict_equal(f, b.plan.streamed, forced->streamed, "%s, tensor is streamed",
                      conflict_name(conflict));
        backend_load(&b, &q->k, error);
    }
    const int passes = forced->streamed ? 2 : 1;
    for (int i = 0; i < passes * q->k.shape.order && error->status == STATUS_OK; i++)
        compare_mode(&b, q, i % q->k.shape.order, &options, f, error);
    backend_close(&b);
    return error->status;
}

/* Every case with every conflict resolution. */
static enum status check_mttkrp(const struct selftest_place *p, enum precision_policy precision,
                                struct verdict *f, struct error *error)
{
    static const struct plan_forced nothing;
    for (int i = 0; i < CASES && error->status == STATUS_OK; i++) {
        struct product q;
        product_make(&q, &cases[i], precision, error);
        for (int c = CONFLICT_AUTO; c <= CONFLICT_ATOMIC && error->status == STATUS_OK; c++)
            compare_modes(p, &q, (enum conflict)c, precision, &nothing, f, error);
        product_free(&q);
    }
    return error->status;
}

enum status check_mttkrp_double(const struct selftest_place *p, struct verdict *f,
                                struct error *error)
{
    return check_mttkrp(p, POLICY_DOUBLE, f, error);
}

enum status check_mttkrp_single(const struct selftest_place *p, struct verdict *f,
                                struct error *error)
{
    return check_mttkrp(p, POLICY_SINGLE, f, error);
}

enum status check_mttkrp_streamed(const struct selftest_place *p, struct verdict *f,
                                  struct error *error)
{
    static const struct {
        enum conflict conflict;
        struct plan_forced forced;
    } ways[] = {
        {CONFLICT_AUTO, {.streamed = true, .one_copy = true}},
        {CONFLICT_AUTO, {.streamed = true, .replicas_at_once = true}},
        {CONFLICT_ORDERED, {.streamed = true}},
        {CONFLICT_REGISTER, {.streamed = true}},
    };
    for (int i = 0; i < SHORT_CASES && error->status == STATUS_OK; i++) {
        struct product q;
        product_make(&q, &cases[i], POLICY_DOUBLE, error);
        for (size_t w = 0; w < sizeof ways / sizeof *ways && error->status == STATUS_OK; w++) {
            struct plan_forced forced = ways[w].forced;
            forced.batch_nnz = q.x.nnz / 20 + 1;
            compare_modes(p, &q, ways[w].conflict, POLICY_DOUBLE, &forced, f, error);
        }
        product_free(&q);
    }
    return error->status;
}
