/* MTTKRP of streamed orderings against the oracle, with batches of any size, and with any fraction
 * of the tensor on the device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/streamed_cases.h"

static struct {
    int none, some, all, several_batches;
    int sorted; /* modes whose batches are sorted, where there are several batches */
} met;

static void note(const struct device_stream *s)
{
    for (int i = 0; i < s->orderings; i++) {
        const struct device_packed_tensor *o = &s->ordering[i];
        met.none += o->nresident == 0;
        met.some += o->nresident > 0 && o->nresident < o->nbatches;
        met.all += o->nresident == o->nbatches;
        met.several_batches += o->nbatches > PLAN_SLOTS;
    }
    for (int n = 0; n < s->order; n++)
        met.sorted += s->sorted[n] && s->ordering[s->serves[n]].nbatches > PLAN_SLOTS;
}

static void check_stream(const struct mttkrp_case *q, const struct device_factors *f,
                         const struct streaming *t)
{
    struct error error = {0};
    struct packed_tensor packed[MAX_ORDER + 1];
    struct device_stream s;
    int count = pack(packed, &q->x, t->conflict, t->segment_nnz);
    const struct device_stream_request request = {t->conflict, t->sorted, t->batch_nnz, t->bytes,
                                                  f->precision};
    if (device_stream_open(&s, packed, count, &request, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_null(packed[0].bytes);
    note(&s);
    check_modes(&s, q, f);
    for (int n = 0; n < s.order; n++) {
        const struct device_packed_tensor *o = &s.ordering[s.serves[n]];
        char text[96];
        assert_int_equal(o->packed.kind, t->conflict[n] == CONFLICT_ORDERED ? n : ORDERING_ALTO);
        assert_true((device_stream_bytes(&s, n) == 0) == (o->nresident == o->nbatches));
        assert_true(device_stream_bytes(&s, n) <= o->packed.size);
        device_stream_describe(&s, n, text, sizeof text);
        assert_true((strstr(text, "100 % resident") != NULL) == (o->nresident == o->nbatches));
        assert_true((strstr(text, "sorted batches") != NULL) == s.sorted[n]);
    }
    device_stream_close(&s);
}

static const struct tensor_case shapes[] = {
    {1, {300}, 100, 3, 0},
    {2, {60, 7}, 300, 16, 0},
    {3, {50, 31, 4000}, 9000, 33, 1},
    {4, {17, 5, 90, 33}, 2500, 8, 0},
    {4, {2, 3000, 1, 2500}, 20000, 2, 1},
    {5, {1 << 20, 1 << 20, 5, 1 << 20, 1 << 19}, 3000, 1, 1}, /* 82 bits */
    {6, {4, 5, 6, 7, 8, 9}, 3000, 17, 0},
    {8, {3, 3, 3, 3, 3, 3, 3, 3}, 3000, 5, 0},
    {3, {1 << 18, 40, 70000}, 12000, 6, 1}, /* rows of more bits than are sorted by */
};

/* Batches of one nonzero up to all nonzeros. */
static void check_batches(enum precision precision)
{
    static const struct {
        uint64_t segment, batch;
    } sizes[] = {{1, 1}, {1, 50}, {7, 1}, {7, 100}, {1000, 1000}, {1000, 3000}, {0, 1 << 20}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct mttkrp_case q;
        struct device_factors f;
        make_case(&q, &shapes[i], precision);
        make_factors(&f, &q.k, precision);
        for (size_t b = 0; b < sizeof sizes / sizeof *sizes; b++)
            for (int which = 0; which < WAYS; which++) {
                if (sizes[b].batch < 50 &&
                    (which != (int)(i + 4) % WAYS || q.x.nnz > 5000)) /* fewer launches */
                    continue;
                struct streaming t = {.segment_nnz = sizes[b].segment, .batch_nnz = sizes[b].batch};
                set_conflicts(&t, q.x.shape.order, which);
                check_stream(&q, &f, &t);
            }
        free_factors(&f);
        free_case(&q);
    }
}

static void test_batches(void **state)
{
    (void)state;
    check_batches(PRECISION_DOUBLE);
    assert_true(met.none > 0 && met.several_batches > 20 && met.sorted > 20);
}

static void test_batches_in_single_precision(void **state)
{
    (void)state;
    check_batches(PRECISION_SINGLE);
}

/* From nothing on the device to everything. */
static void test_residents(void **state)
{
    (void)state;
    static const struct tensor_case shape = {3, {50, 310, 4000}, 30000, 8, 1};
    struct mttkrp_case q;
    struct device_factors f;
    make_case(&q, &shape, PRECISION_DOUBLE);
    make_factors(&f, &q.k, PRECISION_DOUBLE);
    memset(&met, 0, sizeof met);
    for (uint64_t bytes = 1 << 14; bytes <= 1 << 22; bytes += bytes / 2)
        for (int which = 0; which < WAYS; which += 2) {
            struct streaming t = {.segment_nnz = 100, .batch_nnz = 700, .bytes = bytes};
            set_conflicts(&t, 3, which);
            check_stream(&q, &f, &t);
        }
    assert_true(met.none > 3 && met.some > 8 && met.all > 3);
    free_factors(&f);
    free_case(&q);
}

/* The device memory that a stream takes stays within `bytes`. */
static void test_memory(void **state)
{
    (void)state;
    static const uint64_t dims[] = {1000, 2000, 3000};
    static const enum conflict conflict[] = {CONFLICT_REGISTER, CONFLICT_REGISTER,
                                             CONFLICT_REGISTER};
    static const bool sorted[] = {false, true, false};
    const uint64_t bytes = 48 << 20, slack = 16 << 20; /* the driver takes pages of 2 MB */
    struct error error = {0};
    struct packed_tensor packed;
    struct device_stream s;
    struct coo x;
    size_t before, after, all;
    naive_random_coo(&x, SHAPE(3, dims), 6000000, 1, 0);
    assert_int_equal(packed_tensor_build(&packed, &x, ORDERING_ALTO, 0, NULL, &error), STATUS_OK);
    good(cudaMemGetInfo(&before, &all));
    const struct device_stream_request request = {conflict, sorted, 1 << 18, bytes,
                                                  PRECISION_DOUBLE};
    assert_int_equal(device_stream_open(&s, &packed, 1, &request, &error), STATUS_OK);
    good(cudaMemGetInfo(&after, &all));
    assert_true(s.ordering[0].nresident > 0 && s.ordering[0].nresident < s.ordering[0].nbatches);
    assert_true(before - after <= bytes + slack);
    device_stream_close(&s);
    coo_free(&x);
}

static void test_damaged_stream(void **state)
{
    (void)state;
    static const struct tensor_case shape = {3, {50, 310, 4000}, 20000, 4, 0};
    static const enum conflict conflict[] = {CONFLICT_HIERARCHICAL, CONFLICT_REGISTER,
                                             CONFLICT_ATOMIC};
    static const bool sorted[] = {false, true, false};
    struct mttkrp_case q;
    struct device_factors f;
    make_case(&q, &shape, PRECISION_DOUBLE);
    make_factors(&f, &q.k, PRECISION_DOUBLE);
    for (int n = 0; n < 3; n++) {
        struct error error = {0};
        struct packed_tensor packed;
        struct device_stream s;
        assert_int_equal(pack(&packed, &q.x, conflict, 100), 1);
        packed.shape.dims[n] -= packed.shape.dims[n] /
                                8; /* the same number of bits, and coordinates beyond the length */
        const struct device_stream_request request = {conflict, sorted, 1000, 0, PRECISION_DOUBLE};
        assert_int_equal(device_stream_open(&s, &packed, 1, &request, &error), STATUS_OK);
        assert_int_equal(device_stream_mttkrp(&s, n, &f, NULL, &error), STATUS_INPUT);
        char expected[32];
        snprintf(expected, sizeof expected, "length of mode %d", n + 1);
        assert_non_null(strstr(error.message, expected));
        device_stream_close(&s);
    }
    free_factors(&f);
    free_case(&q);
}

/* Each allocation fails in turn: an error and nothing left; or the stream goes on with fewer
 * bytes on the device, or with host memory that is not pinned. */
static void test_failing_allocations(void **state)
{
    (void)state;
    static const struct tensor_case shape = {3, {50, 310, 4000}, 30000, 8, 1};
    struct mttkrp_case q;
    struct device_factors f;
    struct streaming t;
    int failures = 0, survived = 0, pageable = 0;
    make_case(&q, &shape, PRECISION_DOUBLE);
    make_factors(&f, &q.k, PRECISION_DOUBLE);
    set_conflicts(&t, 3, 4);
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct packed_tensor packed[MAX_ORDER + 1];
        struct device_stream s;
        int count = pack(packed, &q.x, t.conflict, 100);
        memory_hook_set(k);
        const struct device_stream_request request = {t.conflict, t.sorted, 1000, 1 << 19,
                                                      PRECISION_DOUBLE};
        enum status status = device_stream_open(&s, packed, count, &request, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_null(packed[0].bytes);
        if (status == STATUS_OK) {
            for (int i = 0; i < s.orderings; i++)
                pageable += !s.ordering[i].pinned;
            check_modes(&s, &q, &f);
            survived += fired != 0;
            device_stream_close(&s);
        } else {
            assert_int_equal(status, STATUS_MEMORY);
            assert_true(fired);
            assert_int_equal(s.orderings, 0);
            failures++;
        }
    }
    assert_true(failures > 10 && survived >= 4 && pageable >= 2);
    free_factors(&f);
    free_case(&q);
}

/* Coordinates that do not fit into two words. */
static void test_line_too_long(void **state)
{
    (void)state;
    static const uint64_t dims[] = {1 << 25, 1 << 25, 1 << 25, 1 << 25, 1 << 25};
    static const bool sorted[5];
    enum conflict conflict[5];
    struct error error = {0};
    struct packed_tensor packed;
    struct device_stream s;
    struct coo x;
    for (int n = 0; n < 5; n++)
        conflict[n] = CONFLICT_REGISTER;
    naive_random_coo(&x, SHAPE(5, dims), 100, 1, 0);
    assert_int_equal(pack(&packed, &x, conflict, 0), 1);
    const struct device_stream_request request = {conflict, sorted, 100, 0, PRECISION_DOUBLE};
    assert_int_equal(device_stream_open(&s, &packed, 1, &request, &error), STATUS_MEMORY);
    assert_null(packed.bytes);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),        cmocka_unit_test(test_batches_in_single_precision),
        cmocka_unit_test(test_residents),      cmocka_unit_test(test_memory),
        cmocka_unit_test(test_damaged_stream), cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_line_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
