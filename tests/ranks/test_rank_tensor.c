/* The tensor of several ranks is that of one process, for every kind of file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ranks/rank_tensor.h"
#include "support/naive.h"
#include "support/rank_tensors.h"
#include "support/npy_files.h"
#include "support/rank_threads.h"

struct nonzero {
    uint32_t index[MAX_ORDER];
    double value;
};

static int compare(const void *a, const void *b)
{
    const struct nonzero *x = a, *y = b;
    for (int n = 0; n < MAX_ORDER; n++)
        if (x->index[n] != y->index[n])
            return x->index[n] < y->index[n] ? -1 : 1;
    return 0;
}

/* Adds x's nonzeros, whose indices count from first[n]. */
static void add_nonzeros(struct nonzero *to, uint64_t *count, const struct coo *x,
                         const uint64_t *first)
{
    for (uint64_t i = 0; i < x->nnz; i++, ++*count) {
        to[*count] = (struct nonzero){.value = x->value[i]};
        for (int n = 0; n < x->shape.order; n++)
            to[*count].index[n] = x->index[n][i] + (uint32_t)first[n];
    }
}

static void assert_rank(const struct rank_tensor *t, const struct coo *x, int rank)
{
    struct part part = process_grid_part(&t->grid, rank);
    const struct coo_listed listed = coo_count_listed(x);
    assert_true(shape_equal(&t->shape, &x->shape) && t->nnz == x->nnz);
    assert_true(t->listed.unknown == listed.unknown && t->listed.zeros == listed.zeros);
    assert_memory_equal(&t->part, &part, sizeof part);
    for (uint64_t i = 0; i < t->input.x.nnz; i++) {
        uint32_t index[MAX_ORDER];
        coo_coordinates(&t->input.x, i, index);
        for (int n = 0; n < x->shape.order; n++) {
            assert_true(index[n] < t->input.x.shape.dims[n]);
            index[n] += (uint32_t)part.first[n];
        }
        assert_true(t->has_share || process_grid_rank(&t->grid, index) == rank);
    }
}

/* The ranks together have x's nonzeros, to the last bit. */
static void assert_union(const struct job *job, int ranks, const struct coo *x)
{
    static const uint64_t zeros[MAX_ORDER];
    uint64_t count = 0, expected = 0, all = 0;
    for (int k = 0; k < ranks; k++)
        all += job[k].tensor.input.x.nnz;
    assert_int_equal(all, x->nnz);
    struct nonzero *a = calloc(all, sizeof *a), *b = calloc(all, sizeof *b);
    assert_true(a && b);
    for (int k = 0; k < ranks; k++) {
        assert_rank(&job[k].tensor, x, k);
        add_nonzeros(a, &count, &job[k].tensor.input.x, job[k].tensor.part.first);
    }
    add_nonzeros(b, &expected, x, zeros);
    qsort(a, all, sizeof *a, compare);
    qsort(b, all, sizeof *b, compare);
    for (uint64_t i = 0; i < all; i++)
        assert_true(compare(&a[i], &b[i]) == 0 &&
                    memcmp(&a[i].value, &b[i].value, sizeof a[i].value) == 0);
    free(a);
    free(b);
}

static void check_memory(const struct coo *x)
{
    const struct job like = {.x = x};
    for (size_t r = 0; r < RANK_COUNTS; r++) {
        struct job job[MOST_RANKS];
        struct error errors[MOST_RANKS];
        assert_true(open_all(job, &like, rank_counts[r], errors));
        assert_all_well(errors, rank_counts[r]);
        assert_union(job, rank_counts[r], x);
        close_all(job);
    }
}

static void check_read(const char *path, const struct tns_options *options,
                       const struct csv_options *csv)
{
    struct error error = {0};
    struct whole whole;
    struct rank_tensor *alone = &whole.tensor;
    const struct coo *x = &alone->input.x;
    const struct job like = {.path = path, .options = *options, .csv = csv, .read = true};
    if (try_open_whole(&whole, path, options, csv, &error) != STATUS_OK ||
        rank_tensor_read(alone, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    for (size_t r = 0; r < RANK_COUNTS; r++) {
        struct job job[MOST_RANKS];
        struct error errors[MOST_RANKS];
        assert_true(open_all(job, &like, rank_counts[r], errors));
        assert_all_well(errors, rank_counts[r]);
        assert_union(job, rank_counts[r], x);
        assert_int_equal(job[0].tensor.listed.dropped, alone->listed.dropped);
        for (int k = 0; k < rank_counts[r]; k++)
            assert_true(shape_equal(&job[k].print.shape, &x->shape) && job[k].print.nnz == x->nnz &&
                        job[k].print.hash == fingerprint_hash(x, NULL));
        close_all(job);
    }
    check_memory(x);
    close_whole(&whole);
}

static void check_file(const char *path, const struct tns_options *options)
{
    check_read(path, options, NULL);
}

/* Names have the numbers that one rank gives them. */
static void test_csv(void **state)
{
    (void)state;
    const struct csv_options csv = {.columns = "b,a,n", .value = "v"};
    char *text = malloc(64 * 3000), *to = text;
    assert_non_null(text);
    to += sprintf(to, "a,b,n,v\n");
    for (int i = 0; i < 3000; i++)
        to += sprintf(to, "\"u,%d\",i%d,%d,%d\n", i * 37 % 101, i * 17 % 23, -i % 7, i % 3 + 1);
    check_read(scratch_text("x.csv", text), &one_based, &csv);
    free(text);
}

static void test_text(void **state)
{
    (void)state;
    static const char *const texts[] = {"1 1 5", "# one\n1 2 3 4\n1 2 3 4\n\n3 2 1 -4\n2 2 2 0\r\n",
                                        "2\n10 20\n1 2 3\n10 20 5\n", "1 1 1\n1 1 -1\n2 2 2\n",
                                        "sptensor\n2\n7 8\n2\n1 1 1\n7 1 2"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_file(scratch_text("x.tns", texts[i]), &one_based);
    char *text = text_with_duplicates(6000);
    check_file(scratch_text("x.tns", text), &one_based);
    check_file(scratch_text("x.tns", text),
               &(struct tns_options){.index_base = 1, .zeros = COO_KEEP_ZEROS});
    check_file(scratch_text("x.tns", text),
               &(struct tns_options){.index_base = 0, .ndims = 3, .dims = {100, 10, 31}});
    free(text);
}

static void test_gzip(void **state)
{
    (void)state;
    char command[2000];
    char *text = text_with_duplicates(6000);
    snprintf(command, sizeof command, "gzip -kf %s", scratch_text("x.tns", text));
    assert_int_equal(system(command), 0);
    check_file(scratch_path("x.tns.gz"), &one_based);
    free(text);
}

/* NumPy arrays with duplicates, zeros and unknown entries; fewer entries than ranks. */
static void test_npy(void **state)
{
    (void)state;
    static const uint64_t counts[] = {1, 3, 100000};
    for (size_t i = 0; i < 2 * sizeof counts / sizeof *counts; i++) {
        struct coo x;
        naive_random_coo(&x, &(struct shape){3, {50, 30, 70}}, counts[i / 2], 3, 0);
        for (uint64_t k = 5; k < x.nnz; k += 99)
            x.value[k] = k % 2 ? 0 : COO_UNKNOWN;
        for (uint64_t k = 50000; k < x.nnz; k++)
            for (int n = 0; n < 3; n++)
                x.index[n][k] = x.index[n][k - 50000];
        check_file(npy_write_coo(&x, i % 2 ? "<i8" : "<u4", i % 2, 0, "<f8"), &one_based);
        coo_free(&x);
    }
}

/* Where rows will be dealt, ranks have even shares of a .blco file, unless cells count. */
static void check_shares(const struct coo *x)
{
    for (int i = 0; i < 8; i++) {
        const struct job like = {.path = scratch_path("x.blco"),
                                 .by_rows = i & 1,
                                 .cells = i & 2,
                                 .packed = i & 4,
                                 .read = true};
        const bool has_share = (like.by_rows || coo_count_listed(x).unknown > 0) && !like.cells;
        struct job job[MOST_RANKS];
        struct error errors[MOST_RANKS];
        assert_true(open_all(job, &like, 3, errors));
        assert_all_well(errors, 3);
        assert_union(job, 3, x);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(job[k].tensor.has_share, has_share);
            assert_true(job[k].tensor.input.x.nnz < x->nnz / 2);
        }
        close_all(job);
    }
}

/* So many segments that every rank has some. */
static void test_blco(void **state)
{
    (void)state;
    struct coo x;
    struct error error;
    struct external_sort_report report;
    naive_random_coo(&x, &(struct shape){3, {900, 3000, 700}}, 600000, 3, 0);
    for (uint64_t i = 0; i < x.nnz; i += 999)
        x.value[i] = COO_UNKNOWN;
    if (write_blco(&x, scratch_path("x.blco"), &report, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    check_file(scratch_path("x.blco"), &one_based);
    check_shares(&x);
    coo_free(&x);
}

/* Of a file that stays unread a rank knows its part, and about how many nonzeros that has. */
static void assert_unread(const struct rank_tensor *t, const struct coo *x, int rank)
{
    struct part part = process_grid_part(&t->grid, rank);
    uint64_t nnz = 0;
    assert_true(t->input.unread && t->nnz == x->nnz && shape_equal(&t->shape, &x->shape));
    assert_memory_equal(&t->part, &part, sizeof part);
    assert_true(shape_equal(&t->input.x.shape, &part.here));
    assert_null(t->input.x.value);
    for (uint64_t i = 0; i < x->nnz; i++) {
        bool inside = true;
        for (int n = 0; n < x->shape.order; n++)
            inside = inside && x->index[n][i] - part.first[n] < part.here.dims[n];
        nnz += inside;
    }
    assert_true(nnz <= t->input.x.nnz && (double)t->input.x.nnz < 1.1 * (double)nnz);
}

/* Unread at first; when a rank needs the nonzeros, they are read on the grid that was chosen. */
static void test_unread_blco(void **state)
{
    (void)state;
    struct coo x;
    struct error error;
    struct external_sort_report report;
    naive_random_coo(&x, &(struct shape){3, {900, 3000, 700}}, 600000, 3, 1);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    for (size_t r = 0; r < 2 * RANK_COUNTS; r++) {
        struct job job[MOST_RANKS];
        struct error errors[MOST_RANKS];
        int ranks = rank_counts[r / 2];
        const struct job like = {.path = scratch_path("x.blco"), .packed = true, .read = r % 2};
        assert_true(open_all(job, &like, ranks, errors));
        assert_all_well(errors, ranks);
        for (int k = 0; k < ranks && !like.read; k++) {
            assert_unread(&job[k].tensor, &x, k);
            assert_true(job[k].print.hash == fingerprint_hash(&x, NULL));
        }
        if (like.read)
            assert_union(job, ranks, &x);
        close_all(job);
    }
    check_shares(&x);
    coo_free(&x);
}

static void test_notes(void **state)
{
    (void)state;
    struct job job[MOST_RANKS];
    struct error errors[MOST_RANKS];
    char said[1000] = {0};
    struct progress progress;
    FILE *stream = fmemopen(said, sizeof said, "w");
    assert_non_null(stream);
    progress_init(&progress, stream, PROGRESS_AUTO);
    const struct job like = {.path = scratch_text("x.tns", "1 1 1\n2 2 2\n1 1 3\n2 1 0\n1 1 4\n"),
                             .options = one_based,
                             .progress = &progress};
    assert_true(open_all(job, &like, 3, errors));
    assert_all_well(errors, 3);
    fclose(stream);
    assert_non_null(strstr(said, "5 entries"));
    assert_non_null(strstr(said, "2 duplicate entries added to earlier ones\n"));
    assert_non_null(strstr(said, "1 explicit zeros dropped\n"));
    assert_int_equal(job[2].tensor.nnz, 2);
    close_all(job);
}

/* --- How many entries and slices of a tensor are known: the same for any number of ranks. --- */

struct known_job {
    const struct coo *x;
    bool all;
    struct known_rows known;
};

static void count_known(struct comm *c, void *context, struct error *error)
{
    struct known_job *job = context;
    const struct rank_request request = {.row_bytes = 8};
    struct rank_tensor t = {0};
    TRY_OR(done, rank_tensor_share(&t, c, job->x, &request, error));
    TRY_OR(done, rank_tensor_divide_rows(&t, true, error));
    rank_tensor_count_known(&job->known, &t, job->all, error);
done:
    if (error->status != STATUS_OK)
        comm_abort(c, error);
    rank_tensor_close(&t);
}

/* Entry by entry. */
static struct known_rows naive_known(const struct coo *x, bool all)
{
    struct known_rows k = {0};
    for (int n = 0; n < x->shape.order; n++) {
        k.first[n] = NO_ROW;
        for (uint64_t row = x->shape.dims[n]; row-- > 0;) {
            bool known = false, listed = false;
            for (uint64_t i = 0; i < x->nnz; i++) {
                listed = listed || x->index[n][i] == row;
                known = known || (x->index[n][i] == row && !isnan(x->value[i]));
            }
            k.rows[n] += known;
            k.unknown[n] += listed && !known;
            if (!known && (all || listed))
                k.first[n] = row;
        }
    }
    for (uint64_t i = 0; i < x->nnz; i++)
        k.entries += isnan(x->value[i]) ? 0 : 1;
    return k;
}

static void compare_known(const struct coo *x, bool all)
{
    const struct known_rows expected = naive_known(x, all);
    for (size_t r = 0; r < RANK_COUNTS; r++) {
        struct known_job job[MOST_RANKS];
        struct error error[MOST_RANKS];
        for (int k = 0; k < rank_counts[r]; k++)
            job[k] = (struct known_job){.x = x, .all = all};
        assert_true(run_rank_threads(rank_counts[r], count_known, job, sizeof *job, error));
        for (int k = 0; k < rank_counts[r]; k++) {
            assert_int_equal(error[k].status, STATUS_OK);
            assert_memory_equal(&job[k].known, &expected, sizeof expected);
        }
    }
}

static void test_known_rows(void **state)
{
    (void)state;
    struct coo x;
    naive_random_coo(&x, SHAPE(3, ((const uint64_t[]){40, 7, 300})), 350, 3, 1);
    compare_known(&x, true);
    compare_known(&x, false);
    for (uint64_t i = 0; i < x.nnz; i += 2)
        x.value[i] = COO_UNKNOWN;
    for (uint64_t i = 0; i < x.nnz; i++)
        if (x.index[0][i] == x.index[0][1])
            x.value[i] = COO_UNKNOWN;
    compare_known(&x, true);
    compare_known(&x, false);
    coo_free(&x);
}

static void test_failing_allocations_of_known_rows(void **state)
{
    (void)state;
    struct coo x;
    struct rank_tensor t;
    struct known_rows known;
    struct error error = {0};
    struct comm *self = comm_self(&error);
    naive_random_coo(&x, SHAPE(2, ((const uint64_t[]){40, 7})), 50, 3, 1);
    assert_int_equal(rank_tensor_share(&t, self, &x, NULL, &error), STATUS_OK);
    for (int k = 0; k < 3; k++) {
        memory_hook_set(k);
        assert_int_equal(rank_tensor_count_known(&known, &t, true, &error), STATUS_MEMORY);
        memory_hook_set(-1);
        error = (struct error){0};
    }
    assert_int_equal(rank_tensor_count_known(&known, &t, true, &error), STATUS_OK);
    rank_tensor_close(&t);
    comm_finalize(self);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DISK(test_text),
        ON_DISK(test_gzip),
        ON_DISK(test_blco),
        ON_DISK(test_unread_blco),
        ON_DISK(test_notes),
        ON_DISK(test_csv),
        ON_DISK(test_npy),
        cmocka_unit_test(test_known_rows),
        cmocka_unit_test(test_failing_allocations_of_known_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
