/* Plans of tensors that are streamed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <string.h>

#include <cmocka.h>

#include "support/plan_requests.h"

static void test_streamed_replicas(void **state)
{
    (void)state;
    struct plan_request r = large_request(20 * GB, 500 * GB);
    struct plan p;
    r.conflict = CONFLICT_ORDERED;
    plan_make(&p, &r);
    check_streamed(&p);
    assert_true(p.fits);
    assert_int_equal(p.replicas, 4);
    assert_int_equal(p.copy_bytes, 0);
    assert_int_equal(p.batch_nnz, 1 << 20);
    assert_int_equal(plan_segment_nnz(&p), 65536);
    assert_in_range(p.host_bytes, 117 * GB, 118 * GB);   /* alto, too */
    assert_in_range(p.resident_bytes, 18 * GB, 20 * GB); /* all but a sixteenth of what is left */
    r.tensor.segment_nnz = 65536;
    r.tensor.alto_bytes = 16 * GB; /* as a file has it; the others may be a little longer */
    plan_make(&p, &r);
    check_streamed(&p);
    assert_int_equal(p.host_bytes, 16 * GB + 4 * 17 * GB);
    assert_true(plan_takes_packed(&p));
    r.host_budget = p.host_bytes;
    plan_make(&p, &r);
    assert_true(p.fits);
    r.host_budget--;
    plan_make(&p, &r);
    assert_false(p.fits);
    r.tensor.segment_nnz = r.tensor.alto_bytes = 0;

    r.conflict = CONFLICT_AUTO;
    r.budget = 40 * GB; /* alto fits the device */
    plan_make(&p, &r);
    assert_true(p.fits && !p.streamed && p.replicas == 0);
    r.can_stream = false;
    r.budget = 20 * GB;
    plan_make(&p, &r);
    assert_true(!p.fits && !p.streamed);
}

/* Orderings that are built later: where the conflict is free, and of what room there is for them.
 */
static void test_streamed_replicas_later(void **state)
{
    (void)state;
    struct plan_request r = large_request(20 * GB, 500 * GB);
    struct plan p;
    r.must_stream = true;
    r.tensor.alto_bytes = 6 * GB;
    plan_make(&p, &r);
    check_streamed(&p);
    assert_true(p.fits && p.alto && p.replicate);
    assert_int_equal(p.replicas, 0);
    assert_int_equal(p.host_bytes, 6 * GB);
    assert_in_range(p.resident_bytes, 18 * GB, 20 * GB);

    r.budget = 200 * GB; /* a piece of all nonzeros takes more than four orderings */
    plan_make(&p, &r);
    check_streamed(&p);
    assert_int_equal(p.resident_bytes, r.tensor.nnz * (4 * 8 + 2));
    r.tensor.alto_bytes = 18 * GB;
    plan_make(&p, &r);
    assert_int_equal(p.resident_bytes, 4 * r.tensor.alto_bytes);

    r.forced.one_copy = true;
    plan_make(&p, &r);
    check_streamed(&p);
    assert_false(p.replicate);
    assert_int_equal(p.resident_bytes, r.tensor.alto_bytes);
    r.forced.one_copy = false;
    for (int c = CONFLICT_ORDERED; c <= CONFLICT_ATOMIC; c++) {
        r.conflict = (enum conflict)c;
        plan_make(&p, &r);
        assert_true(p.streamed && !p.replicate);
    }
}

static void test_streamed_alto(void **state)
{
    (void)state;
    struct plan_request r = large_request(20 * GB, 500 * GB);
    struct plan p;
    plan_make(&p, &r);
    check_streamed(&p);
    assert_true(p.fits && p.alto);
    assert_int_equal(p.replicas, 0);
    assert_int_equal(p.conflict[1], CONFLICT_HIERARCHICAL);
    assert_int_equal(p.conflict[3], CONFLICT_REGISTER);

    r.host_budget = 20 * GB;
    plan_make(&p, &r);
    assert_false(p.fits);
    r.tensor.alto_bytes = 19 * GB; /* as a file has it */
    plan_make(&p, &r);
    assert_true(p.fits && p.alto);
    assert_int_equal(p.host_bytes, 19 * GB);
    r.tensor.alto_bytes = 10 * GB;
    r.forced.one_copy = true;
    plan_make(&p, &r);
    assert_int_equal(p.resident_bytes, 10 * GB); /* all of it stays */
    r.forced.one_copy = false;
    r.tensor.alto_bytes = 0;

    r.host_budget = 500 * GB;
    r.forced.one_copy = true;
    plan_make(&p, &r);
    check_streamed(&p);
    assert_true(p.fits && p.alto);

    r.forced.one_copy = false;
    for (int c = CONFLICT_ORDERED; c <= CONFLICT_ATOMIC; c++) {
        r.conflict = (enum conflict)c;
        plan_make(&p, &r);
        check_streamed(&p);
        assert_true(p.fits);
        for (int n = 0; n < r.tensor.shape.order; n++)
            assert_int_equal(p.conflict[n], c);
        assert_int_equal(p.copy_bytes, c == CONFLICT_HIERARCHICAL ? 4 * 1717 * 16 * 8 : 0);
    }
}

/* Batches of long modes are sorted, and larger. */
static void test_streamed_sorted(void **state)
{
    (void)state;
    struct plan_request r = large_request(20 * GB, 500 * GB);
    struct plan p;
    r.tensor.shape.dims[2] = 300000; /* M of 38 MB */
    plan_make(&p, &r);
    check_streamed(&p);
    assert_true(p.fits && p.sorted[2] && !p.sorted[3]);
    assert_int_equal(p.batch_nnz, 1 << 22);
    for (int c = CONFLICT_ORDERED; c <= CONFLICT_ATOMIC; c++) {
        r.conflict = (enum conflict)c;
        plan_make(&p, &r);
        check_streamed(&p);
        assert_true(p.fits && p.sorted[2] == (c == CONFLICT_REGISTER));
        assert_int_equal(p.batch_nnz, p.sorted[2] ? 1 << 22 : 1 << 20);
    }
    r.conflict = CONFLICT_AUTO;
    bool sorted = false; /* once there is room for batches that are worth it */
    for (uint64_t left = 20000000, last = 0; left < 3 * GB; left += 10000000) {
        r.budget = p.factor_bytes + left;
        plan_make(&p, &r);
        check_streamed(&p);
        assert_true(p.sorted[2] >= sorted);
        last = p.sorted[2] == sorted ? last : 1 << 19;
        sorted = p.sorted[2];
        assert_true(p.fits && p.batch_nnz % 65536 == 0 && p.batch_nnz >= last);
        assert_true(p.batch_nnz == 65536 || p.flow_bytes <= left / 3);
        last = p.batch_nnz;
    }
    assert_int_equal(p.batch_nnz, 1 << 22);
    r.budget = 40 * GB; /* alto fits the device */
    plan_make(&p, &r);
    assert_true(p.fits && !p.streamed && !p.sorted[2]);

    char text[4096];
    r.budget = 20 * GB;
    plan_make(&p, &r);
    plan_describe(&p, NULL, text, sizeof text);
    assert_non_null(strstr(text, "mode 3: length 300000, register, the shared alto ordering, "
                                 "streamed, batches sorted by row\nmode 4: length 1717, register, "
                                 "the shared alto ordering, streamed\n"));
    assert_non_null(strstr(text, "4194304 nonzeros at a time"));
}

/* It would fit unpacked, but not on the host. */
static void test_streamed_though_it_fits(void **state)
{
    (void)state;
    struct plan_request r = large_request(200 * GB, 40 * GB);
    struct plan p;
    plan_make(&p, &r);
    assert_true(p.fits && !p.streamed);
    r.must_stream = true;
    plan_make(&p, &r);
    check_streamed(&p);
    assert_true(p.fits && p.alto);
    assert_int_equal(p.replicas, 0);
    assert_true(p.resident_bytes >= p.host_bytes);
}

static void test_streamed_batches(void **state)
{
    (void)state;
    struct plan_request r = large_request(0, 500 * GB);
    struct plan p;
    uint64_t last = 0;
    for (r.budget = 4000000; r.budget < GB; r.budget += 1000000) {
        plan_make(&p, &r);
        check_streamed(&p);
        assert_true(p.batch_nnz % 65536 == 0 && p.batch_nnz >= last && p.batch_nnz <= 1 << 20);
        assert_true(p.batch_nnz == 65536 || p.flow_bytes <= (r.budget - p.factor_bytes) / 3);
        last = p.batch_nnz;
    }
    assert_int_equal(last, 1 << 20);

    r.forced.batch_nnz = 7; /* as the user says */
    plan_make(&p, &r);
    check_streamed(&p);
    assert_int_equal(p.batch_nnz, 7);
    assert_int_equal(plan_segment_nnz(&p), 7);

    r.tensor.nnz = 1000; /* 16 kB; factors of 38 kB */
    set_rank(&r, 1);
    r.copies = 1;
    r.budget = 70000;
    plan_make(&p, &r);
    assert_true(p.fits && !p.streamed);
    r.budget = p.factor_bytes + 12000;
    r.forced.batch_nnz = 50;
    plan_make(&p, &r);
    check_streamed(&p);
    assert_true(p.fits);
    r.forced.batch_nnz = 0;
    plan_make(&p, &r);
    check_streamed(&p);
    assert_false(p.fits);
    assert_int_equal(p.batch_nnz, 1000);
}

/* Systems of rows take their bytes before anything stays. */
static void test_streamed_systems(void **state)
{
    (void)state;
    struct plan_request r = large_request(20 * GB, 500 * GB);
    struct plan without, with;
    char text[4096];
    r.conflict = CONFLICT_ORDERED;
    plan_make(&without, &r);
    r.system_bytes = GB;
    r.flow_system_bytes = 3 * GB;
    r.batch_system_bytes = 1000;
    plan_make(&with, &r);
    check_streamed(&with);
    assert_true(with.fits);
    assert_int_equal(with.system_bytes, 3 * GB + 1000 * (r.tensor.nnz / with.batch_nnz + 1));
    assert_true(with.resident_bytes < without.resident_bytes);
    plan_describe(&with, NULL, text, sizeof text);
    assert_non_null(strstr(text, "\nin addition: 3.00 GB for systems of rows\n"));
    for (r.budget = 3 * GB; r.budget < 4 * GB; r.budget += 9000000) {
        const struct plan last = with;
        plan_make(&with, &r);
        check_streamed(&with);
        assert_true(r.budget == 3 * GB || with.fits >= last.fits);
    }
    assert_true(with.fits);
    r.budget = 200 * GB;
    plan_make(&with, &r);
    check_in_memory(&with);
    assert_int_equal(with.system_bytes, GB);
}

/* Lines of up to 128 bits, where each mode's lie in one of two words. */
static void test_streamed_lines(void **state)
{
    (void)state;
    struct plan_request r = large_request(100 * GB, 500 * GB);
    struct plan p;
    char text[256];
    set_rank(&r, 1);
    r.tensor.nnz = 10 * GB;
    r.forced.one_copy = true;
    for (int n = 0; n < r.tensor.shape.order; n++)
        r.tensor.shape.dims[n] = 100000000; /* 4 * 27 bits */
    plan_make(&p, &r);
    check_streamed(&p);
    assert_true(p.fits);

    r.tensor.shape.order = 5; /* 5 * 26 bits */
    for (int n = 0; n < r.tensor.shape.order; n++)
        r.tensor.shape.dims[n] = 60000000;
    plan_make(&p, &r);
    check_in_memory(&p);
    assert_false(p.fits);
    plan_obstacle(&p, text, sizeof text);
    assert_non_null(strstr(text, "an encoding line of 130 bits is too long to be streamed"));

    for (int n = 0; n < r.tensor.shape.order; n++)
        r.tensor.shape.dims[n] = n ? 5 : UINT64_C(1) << 25;
    r.tensor.shape.dims[1] = r.tensor.shape.dims[2] = UINT64_C(1) << 25;
    r.tensor.shape.dims[3] = UINT64_C(1) << 25;
    r.tensor.shape.dims[4] = UINT64_C(1)
                             << 20; /* 120 bits, but 50 + 50 leave no word for 20 more */
    plan_make(&p, &r);
    check_in_memory(&p);
    assert_false(p.fits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streamed_replicas),
        cmocka_unit_test(test_streamed_replicas_later),
        cmocka_unit_test(test_streamed_alto),
        cmocka_unit_test(test_streamed_sorted),
        cmocka_unit_test(test_streamed_though_it_fits),
        cmocka_unit_test(test_streamed_batches),
        cmocka_unit_test(test_streamed_systems),
        cmocka_unit_test(test_streamed_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
