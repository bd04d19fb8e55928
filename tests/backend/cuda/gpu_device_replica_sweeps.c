/* Sweeps over a streamed tensor that build replicas on the way: MTTKRP against the oracle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "support/backends.h"
#include "support/gpu_arrays.h"
#include "support/mttkrp_case.h"

static void compare_mode(struct backend *b, const struct ktensor *k, int n,
                         enum precision_policy precision, const long double *expected)
{
    struct error error = {0};
    uint64_t entries = k->shape.dims[n] * k->rank;
    long double difference = 0, norm = 0;
    double *m = memory_array(entries, sizeof *m, &error);
    assert_non_null(m);
    if (backend_mttkrp(b, n, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(backend_fetch(b, n, m, &error), STATUS_OK);
    for (uint64_t i = 0; i < entries; i++) {
        difference += (m[i] - expected[i]) * (m[i] - expected[i]);
        norm += expected[i] * expected[i];
    }
    long double off = sqrtl(norm > 0 ? difference / norm : difference);
    if (!(off <= (precision == POLICY_SINGLE ? 1e-5L : 1e-12L)))
        fail_msg("order %d, mode %d: relative error %Lg", k->shape.order, n + 1, off);
    memory_free(m);
}

static void make_case(struct mttkrp_case *q, const struct tensor_case *s, uint64_t rank)
{
    naive_random_coo(&q->x, SHAPE(s->order, s->dims), s->nnz, 3, s->skewed);
    create_model(&q->k, &q->x, rank, 7);
    ktensor_randomise(&q->k, KTENSOR_RANDOM, 7);
    make_positive(&q->x);
    expect_products(q);
}

/* The first sweep from alto, the second from the replicas built before it; returns for how many
 * modes a replica was built. */
static int check_sweeps(struct mttkrp_case *q, const struct backend_options *setting, long failing,
                        bool *failed)
{
    struct error error = {0};
    struct backend b;
    int built = 0;
    if (backend_open(&b, &backend_cuda, &q->x, setting, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_true(b.plan.streamed && b.plan.replicate);
    assert_int_equal(backend_load(&b, &q->k, &error), STATUS_OK);
    for (int sweep = 0; sweep < 3; sweep++)
        for (int n = 0; n < q->x.shape.order; n++) {
            struct backend_built now;
            backend_built(&b, &now);
            assert_true(now.kernel[n].chosen == (sweep > 1 || (sweep == 1 && n > 0)));
            if (sweep == 1 && n == 0) { /* builds */
                memory_hook_set(failing);
                enum status status = backend_mttkrp(&b, n, &error);
                *failed = memory_hook_fired();
                memory_hook_set(-1);
                if (status != STATUS_OK) { /* the MTTKRP was timed without room for an event */
                    assert_true(status == STATUS_MEMORY && strstr(error.message, "timing"));
                    error = (struct error){0};
                    assert_int_equal(backend_mttkrp(&b, n, &error), STATUS_OK);
                }
            }
            compare_mode(&b, &q->k, n, setting->problem.precision, q->expected[n]);
            backend_built(&b, &now);
            built += sweep == 2 && strstr(now.kernel[n].name, "own ordering streamed") != NULL;
        }
    backend_close(&b);
    return built;
}

static const struct tensor_case shapes[] = {
    {1, {300}, 200, 0},
    {3, {50, 31, 4000}, 9000, 1},
    {3, {2, 3000, 2500}, 20000, 1},
    {4, {17, 5, 90, 33}, 2500, 0},
    {5, {100000, 70000, 90000, 100000, 80000}, 5000, 1}, /* 85 bits */
};

static void test_sweeps(void **state)
{
    (void)state;
    int all = 0, built = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct mttkrp_case q;
        make_case(&q, &shapes[i], 5);
        for (enum flow flow = IN_BATCHES; flow < FLOWS; flow++)
            for (int precision = POLICY_DOUBLE; precision <= POLICY_SINGLE; precision++)
                for (int more = 0; more < 3; more++) {
                    struct backend_options setting = {.problem.rank = 5,
                                                      .problem.precision =
                                                          (enum precision_policy)precision,
                                                      .forced = {.replicas_at_once = true}};
                    bool failed;
                    if (!set_flow(&setting, flow, &backend_cuda, &q.x))
                        continue;
                    setting.memory += (uint64_t)more * 20 * q.x.nnz;
                    struct plan plan = plan_of(&backend_cuda, &q.x, &setting);
                    if (!plan.streamed) /* it fits now */
                        continue;
                    built += check_sweeps(&q, &setting, -1, &failed);
                    all += q.x.shape.order;
                }
        free_case(&q);
    }
    assert_true(built > 0 && built < all);
}

/* Whichever allocation fails while replicas are built: modes go on from alto. */
static void test_failing_allocations(void **state)
{
    (void)state;
    struct mttkrp_case q;
    int fewer = 0;
    make_case(&q, &shapes[1], 5);
    struct backend_options setting = {
        .problem.rank = 5,
        .host_memory = 1 << 30,
        .memory = 64 << 20,
        .forced = {.streamed = true, .replicas_at_once = true, .batch_nnz = 1000}};
    struct plan plan = plan_of(&backend_cuda, &q.x, &setting);
    assert_true(plan.streamed && plan.fits);
    bool failed = true;
    for (long k = 0; failed; k++) {
        int built = check_sweeps(&q, &setting, k, &failed);
        assert_true(failed || built == 3);
        fewer += built < 3;
    }
    assert_true(fewer > 10);
    free_case(&q);
}

/* All modes from orderings that are built when the backend is opened; false where that fails. */
static bool check_ordered(struct mttkrp_case *q, const struct backend_options *setting,
                          long failing, bool *failed)
{
    struct error error = {0};
    struct backend b;
    memory_hook_set(failing);
    enum status status = backend_open(&b, &backend_cuda, &q->x, setting, NULL, &error);
    *failed = memory_hook_fired();
    memory_hook_set(-1);
    if (status != STATUS_OK) {
        assert_true(*failed && status == STATUS_MEMORY);
        return false;
    }
    assert_true(b.plan.streamed && b.plan.replicas == q->x.shape.order);
    assert_int_equal(backend_load(&b, &q->k, &error), STATUS_OK);
    for (int n = 0; n < q->x.shape.order; n++) {
        struct backend_built now;
        compare_mode(&b, &q->k, n, setting->problem.precision, q->expected[n]);
        backend_built(&b, &now);
        assert_non_null(strstr(now.kernel[n].name, "own ordering streamed"));
    }
    backend_close(&b);
    return true;
}

/* The GPU builds the orderings, and the host where the GPU has too little room: as little memory as
 * a stream takes, or more. */
static void test_ordered(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct mttkrp_case q;
        make_case(&q, &shapes[i], 5);
        for (int more = 0; more <= 64; more += 32) {
            struct backend_options setting = {.problem.rank = 5, .conflict = CONFLICT_ORDERED};
            bool failed;
            assert_true(set_flow(&setting, IN_BATCHES, &backend_cuda, &q.x));
            setting.forced.streamed = true;
            setting.memory += (uint64_t)more << 20;
            assert_true(check_ordered(&q, &setting, -1, &failed));
        }
        free_case(&q);
    }
}

/* Whichever allocation fails: an error, or orderings from the host. */
static void test_ordered_failing(void **state)
{
    (void)state;
    struct mttkrp_case q;
    int opened = 0, refused = 0;
    make_case(&q, &shapes[1], 5);
    const struct backend_options setting = {.problem.rank = 5,
                                            .conflict = CONFLICT_ORDERED,
                                            .host_memory = 1 << 30,
                                            .memory = 64 << 20,
                                            .forced = {.streamed = true, .batch_nnz = 1000}};
    bool failed = true;
    for (long k = 0; failed; k++) {
        const bool is_open = check_ordered(&q, &setting, k, &failed);
        opened += failed && is_open;
        refused += !is_open;
    }
    assert_true(opened > 10 && refused > 10);
    free_case(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sweeps),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_ordered),
        cmocka_unit_test(test_ordered_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
