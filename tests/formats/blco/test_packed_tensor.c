/* Packed tensors: built along every ordering or loaded from a file, they have the nonzeros of
 * the tensor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <isa-l/crc64.h>

#include "formats/blco/packed_tensor.h"
#include "formats/blco/segment_pack.h"
#include "support/blco_files.h"
#include "support/scratch.h"

/* Values of one form (kind 0 to 4), or of a mixture. */
static void set_values(struct coo *x, int kind, uint64_t *seed)
{
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t r = naive_random(seed);
        const double value[] = {2.5, (double)(r % 255 + 1), (double)(r % 65535 + 1),
                                (double)((float)(r % 1000 + 1) / 7), (double)(r % 100000 + 1) / 7};
        x->value[i] = value[kind < 5 ? kind : (int)(r >> 60) % 5];
    }
}

/* The nonzeros of all segments, in their order; the segments follow each other. */
static void unpack_all(const struct packed_tensor *p, struct coo *x)
{
    struct error error = {0};
    struct linear_decoder d;
    struct ordering o;
    uint64_t at = 0, done = 0;
    ordering_create(&o, p->kind, &p->shape, 64);
    assert_int_equal(linear_decoder_create(&d, &o, &error), STATUS_OK);
    assert_int_equal((uintptr_t)p->bytes % BLCO_PAGE, 0);
    assert_int_equal(coo_create(x, &p->shape, p->nnz, &error), STATUS_OK);
    for (uint64_t s = 0; s < p->nsegments; s++) {
        const struct blco_file_segment *segment = &p->segment[s];
        const uint8_t *bytes = p->bytes + segment->offset;
        uint64_t count = packed_tensor_nnz(p, s, s + 1);
        assert_true(count > 0 && count <= p->segment_nnz);
        assert_int_equal(segment->offset, at);
        assert_int_equal(segment->bytes % BLCO_SEGMENT_ALIGN, 0);
        assert_int_equal(segment->crc, crc64_ecma_refl(0, bytes, segment->bytes));
        assert_true(segment_is_sound(bytes, segment, o.line_bits, (uint32_t)count));
        assert_false(segment_is_sound(bytes, segment, o.line_bits, (uint32_t)count + 1));
        assert_false(segment_is_sound(bytes, segment, o.line_bits, (uint32_t)count - 1));
        assert_true(segment_unpack(&d, bytes, segment, x, done, (uint32_t)count));
        at += segment->bytes;
        done += count;
    }
    assert_int_equal(at, p->size);
    assert_int_equal(done, p->nnz);
    assert_int_equal(packed_tensor_nnz(p, 0, p->nsegments), p->nnz);
    assert_true(p->size <= packed_size_at_most(o.line_bits, p->nnz, p->segment_nnz));
    linear_decoder_free(&d);
}

static void check_norm(const struct packed_tensor *p, const struct coo *x)
{
    double expected = coo_norm_sq(x), got = packed_tensor_norm_sq(p);
    assert_true(got >= expected * (1 - 1e-14) && got <= expected * (1 + 1e-14));
}

static void check_build(const struct coo *x, int kind, uint64_t segment_nnz)
{
    struct packed_tensor p;
    struct coo got;
    struct error error = {0};
    assert_int_equal(packed_tensor_build(&p, x, kind, segment_nnz, NULL, &error), STATUS_OK);
    assert_int_equal(p.kind, kind);
    assert_int_equal(p.segment_nnz, segment_nnz ? segment_nnz : BLCO_SEGMENT_NNZ);
    unpack_all(&p, &got);
    assert_sorted_along(&got, x, kind);
    check_norm(&p, x);
    coo_free(&got);
    packed_tensor_free(&p);
    packed_tensor_free(&p);
}

static const struct tensor_case {
    int order;
    uint64_t dims[MAX_ORDER];
    uint64_t nnz;
} shapes[] = {
    {1, {1}, 1},
    {1, {1000000}, 500},
    {2, {MAX_LENGTH, MAX_LENGTH}, 300},
    {3, {1, 7, 1}, 5},
    {3, {40, 50, 60}, 70000},
    {3, {MAX_LENGTH, MAX_LENGTH, 2}, 700}, /* 65 bits  */
    {4, {183, 24, 1140, 1717}, 3000},
    {5, {MAX_LENGTH, 1, MAX_LENGTH, 300, MAX_LENGTH}, 300},        /* 105 bits */
    {4, {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH}, 300},    /* 128 bits */
    {5, {MAX_LENGTH, MAX_LENGTH, 2, MAX_LENGTH, MAX_LENGTH}, 600}, /* 129 bits */
    {6, {60, 2, 1, 3, 900, 9}, 2000},
    {7, {5, 5, 5, 5, 5, 5, 5}, 1000},
    {8, {MAX_LENGTH, 2, 3, MAX_LENGTH, 5, MAX_LENGTH, MAX_LENGTH, 8}, 200},
    {9, {90, 90, 90, 90, 90, 90, 90, 90, 90}, 3000}, /* 63 bits in modes of 7 */
    {16,
     {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH,
      MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH,
      MAX_LENGTH, MAX_LENGTH},
     200},
    {16, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 9000},
};

static void test_every_ordering(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {1, 7, 0};
    uint64_t seed = 1;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct coo x;
        naive_random_coo(&x, SHAPE(shapes[s].order, shapes[s].dims), shapes[s].nnz, seed,
                         (int)s % 2);
        for (uint64_t i = 3; s % 2 == 1 && i < x.nnz; i += 17)
            x.value[i] = COO_UNKNOWN;
        for (int kind = ORDERING_ALTO; kind < x.shape.order; kind++)
            for (int i = x.nnz > 4000 ? 2 : 0; i < 3; i++) {
                set_values(&x, (int)(naive_random(&seed) % 6), &seed);
                check_build(&x, kind, lengths[i]);
            }
        coo_free(&x);
    }
}

static void test_same_whatever_the_threads(void **state)
{
    (void)state;
    static const uint64_t dims[] = {3000, 700, 900};
    struct coo x;
    struct packed_tensor one, more;
    struct error error = {0};
    uint64_t seed = 1;
    int before = omp_get_max_threads();
    naive_random_coo(&x, SHAPE(3, dims), 2 * BLCO_SEGMENT_NNZ + 5000, 1, 0);
    set_values(&x, 4, &seed);
    omp_set_num_threads(1);
    assert_int_equal(packed_tensor_build(&one, &x, 1, 1000, NULL, &error), STATUS_OK);
    double norm = packed_tensor_norm_sq(&one);
    for (int threads = 2; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        assert_int_equal(packed_tensor_build(&more, &x, 1, 1000, NULL, &error), STATUS_OK);
        assert_int_equal(more.size, one.size);
        assert_memory_equal(more.bytes, one.bytes, one.size);
        double other = packed_tensor_norm_sq(&more);
        assert_memory_equal(&other, &norm, sizeof norm);
        packed_tensor_free(&more);
    }
    omp_set_num_threads(before);
    packed_tensor_free(&one);
    coo_free(&x);
}

static void test_no_nonzeros(void **state)
{
    (void)state;
    struct coo x;
    struct packed_tensor p;
    struct error error = {0};
    assert_int_equal(coo_create(&x, &(struct shape){2, {3, 4}}, 0, &error), STATUS_OK);
    assert_int_equal(packed_tensor_build(&p, &x, 0, 0, NULL, &error), STATUS_OK);
    assert_int_equal(p.nsegments, 0);
    assert_true(packed_tensor_norm_sq(&p) == 0);
    packed_tensor_free(&p);
    coo_free(&x);
}

/* A file's segments are those that packing in alto order gives. */
static void test_load(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct coo x;
        struct external_sort_report report;
        struct error error = {0};
        struct blco_file f;
        struct packed_tensor loaded, built;
        naive_random_coo(&x, SHAPE(shapes[s].order, shapes[s].dims), shapes[s].nnz, seed, 0);
        set_values(&x, 5, &seed);
        assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
        assert_int_equal(blco_file_open(&f, scratch_path("x.blco"), &error), STATUS_OK);
        assert_int_equal(packed_tensor_load(&loaded, &f, NULL, &error), STATUS_OK);
        blco_file_close(&f);
        assert_int_equal(packed_tensor_build(&built, &x, ORDERING_ALTO, 0, NULL, &error),
                         STATUS_OK);
        assert_int_equal(loaded.kind, ORDERING_ALTO);
        assert_int_equal(loaded.shape.order, built.shape.order);
        assert_int_equal(loaded.nnz, built.nnz);
        assert_int_equal(loaded.segment_nnz, built.segment_nnz);
        assert_int_equal(loaded.nsegments, built.nsegments);
        assert_int_equal(loaded.size, built.size);
        assert_memory_equal(loaded.shape.dims, built.shape.dims, sizeof built.shape.dims);
        assert_memory_equal(loaded.segment, built.segment, built.nsegments * sizeof *built.segment);
        assert_memory_equal(loaded.bytes, built.bytes, built.size);
        packed_tensor_free(&loaded);
        packed_tensor_free(&built);
        coo_free(&x);
    }
}

/* A file with byte `at` of its data changed, and a checksum that fits where it is
 * signed. */
static enum status load_damaged(const char *good, size_t size, size_t at, int sign,
                                struct error *error)
{
    struct blco_file f;
    struct packed_tensor p;
    char *bytes = malloc(size);
    assert_non_null(bytes);
    memcpy(bytes, good, size);
    struct blco_file_header *h = (struct blco_file_header *)(void *)bytes;
    struct blco_file_segment *s = (void *)(bytes + h->directory_offset);
    bytes[s->offset + at] = (char)(bytes[s->offset + at] ^ 0x40);
    if (sign) {
        uint64_t behind = h->data_offset + h->data_bytes;
        s->crc = crc64_ecma_refl(0, (uint8_t *)bytes + s->offset, s->bytes);
        h->directory_crc = crc64_ecma_refl(0, (uint8_t *)bytes + behind, size - behind);
        h->header_crc = 0;
        h->header_crc = crc64_ecma_refl(0, (uint8_t *)bytes, BLCO_PAGE);
    }
    const char *path = scratch_file("bad.blco", bytes, size);
    assert_int_equal(blco_file_open(&f, path, error), STATUS_OK);
    enum status status = packed_tensor_load(&p, &f, NULL, error);
    if (status != STATUS_OK)
        assert_true(p.bytes == NULL && p.segment == NULL);
    packed_tensor_free(&p);
    blco_file_close(&f);
    free(bytes);
    return status;
}

static void test_damaged_file(void **state)
{
    (void)state;
    static const uint64_t dims[] = {MAX_LENGTH, 9, 70000};
    struct coo x;
    struct external_sort_report report;
    struct error error = {0};
    naive_random_coo(&x, SHAPE(3, dims), 40, 1, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    coo_free(&x);
    size_t size, table = blco_group_stride(ordering_line_bits(SHAPE(3, dims)));
    char *good = file_bytes(scratch_path("x.blco"), &size);
    for (size_t at = 0; at < table + 200; at++) {
        error = (struct error){0};
        assert_int_equal(load_damaged(good, size, at, 0, &error), STATUS_INPUT);
        assert_non_null(strstr(error.message, "bad.blco: damaged: nonzeros from number 1 on"));
    }
    /* In the first group's entry: all but `least`, and of the line the lowest and highest bits. */
    for (size_t at = 0; at < sizeof(struct packed_group) + sizeof(uint64_t); at++) {
        bool least = at >= 16 && at<24, line = at> 24 && at < 31;
        error = (struct error){0};
        if (!least && !line)
            assert_int_equal(load_damaged(good, size, at, 1, &error), STATUS_INPUT);
    }
    free(good);
}

static void test_allocation_fails(void **state)
{
    (void)state;
    struct coo x;
    struct blco_file f;
    struct external_sort_report report;
    struct error error = {0};
    naive_random_coo(&x, &(struct shape){3, {50, 60, 70}}, 500, 1, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    assert_int_equal(blco_file_open(&f, scratch_path("x.blco"), &error), STATUS_OK);
    for (int from_file = 0; from_file < 2; from_file++) {
        int failures = 0;
        for (long i = 0, fired = 1; fired; i++) {
            struct packed_tensor p;
            error = (struct error){0};
            memory_hook_set(i);
            enum status status = from_file ? packed_tensor_load(&p, &f, NULL, &error)
                                           : packed_tensor_build(&p, &x, 2, 16, NULL, &error);
            fired = memory_hook_fired();
            memory_hook_set(-1);
            assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
            if (fired)
                assert_true(p.bytes == NULL && p.segment == NULL);
            packed_tensor_free(&p);
            failures += (int)fired;
        }
        assert_true(failures >= (from_file ? 2 : 8));
    }
    blco_file_close(&f);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_ordering),
        cmocka_unit_test(test_same_whatever_the_threads),
        cmocka_unit_test(test_no_nonzeros),
        cmocka_unit_test_setup_teardown(test_load, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_damaged_file, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_allocation_fails, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
