/* The writer of .blco files: pieces of any size, by position or in order, make one file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "formats/blco/blco_file.h"
#include "formats/external_sort.h"
#include "support/naive.h"
#include "support/scratch.h"

#include "support/blco_files.h"

/* x's nonzeros [from, from + count) as a tensor that borrows its arrays. */
static struct coo window(const struct coo *x, uint64_t from, uint64_t count)
{
    struct coo part = *x;
    part.nnz = count;
    part.value += from;
    for (int n = 0; n < x->shape.order; n++)
        part.index[n] += from;
    return part;
}

static void append(struct blco_writer *w, const struct coo *x, uint64_t from, uint64_t count,
                   int by_position)
{
    struct error error = {0};
    struct coo part = window(x, from, count);
    uint64_t *position = malloc((count + 1) * sizeof *position);
    assert_non_null(position);
    for (uint64_t i = 0; i < count; i++)
        position[i] = i;
    assert_int_equal(blco_writer_append(w, &part, by_position ? position : NULL, count, &error),
                     STATUS_OK);
    free(position);
}

static void test_pieces(void **state)
{
    (void)state;
    static const uint64_t dims[] = {3000, 700, 900};
    static const uint64_t lengths[] = {1, BLCO_SEGMENT_NNZ,          2 * BLCO_SEGMENT_NNZ, 70000,
                                       5, 3 * BLCO_SEGMENT_NNZ - 100};
    enum { LENGTHS = sizeof lengths / sizeof lengths[0] };
    struct coo x, sorted;
    struct external_sort_report report;
    struct error error = {0};
    size_t size, expected_size;
    naive_random_coo(&x, SHAPE(3, dims), 8 * BLCO_SEGMENT_NNZ + 5000, 1, 0);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    assert_int_equal(read_blco(&sorted, scratch_path("x.blco"), &error), STATUS_OK);
    char *expected = file_bytes(scratch_path("x.blco"), &expected_size);
    for (int first = 0; first < LENGTHS; first++) {
        for (int by_position = 0; by_position < 3; by_position++) {
            struct blco_writer w;
            uint64_t bytes, done = 0;
            assert_int_equal(blco_writer_open(&w, scratch_path("y.blco"), SHAPE(3, dims),
                                              first % 2 ? 1 : 1 << 24, &error),
                             STATUS_OK);
            for (int i = first; done < sorted.nnz; i++) {
                uint64_t left = sorted.nnz - done, length = lengths[i % LENGTHS];
                length = length < left ? length : left;
                append(&w, &sorted, done, length, by_position == 2 ? i % 2 : by_position);
                done += length;
            }
            assert_int_equal(blco_writer_commit(&w, &bytes, &error), STATUS_OK);
            char *got = file_bytes(scratch_path("y.blco"), &size);
            assert_int_equal(size, expected_size);
            assert_int_equal(bytes, size);
            assert_memory_equal(got, expected, size);
            free(got);
        }
    }
    free(expected);
    coo_free(&sorted);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pieces, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
