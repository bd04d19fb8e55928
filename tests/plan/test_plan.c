/* Plans of tensors in memory, and what holds for plans of all kinds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <string.h>

#include <cmocka.h>

#include "support/naive.h"
#include "support/plan_requests.h"

static void test_sizes(void **state)
{
    (void)state;
    struct plan p = plan_with(UINT64_MAX);
    assert_in_range(p.tensor_bytes, 16000000, 16100000);
    /* factors of 3064 rows, M of 1717, five 16 x 16 matrices */
    assert_int_equal(p.factor_bytes, (3064 + 1717) * 16 * 8 + 5 * 16 * 16 * 8);

    struct plan_request r = request_of(UINT64_MAX);
    r.previous[1] = r.previous[3] = true; /* with a Gram each */
    plan_make(&p, &r);
    assert_int_equal(p.factor_bytes, (3064 + 1717 + 24 + 1717) * 16 * 8 + 7 * 16 * 16 * 8);

    r = request_of(UINT64_MAX);
    r.sent_bytes = 16 * 4;
    plan_make(&p, &r);
    assert_int_equal(p.factor_bytes, (3064 + 1717) * 16 * 8 + 1717 * 16 * 4 + 5 * 16 * 16 * 8);

    r = request_of(UINT64_MAX);
    r.tensor.shape.dims[0] = r.tensor.shape.dims[1] =
        MAX_LENGTH; /* 32 + 32 + 11 + 11 bits: two index words */
    plan_make(&p, &r);
    assert_in_range(p.tensor_bytes, 24000000, 24100000);
    r.row_bytes /= 2;
    uint64_t in_double = p.factor_bytes;
    plan_make(&p, &r);
    assert_in_range(p.factor_bytes, in_double / 2, in_double / 2 + 5 * 16 * 16 * 8);
}

static void test_everything_fits(void **state)
{
    (void)state;
    struct plan p = plan_with(100000000);
    check_sums(&p);
    assert_true(p.fits);
    assert_false(p.alto);
    assert_int_equal(p.replicas, 4);
    assert_int_equal(p.copy_bytes, 0);
    p = plan_with(p.total_bytes); /* exactly */
    assert_int_equal(p.replicas, 4);
    p = plan_with(p.total_bytes - 1);
    assert_true(p.fits && p.alto);
}

/* Three orderings fit: alto and replicas for the two longest modes, 4 and 3. */
static void test_some_replicas(void **state)
{
    (void)state;
    struct plan p = plan_with(50000000);
    check_sums(&p);
    assert_true(p.fits && p.alto);
    assert_int_equal(p.replicas, 2);
    assert_int_equal(p.conflict[0], CONFLICT_REGISTER);
    assert_int_equal(p.conflict[1], CONFLICT_HIERARCHICAL);
    assert_int_equal(p.conflict[2], CONFLICT_ORDERED);
    assert_int_equal(p.conflict[3], CONFLICT_ORDERED);
    assert_int_equal(p.copy_bytes, 4 * 24 * 16 * 8);
}

static void test_only_alto(void **state)
{
    (void)state;
    struct plan p = plan_with(20000000);
    check_sums(&p);
    assert_true(p.fits && p.alto);
    assert_int_equal(p.replicas, 0);
    assert_int_equal(p.conflict[1], CONFLICT_HIERARCHICAL);
    assert_int_equal(p.conflict[3], CONFLICT_REGISTER);
}

/* Copies that memory has no room for are left out, those of the longest mode first, unless the rows
 * that wait in their place would take more. */
static void test_long_copies(void **state)
{
    (void)state;
    struct plan_request r = request_of(UINT64_MAX);
    struct plan p;
    r.forced.one_copy = true;
    r.short_mode = 1200;
    r.copies = 1000;
    r.waiting_rows = 100000;
    plan_make(&p, &r);
    check_sums(&p);
    assert_int_equal(p.copy_bytes, 1000 * 1140 * 16 * 8);
    static const uint64_t rows[] = {183000, 100000};
    for (int i = 0; i < 2; i++) {
        r.budget = p.total_bytes - 1;
        plan_make(&p, &r);
        check_sums(&p);
        assert_true(p.fits);
        assert_int_equal(p.copy_bytes, rows[i] * 16 * 8);
        assert_int_equal(p.conflict[0], i == 0 ? CONFLICT_HIERARCHICAL : CONFLICT_REGISTER);
        assert_int_equal(p.conflict[1], CONFLICT_HIERARCHICAL);
        assert_int_equal(p.conflict[2], CONFLICT_REGISTER);
    }
    r.budget = p.total_bytes - 1;
    plan_make(&p, &r);
    assert_false(p.fits);
    assert_int_equal(p.conflict[1], CONFLICT_HIERARCHICAL); /* 24000 rows */
}

/* Nonzeros that stay in memory while the orderings are built take from the budget, and fewer
 * orderings are built; nonzeros that are spent take less. */
static void test_building(void **state)
{
    (void)state;
    struct plan_request r = request_of(UINT64_MAX);
    struct plan p, spent;
    r.nonzero_bytes = 24000000;
    r.model_bytes = 1000;
    plan_make(&p, &r);
    /* the nonzeros, three orderings, and for the fourth the sorted pairs, their copies, and a sort
     */
    assert_in_range(p.building_bytes, 24000000 + 6 * 16000000, 24000000 + 6 * 16000000 + 100000);
    assert_int_equal(p.total_bytes, p.building_bytes + 1000);
    r.spends = true;
    plan_make(&spent, &r);
    assert_int_equal(spent.building_bytes, p.building_bytes - 24000000);
    uint64_t least = UINT64_MAX;
    for (r.budget = spent.total_bytes; r.budget > 0; r.budget = p.total_bytes - 1) {
        plan_make(&p, &r);
        if (!p.fits)
            break;
        assert_true(p.total_bytes <= r.budget && p.building_bytes <= r.budget);
        least = p.total_bytes;
    }
    /* alto alone: coordinates and values with the lines that they become, or the sort */
    assert_int_equal(least, 32000000 + 1000);
}

static void test_nothing_fits(void **state)
{
    (void)state;
    struct plan p = plan_with(10000000);
    check_sums(&p);
    assert_false(p.fits);
    assert_true(p.alto);
    assert_int_equal(p.replicas, 0);
    assert_true(plan_with(p.total_bytes).fits);

    /* rows that wait with alto take more than the orderings do */
    struct plan_request r = request_of(UINT64_MAX);
    r.waiting_rows = 1000000;
    plan_make(&p, &r);
    r.budget = p.total_bytes - 1;
    plan_make(&p, &r);
    check_sums(&p);
    assert_false(p.fits);
    assert_int_equal(p.replicas, 4);
    assert_int_equal(p.total_bytes, r.budget + 1);
}

static void test_no_replicas(void **state)
{
    (void)state;
    struct plan_request r = request_of(UINT64_MAX);
    r.forced.one_copy = true;
    struct plan p;
    plan_make(&p, &r);
    check_sums(&p);
    assert_true(p.fits && p.alto);
    assert_int_equal(p.replicas, 0);
    assert_int_equal(p.conflict[1], CONFLICT_HIERARCHICAL);
    assert_int_equal(p.conflict[3], CONFLICT_REGISTER);
}

static void test_equal_lengths(void **state)
{
    (void)state;
    struct plan_request r = request_of(36000000);
    r.tensor.shape.order = 3;
    r.tensor.shape.dims[0] = r.tensor.shape.dims[1] = r.tensor.shape.dims[2] = 500;
    struct plan p;
    plan_make(&p, &r);
    check_sums(&p);
    assert_int_equal(p.replicas, 1);
    assert_int_equal(p.conflict[0], CONFLICT_ORDERED);
}

static void test_forced(void **state)
{
    (void)state;
    static const uint64_t budgets[] = {1000, 50000000, UINT64_MAX};
    for (int b = 0; b < 3; b++)
        for (int c = CONFLICT_ORDERED; c < CONFLICTS; c++) {
            struct plan_request r = request_of(budgets[b]);
            r.conflict = (enum conflict)c;
            struct plan p;
            plan_make(&p, &r);
            check_sums(&p);
            for (int n = 0; n < r.tensor.shape.order; n++)
                assert_int_equal(p.conflict[n], c);
            assert_int_equal(p.replicas, c == CONFLICT_ORDERED ? 4 : 0);
            assert_int_equal(p.copy_bytes, c == CONFLICT_HIERARCHICAL ? 4 * 1717 * 16 * 8 : 0);
        }
}

/* Where the device has less room than the plan thought, the next one is smaller, and soon small. */
static void test_fallback_ends(void **state)
{
    (void)state;
    struct plan_request r = large_request(200 * GB, 500 * GB);
    struct plan p;
    plan_make(&p, &r);
    assert_true(p.fits && p.replicas == 4 && !p.streamed);
    int steps = 0;
    for (uint64_t last = UINT64_MAX; p.fits; steps++) {
        assert_true(p.total_bytes < last);
        last = p.total_bytes;
        r.budget = p.total_bytes - 1;
        plan_make(&p, &r);
        assert_true(!p.fits || p.total_bytes <= r.budget);
        check_sums(&p);
    }
    assert_true(p.streamed && p.resident_bytes == 0 && p.batch_nnz == 65536);
    assert_in_range(steps, 50, 300);
}

/* More memory never means fewer replicas, nor that something no longer fits. */
static void test_monotone_in_budget(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int trial = 0; trial < 50; trial++) {
        struct plan_request r = request_of(0);
        r.tensor.shape.order = 1 + (int)(naive_random(&seed) % MAX_ORDER);
        r.can_stream = trial % 2;
        r.host_budget = trial % 4 == 1 ? 100 * GB : 17000000;
        for (int n = 0; n < r.tensor.shape.order; n++)
            r.tensor.shape.dims[n] = 1 + (naive_random(&seed) >> (34 + naive_random(&seed) % 30));
        struct plan p = {0}, last = {0};
        for (; !p.fits || p.alto; r.budget += 3000000 + r.budget / 4) {
            plan_make(&p, &r);
            check_sums(&p);
            assert_true(p.streamed || last.streamed || p.replicas >= last.replicas);
            assert_true(p.streamed <= last.streamed || !last.fits);
            assert_true(p.fits >= last.fits);
            last = p;
        }
        assert_int_equal(p.replicas, r.tensor.shape.order);
    }
}

/* Sizes beyond 64 bits do not wrap into something that fits. */
static void test_overflow(void **state)
{
    (void)state;
    struct plan_request r = request_of(UINT64_MAX - 1);
    set_rank(&r, UINT64_C(1) << 60);
    struct plan p;
    plan_make(&p, &r);
    assert_false(p.fits);
    assert_int_equal(p.total_bytes, UINT64_MAX);
}

static void test_names(void **state)
{
    (void)state;
    for (int c = CONFLICT_AUTO; c < CONFLICTS; c++)
        assert_string_equal(conflict_name((enum conflict)c), conflict_words[c].text);
    assert_string_equal(conflict_name(CONFLICT_ORDERED), "ordered");
}

/* --- Plans of tensors that are streamed. --- */

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
    for (int c = CONFLICT_ORDERED; c < CONFLICTS; c++) {
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
    for (int c = CONFLICT_ORDERED; c < CONFLICTS; c++) {
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
    for (int c = CONFLICT_ORDERED; c < CONFLICTS; c++) {
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
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_everything_fits),
        cmocka_unit_test(test_some_replicas),
        cmocka_unit_test(test_only_alto),
        cmocka_unit_test(test_long_copies),
        cmocka_unit_test(test_building),
        cmocka_unit_test(test_nothing_fits),
        cmocka_unit_test(test_no_replicas),
        cmocka_unit_test(test_equal_lengths),
        cmocka_unit_test(test_forced),
        cmocka_unit_test(test_fallback_ends),
        cmocka_unit_test(test_monotone_in_budget),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_names),
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
