/* Which rows the lines between two lines can have, against all of these lines one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/packed_tensors.h"
#include "tensor/row_range.h"

#define MOST_LINES 512

static void check_range(struct row_range got, struct row_range expected)
{
    if (got.first != expected.first || got.last != expected.last)
        fail_msg("rows %u to %u, expected %u to %u", got.first, got.last, expected.first,
                 expected.last);
}

/* row[l] = the row of line l. Lengths are powers of two, so every line belongs to coordinates. */
static void fill_rows(const struct ordering *o, const uint64_t *dims, int mode, uint32_t *row)
{
    uint32_t c[MAX_ORDER] = {0};
    for (uint64_t i = 0; i < UINT64_C(1) << o->line_bits; i++) {
        uint64_t line, rest = i;
        for (int n = 0; n < o->order; n++, rest /= dims[n - 1])
            c[n] = (uint32_t)(rest % dims[n]);
        ordering_encode(o, c, &line);
        row[line] = c[mode];
    }
}

static void check_all_ranges(const struct ordering *o, const uint64_t *dims, int mode)
{
    uint32_t row[MOST_LINES];
    fill_rows(o, dims, mode, row);
    for (uint64_t from = 0; from < UINT64_C(1) << o->line_bits; from++) {
        struct row_range expected = {row[from], row[from]};
        for (uint64_t to = from; to < UINT64_C(1) << o->line_bits; to++) {
            expected.first = row[to] < expected.first ? row[to] : expected.first;
            expected.last = row[to] > expected.last ? row[to] : expected.last;
            check_range(row_range_of_lines(o, mode, &from, &to), expected);
        }
    }
}

static void test_all_ranges(void **state)
{
    (void)state;
    static const uint64_t dims[][4] = {{64, 1, 1, 1}, {8, 8, 8, 1}, {2, 32, 4, 1},
                                       {1, 4, 4, 8},  {4, 4, 4, 4}, {128, 2, 1, 2}};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        for (int kind = ORDERING_ALTO; kind < 4; kind++) {
            struct ordering o;
            ordering_create(&o, kind, SHAPE(4, dims[i]), 64);
            assert_true(o.line_bits <= 9);
            for (int mode = 0; mode < 4; mode++)
                check_all_ranges(&o, dims[i], mode);
        }
}

static bool is_less(const uint64_t *a, const uint64_t *b, int words)
{
    for (int w = words - 1; w > 0; w--)
        if (a[w] != b[w])
            return a[w] < b[w];
    return a[0] < b[0];
}

/* Lines of many words: the range holds the rows of both ends and of a line between them. */
static void test_long_lines(void **state)
{
    (void)state;
    uint64_t seed = 1, dims[MAX_ORDER], met = 0;
    for (int i = 0; i < 3000; i++) {
        int order = 1 + i % MAX_ORDER, words;
        struct ordering o;
        uint32_t c[3][MAX_ORDER];
        uint64_t line[3][MAX_LINE_WORDS] = {{0}};
        random_lengths(&seed, order, 10 + i % 200, dims);
        ordering_create(&o, i % 3 ? ORDERING_ALTO : i % order, SHAPE(order, dims), 64);
        words = (o.line_bits + 63) / 64;
        words = words ? words : 1;
        for (int k = 0; k < 3; k++) {
            for (int n = 0; n < order; n++) /* mostly near each other */
                c[k][n] = k == 0 || naive_random(&seed) % 3 == 0
                              ? (uint32_t)(naive_random(&seed) % dims[n])
                              : c[0][n];
            ordering_encode(&o, c[k], line[k]);
        }
        bool swapped = is_less(line[1], line[0], words);
        const uint64_t *from = line[swapped], *to = line[!swapped];
        bool between = !is_less(line[2], from, words) && !is_less(to, line[2], words);
        met += between;
        for (int n = 0; n < order; n++) {
            struct row_range r = row_range_of_lines(&o, n, from, to);
            for (int k = 0; k < 3 - !between; k++)
                assert_true(r.first <= c[k][n] && c[k][n] <= r.last);
            check_range(row_range_of_lines(&o, n, line[0], line[0]),
                        (struct row_range){c[0][n], c[0][n]});
        }
    }
    assert_true(met > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_ranges),
        cmocka_unit_test(test_long_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
