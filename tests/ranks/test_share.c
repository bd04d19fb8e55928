/* Shares of text: for any number of ranks and any sizes of reads, the shares together are what one
 * process reads, in the order of the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ranks/share.h"
#include "support/rank_threads.h"
#include "support/tns_files.h"

struct job {
    struct share share;
    struct tns_options options;
};

static void read_one(struct comm *c, void *context, struct error *error)
{
    struct job *job = context;
    struct tensor_reader r = {
        .path = path, .tns = &job->options, .format = &tensor_text, .cut = TENSOR_STEPS};
    share_read(&job->share, c, &r, &job->options, error);
    tensor_reader_close(&r);
}

static struct job job_of(const struct tns_options *options, const struct tns_sizes *sizes)
{
    struct job job = {.options = *options};
    job.options.sizes = *sizes;
    return job;
}

/* `piece` is what x has from nonzero `at` on. */
static void assert_found_at(const struct coo *piece, const struct coo *x, uint64_t at)
{
    assert_true(at + piece->nnz <= x->nnz);
    assert_true(shape_equal(&piece->shape, &x->shape));
    for (int n = 0; n < x->shape.order; n++)
        assert_memory_equal(piece->index[n], x->index[n] + at, piece->nnz * sizeof *x->index[n]);
    assert_memory_equal(piece->value, x->value + at, piece->nnz * sizeof *x->value);
}

static void assert_shares(struct job *job, int ranks, const struct coo *x, bool dealt)
{
    uint64_t at = 0;
    for (int k = 0; k < ranks; k++) {
        assert_int_equal(job[k].share.total, x->nnz);
        assert_true(shape_equal(&job[k].share.shape, &x->shape));
        assert_true(job[k].share.dealt == dealt && !job[k].share.clean);
    }
    for (size_t p = 0; dealt && p < job[0].share.pieces; p++)
        for (int k = 0; k < ranks; k++) {
            assert_int_equal(job[k].share.pieces, job[0].share.pieces);
            assert_found_at(&job[k].share.piece[p], x, at);
            at += job[k].share.piece[p].nnz;
        }
    for (int k = 0; !dealt && k < ranks; k++)
        for (size_t p = 0; p < job[k].share.pieces; p++) {
            assert_found_at(&job[k].share.piece[p], x, at);
            at += job[k].share.piece[p].nnz;
        }
    assert_int_equal(at, x->nnz);
}

/* The file at `path`, by every number of ranks, with windows and sections of many sizes. */
static void check_file(const struct tns_options *options, bool dealt)
{
    static const struct tns_sizes sizes[] = {{1 << 20, 1 << 16}, {700, 50}, {3000, 1000}};
    struct coo x;
    struct tensor_reader report;
    struct error error, errors[MOST_RANKS];
    if (read_file(&x, options, &usual, &report, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    for (size_t r = 0; r < RANK_COUNTS; r++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct job job[MOST_RANKS];
            for (int k = 0; k < MOST_RANKS; k++)
                job[k] = job_of(options, &sizes[s]);
            assert_true(run_rank_threads(rank_counts[r], read_one, job, sizeof *job, errors));
            assert_all_well(errors, rank_counts[r]);
            assert_shares(job, rank_counts[r], &x, dealt && rank_counts[r] > 1);
            for (int k = 0; k < rank_counts[r]; k++)
                share_free(&job[k].share);
        }
    coo_free(&x);
}

/* As a plain file and as gzip. */
static void check_text(const char *text, const struct tns_options *options)
{
    size_t size = strlen(text);
    uint8_t *gzip = malloc(size + 1000);
    assert_non_null(gzip);
    write_file(text, size);
    check_file(options, false);
    write_file(gzip, compress_text(text, size, gzip));
    check_file(options, true);
    free(gzip);
}

static void reads_every_style(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        uint64_t s = seed;
        char *text = random_text(1 + (int)seed % 5, 20 * (int)seed, 1, &s);
        check_text(text, &one_based);
        free(text);
    }
}

static void reads_headers_and_few_lines(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "1 1 5",
        "1 1 5\n",
        "1 1 5\r\n2 1 0\r\n\r\n",
        "# comment\n\n\n1 2 3 4\n1 2 3 4\n\n# 2\n3 2 1 -4",
        "3\n10 20 30\n1 2 3 4\n10 20 30 5\n",
        "sptensor\n# a comment\n2\n\n7 8\n4\n1 1 1\n7 1 2\n1 8 3\n1 1 4",
        "sptensor\r\n2\r\n7 8\r\n1\r\n1 1 1\r\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_text(texts[i], &one_based);
    check_text("0 0 1\n4 4 2\n", &(struct tns_options){.index_base = 0});
    check_text("1 1 1\n4 4 2\n",
               &(struct tns_options){.index_base = 1, .ndims = 2, .dims = {9, 9}});
}

/* No rank has much more than its share of a file whose text lines are alike. */
static void shares_are_even(void **state)
{
    (void)state;
    enum { LINES = 7000 };
    char *text = malloc(LINES * 16 + 1), *p = text;
    struct error errors[MOST_RANKS];
    assert_non_null(text);
    for (int i = 0; i < LINES; i++)
        p += sprintf(p, "%d 7 %d\n", 1000 + i, i % 10);
    write_file(text, (size_t)(p - text));
    for (size_t r = 0; r < RANK_COUNTS; r++) {
        struct job job[MOST_RANKS];
        for (int k = 0; k < MOST_RANKS; k++)
            job[k] = job_of(&one_based, &usual);
        assert_true(run_rank_threads(rank_counts[r], read_one, job, sizeof *job, errors));
        assert_all_well(errors, rank_counts[r]);
        for (int k = 0; k < rank_counts[r]; k++) {
            assert_in_range(job[k].share.nnz, (uint64_t)(LINES / rank_counts[r] - 1),
                            (uint64_t)(LINES / rank_counts[r] + 1));
            share_free(&job[k].share);
        }
    }
    free(text);
}

static void assert_refused_by_all(const struct tns_sizes *sizes, const char *message)
{
    for (size_t r = 0; r < RANK_COUNTS; r++) {
        struct error errors[MOST_RANKS];
        struct job job[MOST_RANKS];
        for (int k = 0; k < MOST_RANKS; k++)
            job[k] = job_of(&one_based, sizes);
        assert_true(run_rank_threads(rank_counts[r], read_one, job, sizeof *job, errors));
        for (int k = 0; k < rank_counts[r]; k++) {
            assert_int_equal(errors[k].status, STATUS_INPUT);
            assert_string_equal(errors[k].message, message);
            assert_null(job[k].share.piece);
        }
    }
}

/* Wherever the bad line is among many, its number is right; of several the first one counts. */
static void one_bad_line_among_many(void **state)
{
    (void)state;
    enum { LINES = 2000 };
    char *text = malloc(LINES * 16 + 1);
    uint8_t *gzip = malloc(LINES * 16 + 2000);
    assert_true(text && gzip);
    static const struct tns_sizes sizes[] = {{1 << 20, 1 << 16}, {3000, 100}};
    static const int where[] = {1, 2, 999, 1000, 1001, 1500, 1999, 2000};
    for (size_t w = 0; w < sizeof where / sizeof *where; w++) {
        char *p = text, message[200];
        for (int i = 1; i <= LINES; i++) {
            bool bad = i == where[w] || (i > where[w] && i % 500 == 0);
            if (i % 10 == 0 && !bad)
                p += sprintf(p, "# %d\n", i);
            else
                p += sprintf(p, "%d 7 %s\n", i, bad ? "bad" : "1");
        }
        snprintf(message, sizeof message,
                 "%s:%d: value 'bad', expected a number, or nan for an unknown entry", path,
                 where[w]);
        for (int i = 0; i < 4; i++) {
            size_t size = (size_t)(p - text);
            if (i % 2)
                write_file(gzip, compress_text(text, size, gzip));
            else
                write_file(text, size);
            assert_refused_by_all(&sizes[i / 2], message);
        }
    }
    free(gzip);
    free(text);
}

static void refuses_a_long_line(void **state)
{
    (void)state;
    char message[200];
    snprintf(message, sizeof message,
             "%s:4: line of more than 9 bytes, expected indices and a value", path);
    const char *text = "1 1\n2 2\n3 3\n# 8901234\n1 1\n";
    write_file(text, strlen(text));
    assert_refused_by_all(&(struct tns_sizes){9, 1}, message);
}

static void refuses_more_than_memory_holds(void **state)
{
    (void)state;
    struct error errors[3];
    struct job job[3];
    write_file("1 1 1\n1 2 1\n1 3 1\n1 4 1\n1 5 1\n1 6 1\n", 36);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 3; k++)
            job[k] = job_of(&one_based, &usual);
        for (int k = 0; k < 3; k++)
            job[k].options.memory = 2 * (2 * 4 + 8 + TENSOR_CLEAN_BYTES) - (uint64_t)i;
        assert_true(run_rank_threads(3, read_one, job, sizeof *job, errors));
        for (int k = 0; k < 3; k++) {
            assert_int_equal(errors[k].status, i == 0 ? STATUS_OK : STATUS_MEMORY);
            share_free(&job[k].share);
        }
    }
    assert_non_null(strstr(errors[0].message, ": more than 1 entries in the share of rank 0, "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_style),   cmocka_unit_test(reads_headers_and_few_lines),
        cmocka_unit_test(shares_are_even),     cmocka_unit_test(one_bad_line_among_many),
        cmocka_unit_test(refuses_a_long_line), cmocka_unit_test(refuses_more_than_memory_holds),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
