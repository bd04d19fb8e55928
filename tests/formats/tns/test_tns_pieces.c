/* Reading in pieces gives the entries that reading at once gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/tns_files.h"

/* Puts the pieces together again. */
struct collector {
    struct coo x;
    uint64_t used, pieces, largest_piece;
};

static void collect(struct collector *c, const struct coo *piece)
{
    for (int n = 0; n < piece->shape.order; n++) {
        memcpy(c->x.index[n] + c->used, piece->index[n], piece->nnz * sizeof *piece->index[n]);
        for (uint64_t i = 0; i < piece->nnz; i++)
            assert_true(piece->index[n][i] < piece->shape.dims[n]);
    }
    memcpy(c->x.value + c->used, piece->value, piece->nnz * sizeof *piece->value);
    c->used += piece->nnz;
    c->pieces++;
    c->largest_piece = piece->nnz > c->largest_piece ? piece->nnz : c->largest_piece;
}

static enum status take(void *context, struct coo *piece, struct error *error)
{
    (void)error;
    collect(context, piece);
    return STATUS_OK;
}

static enum status stop(void *context, struct coo *piece, struct error *error)
{
    (void)piece;
    ++*(int *)context;
    return error_set(error, STATUS_OUTPUT, "stop");
}

/* Reads the file in pieces and compares; returns how many pieces there were, the last one included.
 */
static uint64_t check(uint64_t memory, const struct tns_options *options)
{
    struct coo all, last;
    struct tns_report report, other;
    struct error error;
    assert_int_equal(read_file(&all, options, &usual, &report, &error), STATUS_OK);
    struct collector c = {0};
    assert_int_equal(coo_create(&c.x, &all.shape, all.nnz, &error), STATUS_OK);
    struct tns_pieces pieces = {memory, 0, take, &c, NULL};
    if (tns_read_pieces(&last, path, options, &pieces, &other, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    for (int n = 0; n < all.shape.order; n++)
        assert_int_equal(last.shape.dims[n], all.shape.dims[n]);
    collect(&c, &last);
    assert_int_equal(c.used, all.nnz);
    for (int n = 0; n < all.shape.order; n++)
        assert_memory_equal(c.x.index[n], all.index[n], all.nnz * sizeof *all.index[n]);
    assert_memory_equal(c.x.value, all.value, all.nnz * sizeof *all.value);
    assert_int_equal(report.header, other.header);
    assert_int_equal(report.gzip, other.gzip);
    assert_int_equal(report.text_bytes, other.text_bytes);
    assert_int_equal(report.entries, other.entries);
    if (c.pieces > 1) /* 64 kB of text have at most that many text lines */
        assert_true(c.largest_piece <= 65536 / 4 ||
                    c.largest_piece * (4 * (uint64_t)all.shape.order + 8) <= memory);
    coo_free(&all);
    coo_free(&last);
    coo_free(&c.x);
    return c.pieces;
}

static void test_pieces(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int order = 1; order <= 16; order += 5) {
        char *text = random_text(order, 9000, 1, &seed);
        write_file(text, strlen(text));
        assert_int_equal(check(UINT64_MAX / 2, &one_based), 1);
        assert_true(check(1, &one_based) > 2);
        assert_true(check(60000, &one_based) > 1);
        free(text);
    }
    uint8_t *packed = malloc(10000 * 100);
    char *text = random_text(3, 9000, 1, &seed);
    assert_non_null(packed);
    write_file(packed, compress_text(text, strlen(text), packed));
    assert_true(check(1, &one_based) > 2);
    free(packed);
    free(text);
}

/* 30000 text lines after an sptensor header that promises `count`. */
static void write_sptensor(int count)
{
    char *text = malloc(30000 * 12 + 100), *p = text;
    assert_non_null(text);
    p += sprintf(p, "sptensor\n2\n40 90000\n%d\n", count);
    for (int i = 1; i <= 30000; i++)
        p += sprintf(p, "%d %d 1\n", i % 7 + 1, i);
    write_file(text, (size_t)(p - text));
    free(text);
}

static void test_header_counts_all_pieces(void **state)
{
    (void)state;
    struct coo x;
    struct tns_report report;
    struct error error = {0};
    write_sptensor(30000);
    assert_true(check(1, &one_based) > 2);
    write_sptensor(29999);
    struct collector c = {0};
    uint64_t dims[] = {40, 90000};
    assert_int_equal(coo_create(&c.x, SHAPE(2, dims), 30000, &error), STATUS_OK);
    struct tns_pieces pieces = {1, 0, take, &c, NULL};
    assert_int_equal(tns_read_pieces(&x, path, &one_based, &pieces, &report, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "30000 entries, expected 29999"));
    assert_null(x.value);
    coo_free(&c.x);
}

static void test_the_taker_may_stop_it(void **state)
{
    (void)state;
    struct coo x;
    struct tns_report report;
    struct error error = {0};
    int calls = 0;
    struct tns_pieces pieces = {1, 0, stop, &calls, NULL};
    write_sptensor(30000);
    assert_int_equal(tns_read_pieces(&x, path, &one_based, &pieces, &report, &error),
                     STATUS_OUTPUT);
    assert_int_equal(calls, 1);
    assert_null(x.value);
}

/* Reading at once ends with an error, not with the system out of memory. */
static void test_more_than_memory_holds(void **state)
{
    (void)state;
    static const struct tns_sizes small = {1 << 12, 1 << 10};
    struct coo x;
    struct tns_report report;
    struct error error;
    struct tns_options options = one_based;
    uint64_t needed = 30000 * (2 * 4 + 8 + TNS_CLEAN_BYTES);
    write_sptensor(30000);
    options.memory = needed;
    assert_int_equal(read_file(&x, &options, &small, &report, &error), STATUS_OK);
    assert_int_equal(x.nnz, 30000);
    coo_free(&x);
    options.memory = needed / 2;
    assert_int_equal(read_file(&x, &options, &small, &report, &error), STATUS_MEMORY);
    assert_null(x.value);
    assert_non_null(strstr(error.message, path));
    assert_non_null(strstr(error.message, "for which there is not enough memory: convert it to "
                                          ".blco, which takes less, or allow more with "
                                          "--host-memory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_header_counts_all_pieces),
        cmocka_unit_test(test_the_taker_may_stop_it),
        cmocka_unit_test(test_more_than_memory_holds),
    };
    return cmocka_run_group_tests_name("tns pieces", tests, make_folder, remove_folder);
}
