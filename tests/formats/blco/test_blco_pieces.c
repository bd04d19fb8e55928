/* Decoding a .blco file piece by piece gives what decoding it at once gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <omp.h>
#include <string.h>

#include <cmocka.h>

#include "formats/blco/blco_pieces.h"
#include "support/blco_files.h"
#include "support/scratch.h"

static const uint64_t piece_dims[3] = {300, 5000, 70000};

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
    struct tensor_reader r = {.format = &tensor_blco,
                              .path = path,
                              .cut = TENSOR_PIECES,
                              .memory = length * BLCO_SEGMENT_NNZ * 20};
    *error = (struct error){0};
    assert_int_equal(coo_create(&j->x, SHAPE(3, piece_dims), 0, error), STATUS_OK);
    return tensor_reader_each(&r, join, j, error);
}

/* A tensor, and the file of it. */
static const char *random_file(struct coo *x, uint64_t nnz)
{
    struct error error = {0};
    struct external_sort_report report;
    const char *path = scratch_path("x.blco");
    naive_random_coo(x, SHAPE(3, piece_dims), nnz, 5, 0);
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
    assert_int_equal(blco_pieces_nnz(&f, 0), BLCO_SEGMENT_NNZ);
    assert_int_equal(blco_pieces_nnz(&f, 2 * segment - 1), BLCO_SEGMENT_NNZ);
    assert_int_equal(blco_pieces_nnz(&f, 2 * segment), 2 * BLCO_SEGMENT_NNZ);
    assert_int_equal(blco_pieces_nnz(&f, 100 * segment), 4 * BLCO_SEGMENT_NNZ); /* enough */
    omp_set_num_threads(2);
    assert_int_equal(blco_pieces_nnz(&f, 100 * segment), f.header->nnz); /* all */
    omp_set_num_threads(threads);
    blco_file_close(&f);
    coo_free(&x);
}

/* --- Every k-th group of a .blco file, against the file's nonzeros. --- */

static void open_file(struct blco_file *f, struct coo *all, const struct shape *shape, uint64_t nnz)
{
    struct coo x;
    struct error error;
    struct external_sort_report report;
    naive_random_coo(&x, shape, nnz, 3, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    assert_int_equal(blco_file_open(f, scratch_path("x.blco"), &error), STATUS_OK);
    assert_int_equal(blco_file_read(f, all, NULL, &error), STATUS_OK);
    coo_free(&x);
}

static bool is_nonzero(const struct coo *x, uint64_t i, const struct coo *all, uint64_t j)
{
    bool same = x->value[i] == all->value[j];
    for (int n = 0; n < x->shape.order; n++)
        same = same && x->index[n][i] == all->index[n][j];
    return same;
}

/* The nonzeros of every `every`-th group of segments [begin, end), where each group is full. */
static void check_sample(const struct blco_file *f, const struct coo *all, uint64_t begin,
                         uint64_t end, uint64_t every)
{
    struct error error = {0};
    struct coo x;
    uint64_t taken = 0, last = blco_file_nnz(f, 0, end);
    assert_int_equal(blco_sample(&x, f, begin, end, every, &error), STATUS_OK);
    for (uint64_t j = blco_file_nnz(f, 0, begin); j < last; j++)
        if (j / PACKED_GROUP_NNZ % every == 0) {
            assert_true(taken < x.nnz);
            assert_true(is_nonzero(&x, taken++, all, j));
        }
    assert_int_equal(taken, x.nnz);
    coo_free(&x);
}

static void test_samples(void **state)
{
    (void)state;
    static const uint64_t every[] = {1, 2, 3, 7, 255, 256, 300, 10000};
    struct error error = {0};
    struct blco_file f;
    struct coo all;
    open_file(&f, &all, &(struct shape){3, {900, 3000, 700}}, 300000);
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        check_sample(&f, &all, 0, f.header->nsegments, every[i]);
        check_sample(&f, &all, 1, 3, every[i]);
        check_sample(&f, &all, 2, 2, every[i]);
    }
    assert_true(f.header->nsegments == 5);
    (void)error;
    blco_file_close(&f);
    coo_free(&all);
}

/* Lines of more bits than a group may differ in: groups end early, and no gaps follow them. */
static void test_short_groups(void **state)
{
    (void)state;
    const uint64_t dims[] = {4000000000, 4000000000, 4000000000, 4000000000, 4000000000};
    struct error error = {0};
    struct blco_file f;
    struct coo all, x;
    open_file(&f, &all, SHAPE(5, dims), 5000);
    assert_int_equal(blco_sample(&x, &f, 0, f.header->nsegments, 1, &error), STATUS_OK);
    assert_int_equal(x.nnz, all.nnz);
    for (uint64_t i = 0; i < x.nnz; i++)
        assert_true(is_nonzero(&x, i, &all, i));
    coo_free(&x);
    coo_free(&all);
    blco_file_close(&f);
}

/* Whatever byte of the groups is wrong: a refusal, or nonzeros within the lengths. */
static void test_damaged(void **state)
{
    (void)state;
    struct error error;
    struct blco_file f;
    struct coo all;
    size_t size;
    int refused = 0;
    open_file(&f, &all, &(struct shape){3, {90, 300, 70}}, 3000);
    uint64_t first = f.segment[0].offset, entry = blco_group_stride(ordering_line_bits(&f.shape));
    blco_file_close(&f);
    char *bytes = file_bytes(scratch_path("x.blco"), &size);
    for (uint64_t at = 0; at < 4 * entry; at++) {
        struct coo x;
        bytes[first + at] ^= (char)(1 << at % 8);
        error = (struct error){0};
        assert_int_equal(blco_file_open(&f, scratch_file("bad.blco", bytes, size), &error),
                         STATUS_OK);
        enum status status = blco_sample(&x, &f, 0, f.header->nsegments, 1, &error);
        assert_true(status == STATUS_OK || status == STATUS_INPUT);
        for (uint64_t i = 0; i < x.nnz; i++)
            for (int n = 0; n < x.shape.order; n++)
                assert_true(x.index[n][i] < x.shape.dims[n]);
        refused += status == STATUS_INPUT && strstr(error.message, "damaged") != NULL;
        coo_free(&x);
        blco_file_close(&f);
        bytes[first + at] ^= (char)(1 << at % 8);
    }
    assert_true(refused > 50);
    free(bytes);
    coo_free(&all);
}

/* --- Copying .blco files: the same bytes for any segments; nonzeros out of order are refused. ---
 */

static enum status copy(const char *from, const char *to, uint64_t memory, struct error *error)
{
    struct blco_file f;
    uint64_t bytes;
    *error = (struct error){0};
    TRY(blco_file_open(&f, from, error));
    blco_copy(&f, &(struct blco_copying){.path = to, .memory = memory}, &bytes, error);
    blco_file_close(&f);
    return error->status;
}

static void test_the_same_bytes(void **state)
{
    (void)state;
    static const uint64_t few[] = {300, 5000, 70000}, many[] = {1 << 20, 1 << 22, 1 << 30, 9, 500};
    static const uint64_t lengths[] = {0, 1, BLCO_SEGMENT_NNZ, 3 * BLCO_SEGMENT_NNZ + 100};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (int order = 3; order <= 5; order += 2)
            for (uint64_t memory = 1; memory < UINT64_C(1) << 40; memory *= 1 << 20) {
                struct error error = {0};
                struct coo x;
                struct external_sort_report report;
                size_t size, copied;
                naive_random_coo(&x, SHAPE(order, order == 3 ? few : many), lengths[l], 5, 0);
                assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error),
                                 STATUS_OK);
                assert_int_equal(
                    copy(scratch_path("x.blco"), scratch_path("y.blco"), memory, &error),
                    STATUS_OK);
                char *original = file_bytes(scratch_path("x.blco"), &size),
                     *again = file_bytes(scratch_path("y.blco"), &copied);
                assert_int_equal(size, copied);
                assert_memory_equal(original, again, size);
                free(original);
                free(again);
                coo_free(&x);
            }
}

/* A file whose checksums are right, but nonzero `at` (from 0) has coordinate `first` in mode 1 and
 * that of a neighbour in mode 2. */
static const char *misplaced_file(uint64_t at, uint32_t first, int64_t shift)
{
    static const uint64_t dims[2] = {8, 1 << 20};
    struct error error = {0};
    struct coo x;
    struct blco_writer w;
    uint64_t nnz = 2 * BLCO_SEGMENT_NNZ + 10;
    const char *path = scratch_path("bad.blco");
    assert_int_equal(coo_create(&x, SHAPE(2, dims), nnz, &error), STATUS_OK);
    for (uint64_t i = 0; i < nnz; i++) {
        x.index[0][i] = i == at ? first : 4;
        x.index[1][i] = (uint32_t)(i == at ? i + (uint64_t)shift : i);
        x.value[i] = 1;
    }
    assert_int_equal(blco_writer_open(&w, path, SHAPE(2, dims), 1 << 20, &error), STATUS_OK);
    assert_int_equal(blco_writer_append(&w, &x, NULL, nnz, &error), STATUS_OK);
    assert_int_equal(blco_writer_commit(&w, NULL, &error), STATUS_OK);
    coo_free(&x);
    return path;
}

static void test_order_is_checked(void **state)
{
    (void)state;
    /* where a segment or a group begins, for within one there is no way to write it; out of order
     * (the next nonzero comes too early, or this one), and repeated */
    static const struct {
        uint64_t at;
        uint32_t first;
        int64_t shift;
        const char *message; /* NULL: it is all right */
    } cases[] = {{BLCO_SEGMENT_NNZ, 4, -1, "number 65537 is not in its place"},
                 {256, 4, -1, "number 257 is not in its place"},
                 {65792, 0, -1, "number 65793 is not in its place"},
                 {2 * BLCO_SEGMENT_NNZ, 0, -1, "number 131073 is not in its place"},
                 {2 * BLCO_SEGMENT_NNZ + 9, 5, 0, NULL},
                 {255, 6, 1, "number 257 is not in its place"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct error error;
        const char *path = misplaced_file(cases[c].at, cases[c].first, cases[c].shift);
        for (uint64_t memory = 1; memory <= 1 << 30; memory <<= 30) {
            enum status status = copy(path, scratch_path("y.blco"), memory, &error);
            assert_int_equal(status, cases[c].message ? STATUS_INPUT : STATUS_OK);
            if (cases[c].message)
                assert_non_null(strstr(error.message, cases[c].message));
            assert_int_equal(scratch_entries(0), cases[c].message ? 1 : 2);
        }
        scratch_entries(1);
    }
}

static void test_allocation_failures(void **state)
{
    (void)state;
    static const uint64_t dims[3] = {30, 50, 70};
    struct error error = {0};
    struct coo x;
    struct external_sort_report report;
    int failures = 0;
    naive_random_coo(&x, SHAPE(3, dims), 1000, 5, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    for (long k = 0, fired = 1; fired; k++) {
        memory_hook_set(k);
        enum status status = copy(scratch_path("x.blco"), scratch_path("y.blco"), 1 << 20, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_int_equal(scratch_entries(0), fired ? 1 : 2);
        failures += status != STATUS_OK;
    }
    assert_true(failures > 8);
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
        cmocka_unit_test_setup_teardown(test_samples, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_short_groups, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_damaged, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_the_same_bytes, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_order_is_checked, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_allocation_failures, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
