/* Decoding a .blco file piece by piece gives what decoding it at once gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include <cmocka.h>

#include "formats/blco/blco_pieces.h"
#include "support/blco_files.h"
#include "support/scratch.h"

static const uint64_t dims[3] = {300, 5000, 70000};

/* Puts pieces together again. */
struct joined {
    struct coo x;
    uint64_t pieces, most; /* nonzeros of one */
    uint64_t stop;         /* after so many pieces; 0: never */
};

static enum status join(void *context, struct coo *piece, struct error *error)
{
    struct joined *j = context;
    uint64_t at = j->x.nnz;
    assert_int_equal(coo_resize(&j->x, at + piece->nnz, error), STATUS_OK);
    for (int n = 0; n < piece->shape.order; n++)
        memcpy(j->x.index[n] + at, piece->index[n], piece->nnz * sizeof *piece->index[n]);
    memcpy(j->x.value + at, piece->value, piece->nnz * sizeof *piece->value);
    j->most = piece->nnz > j->most ? piece->nnz : j->most;
    if (++j->pieces == j->stop)
        return error_set(error, STATUS_OUTPUT, "enough");
    return STATUS_OK;
}

static enum status join_file(struct joined *j, const char *path, uint64_t length,
                             struct error *error)
{
    struct blco_file f;
    *error = (struct error){0};
    assert_int_equal(coo_create(&j->x, SHAPE(3, dims), 0, error), STATUS_OK);
    assert_int_equal(blco_file_open(&f, path, error), STATUS_OK);
    const struct blco_pieces pieces = {&f, 0, f.header->nsegments, length};
    blco_pieces_each(&pieces, join, j, error);
    blco_file_close(&f);
    return error->status;
}

/* A tensor, and the file of it. */
static const char *random_file(struct coo *x, uint64_t nnz)
{
    struct error error = {0};
    struct external_sort_report report;
    const char *path = scratch_path("x.blco");
    naive_random_coo(x, SHAPE(3, dims), nnz, 5, 0);
    assert_int_equal(write_blco(x, path, &report, &error), STATUS_OK);
    return path;
}

static void test_any_number_of_segments(void **state)
{
    (void)state;
    struct error error = {0};
    struct coo x;
    const char *path = random_file(&x, 3 * BLCO_SEGMENT_NNZ + 100);
    for (uint64_t length = 1; length <= 5; length++) {
        struct joined j = {0};
        assert_int_equal(join_file(&j, path, length, &error), STATUS_OK);
        assert_int_equal(j.pieces, (4 + length - 1) / length);
        assert_true(j.most <= length * BLCO_SEGMENT_NNZ);
        assert_sorted_as(&j.x, &x);
        coo_free(&j.x);
    }
    struct joined j = {.stop = 2};
    assert_int_equal(join_file(&j, path, 1, &error), STATUS_OUTPUT);
    assert_int_equal(j.pieces, 2);
    coo_free(&j.x);
    coo_free(&x);
}

static void test_no_nonzeros_are_one_piece(void **state)
{
    (void)state;
    struct error error = {0};
    struct coo x;
    struct joined j = {0};
    const char *path = random_file(&x, 0);
    assert_int_equal(join_file(&j, path, 7, &error), STATUS_OK);
    assert_int_equal(j.pieces, 1);
    assert_int_equal(j.x.nnz, 0);
    coo_free(&j.x);
    coo_free(&x);
}

/* What stands before the damage has already been passed on. */
static void test_damage_ends_it(void **state)
{
    (void)state;
    struct error error = {0};
    struct coo x;
    struct joined j = {0};
    size_t size;
    const char *path = random_file(&x, 3 * BLCO_SEGMENT_NNZ);
    char *bytes = file_bytes(path, &size);
    bytes[size / 2] ^= 1;
    path = scratch_file("y.blco", bytes, size);
    free(bytes);
    assert_int_equal(join_file(&j, path, 1, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "number 65537 on is wrong"));
    assert_int_equal(j.pieces, 1);
    coo_free(&j.x);
    coo_free(&x);
}

static void test_how_many_segments_fit(void **state)
{
    (void)state;
    struct error error = {0};
    struct coo x;
    struct blco_file f;
    uint64_t segment = BLCO_SEGMENT_NNZ * UINT64_C(20);
    const char *path = random_file(&x, 6 * BLCO_SEGMENT_NNZ - 500);
    assert_int_equal(blco_file_open(&f, path, &error), STATUS_OK);
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    assert_int_equal(blco_pieces_of(&f, 0).length, 1);
    assert_int_equal(blco_pieces_of(&f, 2 * segment - 1).length, 1);
    assert_int_equal(blco_pieces_of(&f, 2 * segment).length, 2);
    assert_int_equal(blco_pieces_of(&f, 100 * segment).length, 4); /* enough for a thread */
    omp_set_num_threads(2);
    assert_int_equal(blco_pieces_of(&f, 100 * segment).length, 6); /* all */
    omp_set_num_threads(threads);
    blco_file_close(&f);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_any_number_of_segments, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_no_nonzeros_are_one_piece, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_damage_ends_it, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_how_many_segments_fit, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
