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

static enum status count(void *entries, struct coo *piece, struct error *error)
{
    (void)error;
    *(uint64_t *)entries += piece->nnz;
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
    struct coo all;
    struct tensor_reader report,
        r = {.path = path, .tns = options, .format = &tensor_text, .cut = TENSOR_PIECES};
    struct error error;
    assert_int_equal(read_file(&all, options, &usual, &report, &error), STATUS_OK);
    struct collector c = {0};
    assert_int_equal(coo_create(&c.x, &all.shape, all.nnz, &error), STATUS_OK);
    r.memory = memory;
    tensor_reader_open(&r, &error);
    while (error.status == STATUS_OK && !r.over)
        if (tensor_reader_next(&r, &error) == STATUS_OK)
            collect(&c, &r.piece);
    if (error.status != STATUS_OK || tensor_reader_end(&r, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_true(shape_equal(&r.shape, &all.shape) && shape_equal(&r.piece.shape, &all.shape));
    assert_int_equal(c.used, all.nnz);
    for (int n = 0; n < all.shape.order; n++)
        assert_memory_equal(c.x.index[n], all.index[n], all.nnz * sizeof *all.index[n]);
    assert_memory_equal(c.x.value, all.value, all.nnz * sizeof *all.value);
    assert_int_equal(report.header, r.header);
    assert_int_equal(report.gzip, r.gzip);
    assert_int_equal(report.bytes, r.bytes);
    assert_int_equal(report.entries, r.entries);
    if (c.pieces > 1) /* 64 kB of text have at most that many text lines */
        assert_true(c.largest_piece <= 65536 / 4 ||
                    c.largest_piece * (4 * (uint64_t)all.shape.order + 8) <= memory);
    coo_free(&all);
    tensor_reader_close(&r);
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

/* As many pieces as can be. */
static struct tensor_reader in_pieces(void)
{
    return (struct tensor_reader){
        .path = path, .tns = &one_based, .format = &tensor_text, .cut = TENSOR_PIECES, .memory = 1};
}

static void test_header_counts_all_pieces(void **state)
{
    (void)state;
    struct error error = {0};
    uint64_t entries = 0;
    write_sptensor(30000);
    assert_true(check(1, &one_based) > 2);
    write_sptensor(29999);
    struct tensor_reader r = in_pieces();
    assert_int_equal(tensor_reader_each(&r, count, &entries, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "30000 entries, expected 29999"));
    assert_in_range(entries, 1, 29999); /* the last piece is not handed over */
}

static void test_the_taker_may_stop_it(void **state)
{
    (void)state;
    struct error error = {0};
    int calls = 0;
    struct tensor_reader r = in_pieces();
    write_sptensor(30000);
    assert_int_equal(tensor_reader_each(&r, stop, &calls, &error), STATUS_OUTPUT);
    assert_int_equal(calls, 1);
}

/* Reading at once ends with an error, not with the system out of memory. */
static void test_more_than_memory_holds(void **state)
{
    (void)state;
    static const struct tns_sizes small = {1 << 12, 1 << 10};
    struct coo x;
    struct tensor_reader report;
    struct error error;
    struct tns_options options = one_based;
    uint64_t needed = 30000 * (2 * 4 + 8 + TENSOR_CLEAN_BYTES);
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
