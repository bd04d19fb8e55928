/* MTTKRP of streamed orderings against the oracle, with batches of any size, and with any share of
 * the tensor on the device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cuda/stream/device_stream.h"
#include "formats/blco/packed_tensor.h"
#include "support/gpu_arrays.h"
#include "support/problem.h"

#define COPIES 5

struct tensor_case {
    int order;
    uint64_t dims[MAX_ORDER];
    uint64_t nnz, rank;
    int skewed;
};

static void make_problem(struct problem *q, const struct tensor_case *s, enum precision precision)
{
    struct error error = {0};
    naive_random_coo(&q->x, SHAPE(s->order, s->dims), s->nnz, s->rank, s->skewed);
    assert_int_equal(ktensor_create(&q->k, SHAPE(s->order, s->dims), s->rank, &error), STATUS_OK);
    ktensor_randomise(&q->k, precision == PRECISION_SINGLE ? KTENSOR_RANDOM : KTENSOR_NORMAL, 7);
    if (precision == PRECISION_SINGLE)
        make_positive(&q->x);
    expect_products(q);
}

/* Factors on the device, rows padded with zeros, and an M full of NaN. */
static void make_factors(struct device_factors *f, const struct ktensor *k,
                         enum precision precision)
{
    uint64_t entries = VECTOR_BYTES / precision_bytes(precision), longest = 0;
    *f = (struct device_factors){
        .shape.order = k->shape.order, .precision = precision, .copies = COPIES};
    f->vectors = (uint32_t)((k->rank + entries - 1) / entries);
    for (int n = 0; n < k->shape.order; n++) {
        uint64_t ld = f->vectors * entries;
        double *wide = calloc(k->shape.dims[n] * ld, sizeof *wide);
        assert_non_null(wide);
        float *narrow = (float *)wide;
        for (uint64_t i = 0; i < k->shape.dims[n]; i++)
            for (uint64_t r = 0; r < ld; r++) {
                double entry = r < k->rank ? k->factor[n][i * k->rank + r] : 0;
                if (precision == PRECISION_SINGLE)
                    narrow[i * ld + r] = (float)entry;
                else
                    wide[i * ld + r] = entry;
            }
        f->shape.dims[n] = k->shape.dims[n];
        f->factor[n] = uploaded(wide, k->shape.dims[n] * f->vectors * 16);
        longest = f->shape.dims[n] > longest ? f->shape.dims[n] : longest;
        free(wide);
    }
    f->m = uploaded(NULL, COPIES * longest * f->vectors * 16);
}

static void free_factors(struct device_factors *f)
{
    for (int n = 0; n < f->shape.order; n++)
        cudaFree(f->factor[n]);
    cudaFree(f->m);
}

/* ||M - expected|| / ||expected|| */
static long double difference(const struct problem *q, const struct device_factors *f, int mode)
{
    uint64_t ld = f->vectors * (VECTOR_BYTES / precision_bytes(f->precision));
    void *m = downloaded(f->m, f->shape.dims[mode], f->vectors * 16);
    long double off = 0, norm = 0;
    for (uint64_t i = 0; i < f->shape.dims[mode]; i++)
        for (uint64_t r = 0; r < q->k.rank; r++) {
            long double expected = q->expected[mode][i * q->k.rank + r];
            long double got = (long double)entry(m, i * ld + r, f->precision);
            off += (got - expected) * (got - expected);
            norm += expected * expected;
        }
    free(m);
    return norm > 0 ? sqrtl(off / norm) : sqrtl(off);
}

/* Packs the orderings that these conflict resolutions need. */
static int pack(struct packed_tensor *packed, const struct coo *x, const enum conflict *conflict,
                uint64_t segment_nnz)
{
    struct error error = {0};
    bool alto = false;
    int count = 0;
    for (int n = 0; n < x->shape.order; n++) {
        alto |= conflict[n] != CONFLICT_ORDERED;
        if (conflict[n] == CONFLICT_ORDERED)
            assert_int_equal(packed_tensor_build(&packed[count++], x, n, segment_nnz, NULL, &error),
                             STATUS_OK);
    }
    if (alto)
        assert_int_equal(
            packed_tensor_build(&packed[count++], x, ORDERING_ALTO, segment_nnz, NULL, &error),
            STATUS_OK);
    return count;
}

struct streaming {
    enum conflict conflict[MAX_ORDER];
    bool sorted[MAX_ORDER];
    uint64_t segment_nnz, batch_nnz, bytes;
};

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

/* Modes as a sweep asks for them, one mode several times, and in any order. */
static void check_modes(struct device_stream *s, const struct problem *q,
                        const struct device_factors *f)
{
    struct error error = {0};
    uint64_t seed = 3;
    int order = s->order;
    for (int call = 0; call < 2 * order + 8; call++) {
        int mode = call < 2 * order       ? call % order
                   : call < 2 * order + 4 ? order / 2
                                          : (int)(naive_random(&seed) % (uint64_t)order);
        if (device_stream_mttkrp(s, mode, f, NULL, &error) != STATUS_OK)
            fail_msg("%s", error.message);
        good(cudaDeviceSynchronize());
        long double off = difference(q, f, mode);
        if (!(off <= (f->precision == PRECISION_SINGLE ? 1e-5L : 1e-12L)))
            fail_msg("call %d: order %d, rank %d, %s, mode %d: relative error %Lg", call, order,
                     (int)q->k.rank, conflict_name(s->conflict[mode]), mode + 1, off);
    }
}

static void check_stream(const struct problem *q, const struct device_factors *f,
                         const struct streaming *t)
{
    struct error error = {0};
    struct packed_tensor packed[MAX_ORDER + 1];
    struct device_stream s;
    int count = pack(packed, &q->x, t->conflict, t->segment_nnz);
    if (device_stream_open(&s, packed, count, t->conflict, t->sorted, t->batch_nnz, t->bytes,
                           f->precision, &error) != STATUS_OK)
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

static const enum conflict resolutions[] = {CONFLICT_ORDERED, CONFLICT_HIERARCHICAL,
                                            CONFLICT_REGISTER, CONFLICT_ATOMIC};

#define WAYS 8

/* Conflict resolutions: the same for all modes, or another for each mode, some with sorted batches;
 * in the last way all batches are sorted. */
static void set_conflicts(struct streaming *t, int order, int which)
{
    for (int n = 0; n < order; n++) {
        t->conflict[n] = which == WAYS - 1 ? CONFLICT_REGISTER
                                           : resolutions[which < 4 ? which : (n + which) % 3];
        t->sorted[n] = t->conflict[n] == CONFLICT_REGISTER && which >= 4;
    }
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
        struct problem q;
        struct device_factors f;
        make_problem(&q, &shapes[i], precision);
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
        free_problem(&q);
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
    struct problem q;
    struct device_factors f;
    make_problem(&q, &shape, PRECISION_DOUBLE);
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
    free_problem(&q);
}

/* Collects what the batches of a pass are decoded to, and which batches they were. */
struct seen {
    uint64_t *word; /* (nnz) the first word of each nonzero; device, owned */
    uint64_t nnz, batch_nnz;
    uint64_t batches, number[1000];
};

static cudaError_t see(void *context, const struct device_packed_tensor *o, uint64_t b,
                       const struct device_stream_workspace *workspace)
{
    struct seen *seen = context;
    assert_true(seen->batches < sizeof seen->number / sizeof *seen->number);
    seen->number[seen->batches++] = b;
    cudaError_t code = device_stream_workspace_ready(workspace);
    if (code != cudaSuccess)
        return code;
    return cudaMemcpyAsync(seen->word + b * seen->batch_nnz, workspace->index[0],
                           device_packed_tensor_nnz(o, b) * sizeof *seen->word,
                           cudaMemcpyDeviceToDevice, workspace->product);
}

/* The words of all nonzeros: ~0 where none was seen. */
static uint64_t *words_of_pass(struct device_stream *s, const uint64_t *batch, uint64_t batches,
                               int following, struct seen *seen)
{
    const struct device_stream_pass pass = {.batch = batch,
                                            .batches = batches,
                                            .following = following,
                                            .consume = see,
                                            .context = seen};
    seen->batches = 0;
    good(cudaMemset(seen->word, 0xff, seen->nnz * sizeof *seen->word));
    good(cudaDeviceSynchronize());
    good(device_stream_pass(s, &pass, NULL));
    good(cudaDeviceSynchronize());
    return downloaded(seen->word, seen->nnz, sizeof *seen->word);
}

/* A pass over a list of batches takes each of them once and no other, and only those that flow are
 * sent. */
static void check_list(struct device_stream *s, const uint64_t *list, uint64_t count,
                       const uint64_t *expected, struct seen *seen)
{
    const struct device_packed_tensor *o = &s->ordering[0];
    uint64_t flowing = 0, sent = s->filled;
    uint64_t *got = words_of_pass(s, list, count, DEVICE_STREAM_NOTHING, seen);
    bool *taken = calloc(o->nbatches, sizeof *taken);
    assert_non_null(taken);
    for (uint64_t i = 0; i < count; i++) {
        flowing += list[i] >= o->nresident;
        taken[list[i]] = true;
    }
    assert_int_equal(s->filled - sent, flowing);
    assert_int_equal(seen->batches, count);
    for (uint64_t i = 0; i < seen->nnz; i++)
        assert_true(got[i] == (taken[i / seen->batch_nnz] ? expected[i] : UINT64_MAX));
    free(taken);
    free(got);
}

/* Lists of batches: none, one, the first, the last, all, and random ones. */
static uint64_t choose_list(int which, uint64_t batches, uint64_t *seed, uint64_t *list)
{
    uint64_t count = 0, part = naive_random(seed) % 8;
    if (which == 0)
        return 0;
    if (which < 4) {
        list[0] = which == 1 ? 0 : which == 2 ? batches - 1 : naive_random(seed) % batches;
        return 1;
    }
    for (uint64_t b = 0; b < batches; b++)
        if (which == 4 || naive_random(seed) % 8 <= part)
            list[count++] = b;
    return count;
}

/* Passes over lists between passes over all batches, which fill slots ahead for a pass that may not
 * follow, and between MTTKRPs; from nothing on the device to everything. */
static void test_lists(void **state)
{
    (void)state;
    static const struct tensor_case shape = {3, {50, 310, 4000}, 30000, 8, 1};
    struct problem q;
    struct device_factors f;
    uint64_t seed = 1, list[1000];
    int mixed = 0;
    make_problem(&q, &shape, PRECISION_DOUBLE);
    make_factors(&f, &q.k, PRECISION_DOUBLE);
    for (uint64_t bytes = 1 << 14; bytes <= 1 << 22; bytes += bytes / 2) {
        struct error error = {0};
        struct streaming t = {.segment_nnz = 100, .batch_nnz = 700, .bytes = bytes};
        struct packed_tensor packed[MAX_ORDER + 1];
        struct device_stream s;
        set_conflicts(&t, 3, 4);
        t.conflict[0] = t.conflict[1] = t.conflict[2] = CONFLICT_REGISTER;
        assert_int_equal(pack(packed, &q.x, t.conflict, t.segment_nnz), 1);
        assert_int_equal(device_stream_open(&s, packed, 1, t.conflict, t.sorted, t.batch_nnz,
                                            t.bytes, PRECISION_DOUBLE, &error),
                         STATUS_OK);
        const struct device_packed_tensor *o = &s.ordering[0];
        struct seen seen = {.nnz = q.x.nnz, .batch_nnz = device_packed_tensor_nnz(o, 0)};
        seen.word = uploaded(NULL, seen.nnz * sizeof *seen.word);
        mixed += o->nresident > 0 && o->nresident < o->nbatches;
        uint64_t *expected = words_of_pass(&s, NULL, 0, 0, &seen);
        for (uint64_t i = 0; i < seen.nnz; i++)
            assert_true(expected[i] != UINT64_MAX);
        for (int which = 0; which < 24; which++) {
            uint64_t count = choose_list(which % 8, o->nbatches, &seed, list);
            check_list(&s, list, count, expected, &seen);
            if (which % 3 == 0) {
                int following = which % 2 ? DEVICE_STREAM_NOTHING : 0;
                uint64_t *all = words_of_pass(&s, NULL, 0, following, &seen);
                assert_memory_equal(all, expected, seen.nnz * sizeof *all);
                free(all);
            }
        }
        check_modes(&s, &q, &f);
        check_list(&s, list, choose_list(5, o->nbatches, &seed, list), expected, &seen);
        free(expected);
        good(cudaFree(seen.word));
        device_stream_close(&s);
    }
    assert_true(mixed > 3);
    free_factors(&f);
    free_problem(&q);
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
    assert_int_equal(device_stream_open(&s, &packed, 1, conflict, sorted, 1 << 18, bytes,
                                        PRECISION_DOUBLE, &error),
                     STATUS_OK);
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
    struct problem q;
    struct device_factors f;
    make_problem(&q, &shape, PRECISION_DOUBLE);
    make_factors(&f, &q.k, PRECISION_DOUBLE);
    for (int n = 0; n < 3; n++) {
        struct error error = {0};
        struct packed_tensor packed;
        struct device_stream s;
        assert_int_equal(pack(&packed, &q.x, conflict, 100), 1);
        packed.shape.dims[n] -= packed.shape.dims[n] /
                                8; /* the same number of bits, and coordinates beyond the length */
        assert_int_equal(
            device_stream_open(&s, &packed, 1, conflict, sorted, 1000, 0, PRECISION_DOUBLE, &error),
            STATUS_OK);
        assert_int_equal(device_stream_mttkrp(&s, n, &f, NULL, &error), STATUS_INPUT);
        char expected[32];
        snprintf(expected, sizeof expected, "length of mode %d", n + 1);
        assert_non_null(strstr(error.message, expected));
        device_stream_close(&s);
    }
    free_factors(&f);
    free_problem(&q);
}

/* Whichever allocation fails: an error and nothing left behind; or the stream goes on with fewer
 * bytes on the device, or with host memory that is not pinned. */
static void test_failing_allocations(void **state)
{
    (void)state;
    static const struct tensor_case shape = {3, {50, 310, 4000}, 30000, 8, 1};
    struct problem q;
    struct device_factors f;
    struct streaming t;
    int failures = 0, survived = 0, pageable = 0;
    make_problem(&q, &shape, PRECISION_DOUBLE);
    make_factors(&f, &q.k, PRECISION_DOUBLE);
    set_conflicts(&t, 3, 4);
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct packed_tensor packed[MAX_ORDER + 1];
        struct device_stream s;
        int count = pack(packed, &q.x, t.conflict, 100);
        memory_hook_set(k);
        enum status status = device_stream_open(&s, packed, count, t.conflict, t.sorted, 1000,
                                                1 << 19, PRECISION_DOUBLE, &error);
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
    free_problem(&q);
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
    assert_int_equal(
        device_stream_open(&s, &packed, 1, conflict, sorted, 100, 0, PRECISION_DOUBLE, &error),
        STATUS_MEMORY);
    assert_null(packed.bytes);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_batches_in_single_precision),
        cmocka_unit_test(test_residents),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_damaged_stream),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_line_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
