/* The tensor of several ranks is that of one process, whatever the file; what is wrong is said as
 * one process says it, by all ranks; and no rank waits for ever for one that has failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dirent.h>

#include "base/memory.h"
#include "formats/tensor_input.h"
#include "ranks/rank_fingerprint.h"
#include "support/rank_threads.h"
#include "support/scratch.h"
#include "support/blco_files.h"

struct job {
    const char *path;    /* or                */
    const struct coo *x; /* nonzeros in memory */
    struct tns_options options;
    int parts[MAX_ORDER];      /* of the grid; 0: chosen */
    bool packed;               /* the file stays unread, until */
    bool read;                 /* it is read after all         */
    struct progress *progress; /* of rank 0 */
    struct rank_tensor tensor;
    struct fingerprint print;
};

static void open_one(struct comm *c, void *context, struct error *error)
{
    struct job *job = context;
    struct rank_request request = {
        .row_bytes = 64, .machine = {.one_host = true, .threads = 1}, .packed = job->packed};
    memcpy(request.parts, job->parts, sizeof request.parts);
    while (request.modes < MAX_ORDER && job->parts[request.modes] > 0)
        request.modes++;
    if (job->path)
        rank_tensor_open(&job->tensor, c, job->path, &job->options, &request,
                         c->rank == 0 ? job->progress : NULL, error);
    else
        rank_tensor_share(&job->tensor, c, job->x, &request, error);
    if (error->status == STATUS_OK && job->read)
        rank_tensor_read(&job->tensor, c, NULL, error);
    if (error->status == STATUS_OK &&
        rank_fingerprint(&job->print, &job->tensor, c, error) != STATUS_OK)
        rank_tensor_close(&job->tensor);
}

static bool open_all(struct job *job, const struct job *like, int ranks, struct error *errors)
{
    for (int k = 0; k < MOST_RANKS; k++)
        job[k] = *like;
    return run_rank_threads(ranks, open_one, job, sizeof *job, errors);
}

static void close_all(struct job *job)
{
    for (int k = 0; k < MOST_RANKS; k++)
        rank_tensor_close(&job[k].tensor);
}

/* --- the same tensor --- */

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
    assert_true(shape_equal(&t->shape, &x->shape) && t->nnz == x->nnz);
    assert_memory_equal(&t->part, &part, sizeof part);
    for (uint64_t i = 0; i < t->x.nnz; i++) {
        uint32_t index[MAX_ORDER];
        coo_coordinates(&t->x, i, index);
        for (int n = 0; n < x->shape.order; n++) {
            assert_true(index[n] < t->x.shape.dims[n]);
            index[n] += (uint32_t)part.first[n];
        }
        assert_int_equal(process_grid_rank(&t->grid, index), rank);
    }
}

/* The ranks together have x's nonzeros, to the last bit. */
static void assert_union(const struct job *job, int ranks, const struct coo *x)
{
    static const uint64_t zeros[MAX_ORDER];
    uint64_t count = 0, expected = 0, all = 0;
    for (int k = 0; k < ranks; k++)
        all += job[k].tensor.x.nnz;
    assert_int_equal(all, x->nnz);
    struct nonzero *a = calloc(all, sizeof *a), *b = calloc(all, sizeof *b);
    assert_true(a && b);
    for (int k = 0; k < ranks; k++) {
        assert_rank(&job[k].tensor, x, k);
        add_nonzeros(a, &count, &job[k].tensor.x, job[k].tensor.part.first);
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

static void check_file(const char *path, const struct tns_options *options)
{
    struct error error = {0};
    struct tensor_input input;
    const struct job like = {.path = path, .options = *options};
    if (tensor_input_open(&input, path, options, NULL, &error) != STATUS_OK ||
        tensor_input_read(&input, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    for (size_t r = 0; r < RANK_COUNTS; r++) {
        struct job job[MOST_RANKS];
        struct error errors[MOST_RANKS];
        assert_true(open_all(job, &like, rank_counts[r], errors));
        assert_all_well(errors, rank_counts[r]);
        assert_union(job, rank_counts[r], &input.x);
        for (int k = 0; k < rank_counts[r]; k++)
            assert_true(shape_equal(&job[k].print.shape, &input.x.shape) &&
                        job[k].print.nnz == input.x.nnz &&
                        job[k].print.hash == fingerprint_hash(&input.x, NULL));
        close_all(job);
    }
    check_memory(&input.x);
    tensor_input_close(&input);
}

/* Text lines with many duplicates, whose sums depend on their order, and with zeros. */
static char *text_with_duplicates(int lines)
{
    char *text = malloc((size_t)lines * 60 + 1), *p = text;
    uint64_t seed = 5;
    assert_non_null(text);
    for (int i = 0; i < lines; i++) {
        uint64_t r = naive_random(&seed);
        if (r % 31 == 0)
            p += sprintf(p, "# a comment\n\n");
        double value = r % 13 == 0 ? 0 : (double)(int64_t)naive_random(&seed) * 0x1p-50;
        p += sprintf(p, "%d %d %d %.17g%s", (int)(r >> 8 & 0xff) % 9 + 1,
                     (int)(r >> 16 & 0xff) % 7 + 1, (int)(r >> 24 & 0xff) % 30 + 1,
                     r % 17 ? value : 1e15, r % 5 ? "\n" : "\r\n");
    }
    p[-1] = '\0'; /* no newline at the end */
    return text;
}

static const struct tns_options one_based = {.index_base = 1};

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

/* So many segments that every rank has some. */
static void test_blco(void **state)
{
    (void)state;
    struct coo x;
    struct error error;
    struct external_sort_report report;
    naive_random_coo(&x, &(struct shape){3, {900, 3000, 700}}, 600000, 3, 0);
    if (write_blco(&x, scratch_path("x.blco"), &report, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    check_file(scratch_path("x.blco"), &one_based);
    coo_free(&x);
}

/* Of a file that stays unread a rank knows its part, and about how many nonzeros that has. */
static void assert_unread(const struct rank_tensor *t, const struct coo *x, int rank)
{
    struct part part = process_grid_part(&t->grid, rank);
    uint64_t nnz = 0;
    assert_true(t->unread && t->nnz == x->nnz && shape_equal(&t->shape, &x->shape));
    assert_memory_equal(&t->part, &part, sizeof part);
    assert_true(shape_equal(&t->x.shape, &part.here));
    assert_null(t->x.value);
    for (uint64_t i = 0; i < x->nnz; i++) {
        bool inside = true;
        for (int n = 0; n < x->shape.order; n++)
            inside = inside && x->index[n][i] - part.first[n] < part.here.dims[n];
        nnz += inside;
    }
    assert_true(nnz <= t->x.nnz && (double)t->x.nnz < 1.1 * (double)nnz);
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
    progress_init(&progress, stream);
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

/* --- what is wrong --- */

/* All ranks refuse the file with the message of one process. */
static void assert_refused(const char *path)
{
    struct error error = {0};
    struct tensor_input input;
    const struct job like = {.path = path, .options = one_based};
    if (tensor_input_open(&input, path, &one_based, NULL, &error) == STATUS_OK)
        tensor_input_read(&input, NULL, &error);
    tensor_input_close(&input);
    assert_int_not_equal(error.status, STATUS_OK);
    for (size_t r = 0; r < RANK_COUNTS; r++) {
        struct job job[MOST_RANKS];
        struct error errors[MOST_RANKS];
        assert_true(open_all(job, &like, rank_counts[r], errors));
        for (int k = 0; k < rank_counts[r]; k++) {
            assert_int_equal(errors[k].status, error.status);
            assert_string_equal(errors[k].message, error.message);
            assert_null(job[k].tensor.x.value);
            assert_null(job[k].tensor.grid.cut[0]);
        }
    }
}

static void test_bad_files(void **state)
{
    (void)state;
    int files = 0;
    DIR *folder = opendir("tests/data");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[300];
        if (strncmp(entry->d_name, "bad_", 4) != 0)
            continue;
        snprintf(path, sizeof path, "tests/data/%s", entry->d_name);
        assert_refused(path);
        files++;
    }
    closedir(folder);
    assert_true(files > 20);
    assert_refused("/nowhere/x.tns");
    assert_refused("tests/data");
    assert_refused(scratch_text("x.tns", "1 1 0\n2 2 0\n"));
    assert_refused(scratch_text("x.tns", "1 1 7\n1 1 -7\n"));
}

static void test_bad_blco(void **state)
{
    (void)state;
    struct coo x;
    struct error error;
    struct external_sort_report report;
    size_t size;
    naive_random_coo(&x, &(struct shape){2, {2000, 3000}}, 300000, 3, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    char *bytes = file_bytes(scratch_path("x.blco"), &size);
    const struct blco_file_segment *segment = segment_of(bytes);
    assert_refused(scratch_file("cut.blco", bytes, size - 1));
    bytes[segment[4].offset + 100] ^= 1;
    assert_refused(scratch_file("bad.blco", bytes, size));
    bytes[segment[2].offset + 100] ^= 1;
    assert_refused(scratch_file("bad.blco", bytes, size));
    free(bytes);
    coo_free(&x);
}

static void test_fixed_parts(void **state)
{
    (void)state;
    struct error errors[MOST_RANKS];
    struct job job[MOST_RANKS];
    struct job like = {.path = scratch_text("x.tns", "1 1 1\n2 2 2\n3 3 3\n"),
                       .options = one_based,
                       .parts = {1, 3}};
    assert_true(open_all(job, &like, 3, errors));
    assert_all_well(errors, 3);
    for (int k = 0; k < 3; k++) {
        assert_true(job[k].tensor.grid.parts[0] == 1 && job[k].tensor.grid.parts[1] == 3);
        assert_true(job[k].tensor.x.nnz == 1 && job[k].tensor.cost.largest_nnz == 1);
    }
    close_all(job);
    like.parts[0] = 2;
    assert_true(open_all(job, &like, 3, errors));
    for (int k = 0; k < 3; k++)
        assert_string_equal(errors[k].message, "a grid of 2x3 is not one of 3 ranks");
}

/* A rank that sees another file under the name, as on a host without the shared folder. */
static void test_different_files(void **state)
{
    (void)state;
    struct error errors[3];
    struct job job[3];
    for (int k = 0; k < 3; k++)
        job[k] = (struct job){.path = scratch_text(k == 1 ? "other.tns" : "x.tns",
                                                   k == 1 ? "1 1 1\n" : "1 1 1\n2 2 2\n"),
                              .options = one_based};
    assert_true(run_rank_threads(3, open_one, job, sizeof *job, errors));
    for (int k = 0; k < 3; k++)
        assert_non_null(
            strstr(errors[k].message, ": rank 1 finds another file than rank 0 under this name"));
    job[1].path = "/nowhere/x.tns";
    assert_true(run_rank_threads(3, open_one, job, sizeof *job, errors));
    for (int k = 0; k < 3; k++)
        assert_string_equal(errors[k].message, "/nowhere/x.tns: No such file or directory");
}

/* Only rank 0 reads standard input, be it a pipe or a file. */
static void test_standard_input(void **state)
{
    (void)state;
    int saved = dup(STDIN_FILENO);
    const char *text = "1 1 1\n2 2 2\n1 1 5\n";
    for (int i = 0; i < 2; i++) {
        int end[2];
        struct error errors[MOST_RANKS];
        struct job job[MOST_RANKS];
        assert_int_equal(pipe(end), 0);
        assert_int_equal(write(end[1], text, strlen(text)), strlen(text));
        close(end[1]);
        if (i == 1) {
            close(end[0]);
            end[0] = open(scratch_text("x.tns", text), O_RDONLY);
        }
        assert_int_equal(dup2(end[0], STDIN_FILENO), STDIN_FILENO);
        close(end[0]);
        assert_true(open_all(job, &(struct job){.path = "-", .options = one_based}, 3, errors));
        assert_all_well(errors, 3);
        assert_int_equal(job[0].tensor.nnz, 2);
        assert_int_equal(job[0].tensor.x.nnz + job[1].tensor.x.nnz + job[2].tensor.x.nnz, 2);
        close_all(job);
    }
    assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
    close(saved);
}

/* Whichever rank finds no memory, and wherever; a failure to shrink an array is none. Returns how
 * many times a rank has failed. */
static int fail_everywhere(const struct job *like)
{
    int failures = 0;
    for (long i = 0, fired = 1; fired; i++) {
        struct job job[MOST_RANKS];
        struct error errors[MOST_RANKS];
        memory_hook_set(i);
        bool began = open_all(job, like, 3, errors);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        for (int k = 0; began && k < 3; k++) {
            assert_true(errors[k].status == STATUS_OK ||
                        (fired && errors[k].status == STATUS_MEMORY));
            assert_true((errors[k].status == STATUS_OK) == (job[k].tensor.x.value != NULL));
            failures += errors[k].status != STATUS_OK;
        }
        if (began)
            close_all(job);
    }
    return failures;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    struct coo x;
    struct error error;
    struct external_sort_report report;
    char command[2000];
    char *text = text_with_duplicates(300);
    naive_random_coo(&x, &(struct shape){3, {9, 30, 7}}, 600, 3, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    snprintf(command, sizeof command, "gzip -kf %s", scratch_text("x.tns", text));
    assert_int_equal(system(command), 0);
    assert_true(
        fail_everywhere(&(struct job){.path = scratch_path("x.tns"), .options = one_based}) > 100);
    assert_true(fail_everywhere(
                    &(struct job){.path = scratch_path("x.tns.gz"), .options = one_based}) > 100);
    assert_true(
        fail_everywhere(&(struct job){.path = scratch_path("x.blco"), .options = one_based}) > 100);
    assert_true(fail_everywhere(&(struct job){.x = &x}) > 100);
    coo_free(&x);
    free(text);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DISK(test_text),
        ON_DISK(test_gzip),
        ON_DISK(test_blco),
        ON_DISK(test_unread_blco),
        ON_DISK(test_notes),
        ON_DISK(test_bad_files),
        ON_DISK(test_bad_blco),
        ON_DISK(test_fixed_parts),
        ON_DISK(test_different_files),
        ON_DISK(test_standard_input),
        ON_DISK(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
