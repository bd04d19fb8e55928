#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/blco/segment_pack.h"
#include "plan/plan.h"
#include "support/naive.h"
#include "tensor/ordering.h"

/* A tensor whose orderings take 16 MB each, with one short mode (24). */
static struct plan_request request_of(uint64_t budget)
{
    return (struct plan_request){.tensor.shape.order = 4,
                                 .tensor.shape.dims = {183, 24, 1140, 1717},
                                 .tensor.nnz = 1000000,
                                 .rank = 16,
                                 .budget = budget,
                                 .row_bytes = 16 * sizeof(double),
                                 .copies = 4,
                                 .short_mode = 132,
                                 .conflict = CONFLICT_AUTO};
}

static void set_rank(struct plan_request *r, uint64_t rank)
{
    r->rank = rank;
    r->row_bytes = rank * sizeof(double);
}

static struct plan plan_with(uint64_t budget)
{
    struct plan_request request = request_of(budget);
    struct plan plan;
    plan_make(&plan, &request);
    return plan;
}

static void check_conflicts(const struct plan *p)
{
    int ordered = 0;
    for (int n = 0; n < p->request.tensor.shape.order; n++) {
        ordered += p->conflict[n] == CONFLICT_ORDERED;
        assert_int_not_equal(p->conflict[n], CONFLICT_AUTO);
    }
    assert_int_equal(ordered, p->replicas);
    assert_int_equal(p->alto, p->replicas < p->request.tensor.shape.order);
}

static void check_in_memory(const struct plan *p)
{
    uint64_t orderings = (uint64_t)p->replicas + p->alto;
    assert_false(p->streamed);
    assert_int_equal(p->total_bytes, orderings * p->tensor_bytes + p->factor_bytes + p->copy_bytes);
    assert_int_equal(p->fits, p->total_bytes <= p->request.budget);
    assert_true(p->flow_bytes + p->resident_bytes + p->host_bytes + p->batch_nnz == 0);
    check_conflicts(p);
}

static void check_streamed(const struct plan *p)
{
    const struct plan_request *r = &p->request;
    assert_true(p->streamed && r->can_stream);
    assert_true(p->alto == (p->replicas < r->tensor.shape.order));
    assert_int_equal(p->total_bytes,
                     p->factor_bytes + p->copy_bytes + p->flow_bytes + p->resident_bytes);
    assert_int_equal(p->fits, p->total_bytes <= r->budget &&
                                  p->host_bytes + p->packing_bytes <= r->host_budget);
    uint64_t orderings = (uint64_t)p->replicas + p->alto;
    int bits = ordering_line_bits(&r->tensor.shape);
    if (!r->tensor.alto_bytes)
        assert_int_equal(p->host_bytes, orderings * segment_pack_at_most(bits, r->tensor.nnz,
                                                                         plan_segment_nnz(p)));
    assert_true(!p->replicate || (p->alto && r->conflict == CONFLICT_AUTO));
    assert_true(p->replicate || p->resident_bytes <= p->host_bytes);
    assert_true(p->batch_nnz > 0);
    bool sorted = false;
    for (int n = 0; n < r->tensor.shape.order; n++)
        sorted |= p->sorted[n];
    for (int n = 0; n < r->tensor.shape.order; n++) {
        bool is_long = r->tensor.shape.dims[n] * r->row_bytes > 32 << 20;
        assert_int_equal(p->sorted[n], sorted && is_long && p->conflict[n] == CONFLICT_REGISTER);
        assert_true(p->batch_nnz >= 1 << 19 || !p->sorted[n]);
        assert_true(p->batch_nnz <= 1 << 20 || sorted || r->forced.batch_nnz);
    }
    /* In bits: a packed nonzero takes a value and its line but for eight, and up to four more; a
     * decoded one its index words and a value; and its order. */
    uint64_t words = bits > 64 ? 2 : 1;
    uint64_t packed = 64 + (uint64_t)bits - 8, decoded = 8 * words + 8 + (sorted ? 17 : 0);
    uint64_t least = p->batch_nnz * (3 * packed + 2 * 8 * decoded) / 8;
    assert_in_range(p->flow_bytes, least, least + 3 * (p->batch_nnz * 4 / 8 + 200));
    check_conflicts(p);
}

static void check_sums(const struct plan *p)
{
    if (p->streamed)
        check_streamed(p);
    else
        check_in_memory(p);
}

static void test_sizes(void **state)
{
    (void)state;
    struct plan p = plan_with(UINT64_MAX);
    assert_in_range(p.tensor_bytes, 16000000, 16100000);
    /* factors of 3064 rows, M of 1717, five 16 x 16 matrices */
    assert_int_equal(p.factor_bytes, (3064 + 1717) * 16 * 8 + 5 * 16 * 16 * 8);

    struct plan_request r = request_of(UINT64_MAX);
    r.second[1] = r.second[3] = true; /* with a Gram each */
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

static void test_nothing_fits(void **state)
{
    (void)state;
    struct plan p = plan_with(10000000);
    check_sums(&p);
    assert_false(p.fits);
    assert_true(p.alto);
    assert_int_equal(p.replicas, 0);
    assert_true(plan_with(p.total_bytes).fits);
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
        for (int c = CONFLICT_ORDERED; c <= CONFLICT_ATOMIC; c++) {
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

/* Two billion nonzeros, 32 GB an ordering, 23.5 packed; factors of 0.98 MB. */
static struct plan_request large_request(uint64_t budget, uint64_t host_budget)
{
    struct plan_request r = request_of(budget);
    r.tensor.nnz = 2000000000;
    r.can_stream = true;
    r.host_budget = host_budget;
    return r;
}

#define GB UINT64_C(1000000000)

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
    assert_in_range(p.host_bytes, 94 * GB, 95 * GB);
    assert_int_equal(p.packing_bytes, r.tensor.nnz * (4 * 4 + 8 + 32));
    assert_in_range(p.resident_bytes, 18 * GB, 20 * GB); /* all but a sixteenth of what is left */

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
    assert_int_equal(p.packing_bytes, 0);
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
    assert_int_equal(p.packing_bytes, 0);

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
    assert_non_null(strstr(text, "lines of as many bits as the 130 of this tensor cannot be "
                                 "streamed"));

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

/* What a person is told, whatever does not fit. */
static void test_obstacles(void **state)
{
    (void)state;
    struct plan_request r = large_request(20 * GB, 500 * GB);
    struct plan p;
    char text[256], all[4096];
    plan_make(&p, &r);
    assert_true(p.fits);
    set_rank(&r, 500000);
    plan_make(&p, &r);
    assert_false(p.fits);
    plan_obstacle(&p, text, sizeof text);
    assert_non_null(strstr(text, "factors of "));
    assert_non_null(strstr(text, " TB do not fit into the 20.0 GB of memory that may be used"));
    plan_describe(&p, NULL, all, sizeof all);
    assert_non_null(strstr(all, "does not fit: factors of "));

    r = large_request(4 * 1000 * 1000, 500 * GB);
    plan_make(&p, &r);
    plan_obstacle(&p, text, sizeof text);
    assert_string_equal(text, "factors of 634 kB and queues of 4.41 MB, through which the tensor "
                              "flows, do not fit into the 4.00 MB of memory that may be used");

    r = large_request(20 * GB, 20 * GB);
    plan_make(&p, &r);
    assert_false(p.fits);
    plan_obstacle(&p, text, sizeof text);
    assert_string_equal(text, "the packed tensor takes 23.5 GB at most, more than the 20.0 GB of "
                              "host memory that may be used");

    p = plan_with(1000000);
    plan_obstacle(&p, text, sizeof text);
    assert_string_equal(text, "factors of 634 kB and an ordering of 16.0 MB do not fit into the "
                              "1.00 MB of memory that may be used");
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

static void test_describe(void **state)
{
    (void)state;
    struct plan p = plan_with(50000000);
    char text[4096], shorter[100];
    plan_describe(&p, NULL, text, sizeof text);
    assert_string_equal(
        text, "mode 1: length 183, register, the shared alto ordering\n"
              "mode 2: length 24, hierarchical, the shared alto ordering, copies of 0.000 GB\n"
              "mode 3: length 1140, ordered, its own ordering of 0.016 GB\n"
              "mode 4: length 1717, ordered, its own ordering of 0.016 GB\n"
              "memory: 3 orderings of 0.016 GB + factors 0.001 GB + copies 0.000 GB = 0.049 GB of "
              "the 0.050 GB that may be used\n");
    plan_describe(&p, NULL, shorter, sizeof shorter);
    assert_int_equal(strlen(shorter), sizeof shorter - 1);
    assert_memory_equal(shorter, text, sizeof shorter - 1);
    p = plan_with(1000);
    plan_describe(&p, NULL, text, sizeof text);
    assert_non_null(strstr(text, "memory: 1 ordering of "));
    assert_non_null(strstr(text, "does not fit"));
}

static void test_describe_streamed(void **state)
{
    (void)state;
    struct plan_request r = large_request(4 * GB, 100 * GB);
    struct plan p;
    char text[4096];
    plan_make(&p, &r);
    plan_describe(&p, NULL, text, sizeof text);
    assert_string_equal(
        text,
        "mode 1: length 183, register, the shared alto ordering, streamed\n"
        "mode 2: length 24, hierarchical, the shared alto ordering, streamed, copies of 0.000 GB\n"
        "mode 3: length 1140, register, the shared alto ordering, streamed\n"
        "mode 4: length 1717, register, the shared alto ordering, streamed\n"
        "streaming: 1 packed ordering in host memory, 23.533 GB at most, of which 3.892 GB stay on "
        "the device; 78.564 GB at most flow in an iteration, 1048576 nonzeros at a time\n"
        "once that pays: each mode from its own ordering, built on the device, host "
        "memory allowing; 94.133 GB in all, of which about 90.240 GB flow\n"
        "memory: what stays 3.892 GB + 3 queues 0.071 GB + factors 0.001 GB + copies 0.000 GB = "
        "3.964 GB of the 4.000 GB that may be used\n");
    r.host_budget = 500 * GB;
    r.conflict = CONFLICT_ORDERED;
    plan_make(&p, &r);
    plan_describe(&p, NULL, text, sizeof text);
    assert_non_null(strstr(text, "mode 4: length 1717, ordered, its own ordering, streamed\n"
                                 "streaming: 4 packed orderings in host memory, 94.1"));
    assert_non_null(strstr(text, "; 90.2"));
}

static void test_names(void **state)
{
    (void)state;
    for (int c = CONFLICT_AUTO; c <= CONFLICT_ATOMIC; c++)
        assert_int_equal(conflict_by_name(conflict_name((enum conflict)c)), c);
    assert_int_equal(conflict_by_name("ordered"), CONFLICT_ORDERED);
    assert_int_equal(conflict_by_name("Ordered"), -1);
    assert_int_equal(conflict_by_name(""), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_everything_fits),
        cmocka_unit_test(test_some_replicas),
        cmocka_unit_test(test_only_alto),
        cmocka_unit_test(test_nothing_fits),
        cmocka_unit_test(test_no_replicas),
        cmocka_unit_test(test_equal_lengths),
        cmocka_unit_test(test_forced),
        cmocka_unit_test(test_monotone_in_budget),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_streamed_replicas),
        cmocka_unit_test(test_streamed_replicas_later),
        cmocka_unit_test(test_streamed_alto),
        cmocka_unit_test(test_streamed_sorted),
        cmocka_unit_test(test_streamed_though_it_fits),
        cmocka_unit_test(test_streamed_batches),
        cmocka_unit_test(test_streamed_lines),
        cmocka_unit_test(test_obstacles),
        cmocka_unit_test(test_fallback_ends),
        cmocka_unit_test(test_describe_streamed),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
