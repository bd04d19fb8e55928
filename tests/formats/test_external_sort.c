/* External sort: entries from memory or from spills make the same .blco file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "support/blco_files.h"
#include "support/scratch.h"

/* Entries with duplicates near and far, zeros, and sums that depend on their order. */
static void messy_coo(struct coo *x, const struct shape *shape, uint64_t nnz, uint64_t seed)
{
    struct error error = {0};
    assert_int_equal(coo_create(x, SHAPE(shape->order, shape->dims), nnz, &error), STATUS_OK);
    for (uint64_t i = 0; i < nnz; i++) {
        uint64_t r = naive_random(&seed), again = naive_random(&seed) % (i + 1);
        for (int n = 0; n < shape->order; n++)
            x->index[n][i] = r % 4 == 0 && again < i
                                 ? x->index[n][again]
                                 : (uint32_t)(naive_random(&seed) % shape->dims[n]);
        const double value[] = {0, -0.0, 1e16, -1e16, 1, 0.1, 3, -1};
        x->value[i] = (r >> 16) % 19 ? value[(r >> 8) % 8] : COO_UNKNOWN;
    }
}

/* Entries [begin, end) of x as a piece, its lengths those of the largest indices. */
static void cut_piece(struct coo *piece, const struct coo *x, uint64_t begin, uint64_t end)
{
    *piece = *x;
    piece->nnz = end - begin;
    piece->value = x->value + begin;
    for (int n = 0; n < x->shape.order; n++) {
        piece->index[n] = x->index[n] + begin;
        piece->shape.dims[n] = 1;
        for (uint64_t i = begin; i < end; i++)
            if (x->index[n][i] >= piece->shape.dims[n])
                piece->shape.dims[n] = (uint64_t)x->index[n][i] + 1;
    }
}

/* Writes the file from `spills` spills of x and a rest that stays in memory, with the path, memory
 * and zeros of *like. */
static enum status write_from_spills(const struct coo *x, const struct external_sort *like,
                                     uint64_t spills, struct external_sort_report *report,
                                     struct error *error)
{
    struct external_sort sort;
    struct coo copy, piece, rest = {0};
    uint64_t length = x->nnz / (spills + 1);
    *error = (struct error){0};
    copy_coo(&copy, x);
    external_sort_init(&sort, like->path, like->memory, NULL);
    sort.zeros = like->zeros;
    for (uint64_t k = 0; k < spills && error->status == STATUS_OK; k++) {
        cut_piece(&piece, &copy, k * length, (k + 1) * length);
        external_sort_spill(&sort, &piece, error);
    }
    if (error->status == STATUS_OK) {
        cut_piece(&piece, &copy, spills * length, x->nnz);
        if (coo_create(&rest, &x->shape, piece.nnz, error) == STATUS_OK) {
            for (int n = 0; n < x->shape.order; n++)
                memcpy(rest.index[n], piece.index[n], piece.nnz * sizeof *piece.index[n]);
            memcpy(rest.value, piece.value, piece.nnz * sizeof *piece.value);
            external_sort_write(&sort, &rest, report, error);
        }
    }
    external_sort_free(&sort);
    coo_free(&copy);
    return error->status;
}

/* The file's header says what x lists, and how many zeros were dropped. */
static void assert_listed(const char *path, const struct coo *x, uint64_t dropped)
{
    struct blco_file f;
    struct error error = {0};
    const struct coo_listed listed = coo_count_listed(x);
    assert_int_equal(blco_file_open(&f, path, &error), STATUS_OK);
    assert_int_equal(f.listed.unknown, listed.unknown);
    assert_int_equal(f.listed.zeros, listed.zeros);
    assert_int_equal(f.listed.dropped, dropped);
    blco_file_close(&f);
}

/* The file from one piece in memory has what coo_clean() leaves; files from spills are the same. */
static void check_with(const struct coo *x, enum coo_zeros zeros)
{
    static const uint64_t spills[] = {1, 2, 7, 40};
    struct coo clean, got;
    struct coo_cleaning cleaning;
    struct external_sort_report report;
    struct error error;
    size_t size, other_size;
    const char *path = scratch_path("x.blco");
    const struct external_sort ample = {.path = path, .memory = 1 << 20, .zeros = zeros};
    const struct external_sort little = {.path = path, .memory = 1, .zeros = zeros};
    copy_coo(&clean, x);
    error = (struct error){0};
    assert_int_equal(coo_clean(&clean, NULL, zeros, &cleaning, &error), STATUS_OK);
    assert_int_equal(write_from_spills(x, &ample, 0, &report, &error), STATUS_OK);
    assert_int_equal(report.cleaning.zeros, cleaning.zeros);
    assert_int_equal(report.cleaning.duplicates, cleaning.duplicates);
    assert_int_equal(report.nnz, clean.nnz);
    assert_int_equal(read_blco(&got, path, &error), STATUS_OK);
    assert_sorted_as(&got, &clean);
    assert_listed(path, &clean, cleaning.zeros);
    char *bytes = file_bytes(path, &size);
    assert_int_equal(size, report.bytes);
    for (int p = 0; p < 4; p++) {
        struct external_sort_report other;
        int before = omp_get_max_threads();
        omp_set_num_threads(1 + p % 3);
        if (write_from_spills(x, &little, spills[p], &other, &error) != STATUS_OK)
            fail_msg("%s", error.message);
        omp_set_num_threads(before);
        char *others = file_bytes(path, &other_size);
        assert_int_equal(size, other_size);
        assert_memory_equal(bytes, others, size);
        assert_int_equal(other.cleaning.zeros, cleaning.zeros);
        assert_int_equal(other.cleaning.duplicates, cleaning.duplicates);
        free(others);
    }
    assert_int_equal(scratch_entries(0), 1);
    free(bytes);
    coo_free(&got);
    coo_free(&clean);
}

static void check(const struct coo *x)
{
    check_with(x, COO_DROP_ZEROS);
    check_with(x, COO_KEEP_ZEROS);
}

static void test_runs_and_memory_make_the_same_file(void **state)
{
    (void)state;
    static const struct {
        int order;
        uint64_t dims[MAX_ORDER], nnz;
    } cases[] = {
        {1, {300}, 5000},
        {2, {1, 1}, 3000},
        {3, {70, 900, 8}, 30000},
        {4, {183, 24, 1140, 1717}, 90000},
        {3, {MAX_LENGTH, MAX_LENGTH, 500}, 9000},
        {5, {MAX_LENGTH, 7, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH}, 3000},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct coo x;
        messy_coo(&x, SHAPE(cases[c].order, cases[c].dims), cases[c].nnz, c + 1);
        check(&x);
        coo_free(&x);
    }
}

/* More equal entries than a window holds, at the beginning, in the middle and at the end. */
static void test_many_duplicates(void **state)
{
    (void)state;
    static const uint64_t dims[] = {8, 8};
    struct coo x;
    messy_coo(&x, SHAPE(2, dims), 20000, 5);
    for (uint64_t i = 0; i < x.nnz; i++)
        for (int n = 0; n < 2; n++)
            if (i % 16 != 0)
                x.index[n][i] = i % 3 == 0 ? 0 : i % 3 == 1 ? 4 : 7;
    check(&x);
    coo_free(&x);
}

static void test_full_disk(void **state)
{
    (void)state;
    static const uint64_t dims[] = {3000, 70000, 9};
    struct coo x;
    struct external_sort_report report;
    struct rlimit limit, small;
    messy_coo(&x, SHAPE(3, dims), 100000, 1);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    signal(SIGXFSZ, SIG_IGN);
    const struct {
        uint64_t spills;
        rlim_t most;
    } cases[] = {{0, 100000}, {0, 1000}, {4, 100000}, {4, 1500000}};
    for (int c = 0; c < 4; c++) {
        struct error error;
        small.rlim_cur = cases[c].most;
        setrlimit(RLIMIT_FSIZE, &small);
        enum status status = write_from_spills(
            &x, &(struct external_sort){.path = scratch_path("x.blco"), .memory = 1 << 20},
            cases[c].spills, &report, &error);
        setrlimit(RLIMIT_FSIZE, &limit);
        assert_int_equal(status, STATUS_OUTPUT);
        assert_non_null(strstr(error.message, "x.blco: cannot be written: File too large"));
        assert_int_equal(scratch_entries(0), 0);
    }
    signal(SIGXFSZ, SIG_DFL);
    coo_free(&x);
}

static void test_refused_paths(void **state)
{
    (void)state;
    static const uint64_t dims[] = {30, 70};
    struct coo x;
    struct external_sort_report report;
    struct error error;
    messy_coo(&x, SHAPE(2, dims), 100, 1);
    for (uint64_t spills = 0; spills < 2; spills++) {
        assert_int_equal(
            write_from_spills(
                &x, &(struct external_sort){.path = scratch_path("none/x.blco"), .memory = 1},
                spills, &report, &error),
            STATUS_OUTPUT);
        assert_non_null(strstr(error.message, "there is no such folder"));
    }
    coo_free(&x);
}

static void test_allocation_failures(void **state)
{
    (void)state;
    static const uint64_t dims[] = {30, 70, 50};
    struct coo x;
    messy_coo(&x, SHAPE(3, dims), 3000, 1);
    struct coo piece[2], rest;
    cut_piece(&piece[0], &x, 0, 1000);
    cut_piece(&piece[1], &x, 1000, 3000);
    int fired = 1;
    for (long k = 0; fired; k++) {
        struct external_sort sort;
        struct external_sort_report report;
        struct error error = {0};
        external_sort_init(&sort, scratch_path("x.blco"), 1, NULL);
        assert_int_equal(coo_create(&rest, SHAPE(3, dims), 0, &error), STATUS_OK);
        memory_hook_set(k);
        enum status status = external_sort_spill(&sort, &piece[0], &error);
        if (status == STATUS_OK)
            status = external_sort_spill(&sort, &piece[1], &error);
        if (status == STATUS_OK)
            status = external_sort_write(&sort, &rest, &report, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        external_sort_free(&sort);
        coo_free(&rest);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_int_equal(scratch_entries(0), fired ? 0 : 1);
    }
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_runs_and_memory_make_the_same_file, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_many_duplicates, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_full_disk, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_refused_paths, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_allocation_failures, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests_name("external sort", tests, NULL, NULL);
}
