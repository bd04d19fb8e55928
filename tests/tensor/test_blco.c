#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <omp.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/lines.h"
#include "support/naive.h"
#include "tensor/blco.h"
#include "tensor/ordering.h"

static struct blco build(const struct coo *x, int kind, int index_bits)
{
    struct error error = {0};
    struct blco b;
    struct blco_options options = {.kind = kind, .index_bits = index_bits};
    assert_int_equal(blco_build(&b, x, &options, &error), STATUS_OK);
    return b;
}

/* Lines as encode_line gives them, most significant word first. */
struct line {
    uint64_t word[MAX_LINE_WORDS];
    double value;
};

static struct line line_of(const struct ordering *o, const uint32_t *coordinate, double value)
{
    uint64_t low_first[MAX_LINE_WORDS] = {0};
    struct line line = {.value = value};
    encode_line(o, coordinate, low_first);
    for (int w = 0; w < MAX_LINE_WORDS; w++)
        line.word[w] = low_first[MAX_LINE_WORDS - 1 - w];
    return line;
}

static int compare_lines(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    for (int w = 0; w < MAX_LINE_WORDS; w++)
        if (x->word[w] != y->word[w])
            return x->word[w] < y->word[w] ? -1 : 1;
    return 0;
}

static struct line *sorted_lines(const struct ordering *o, const struct coo *x)
{
    struct line *lines = calloc(x->nnz + 1, sizeof *lines);
    assert_non_null(lines);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint32_t coordinate[MAX_ORDER];
        for (int n = 0; n < x->shape.order; n++)
            coordinate[n] = x->index[n][i];
        lines[i] = line_of(o, coordinate, x->value[i]);
    }
    qsort(lines, x->nnz, sizeof *lines, compare_lines);
    return lines;
}

/* Blocks follow each other without gaps, none empty, cover everything, and neighbours have
 * different bases. */
static void check_blocks(const struct blco *b)
{
    uint64_t next = 0;
    for (uint64_t k = 0; k < b->nblocks; k++) {
        const struct blco_block *block = &b->block[k];
        assert_int_equal(block->first, next);
        assert_true(block->count >= 1);
        for (int n = 0; n < b->shape.order; n++)
            assert_int_equal(block->base[n] & b->ordering.field[n].mask, 0);
        if (k > 0)
            assert_memory_not_equal(block->base, block[-1].base,
                                    (size_t)b->shape.order * sizeof *block->base);
        next += block->count;
    }
    assert_int_equal(next, b->nnz);
}

/* Every nonzero is there exactly once, with its value, in line order; also through blco_to_coo. */
static void check_contents(const struct blco *b, const struct coo *x)
{
    struct error error = {0};
    struct coo back;
    assert_int_equal(b->nnz, x->nnz);
    assert_int_equal(blco_to_coo(b, &back, &error), STATUS_OK);
    struct line *expected = sorted_lines(&b->ordering, x);
    for (uint64_t k = 0; k < b->nblocks; k++) {
        uint64_t first = b->block[k].first;
        for (uint64_t i = first; i < first + b->block[k].count; i++) {
            uint32_t coordinate[MAX_ORDER];
            assert_int_equal(blco_block_of(b, i), k);
            decode_nonzero(b, k, i, coordinate);
            struct line line = line_of(&b->ordering, coordinate, b->value[i]);
            assert_int_equal(compare_lines(&line, &expected[i]), 0);
            assert_true(line.value == expected[i].value);
            for (int n = 0; n < x->shape.order; n++)
                assert_int_equal(back.index[n][i], coordinate[n]);
            assert_true(back.value[i] == b->value[i]);
        }
    }
    assert_true(b->norm_sq == coo_norm_sq(x));
    assert_int_equal(b->index[1] != NULL, b->ordering.words == 2);
    free(expected);
    coo_free(&back);
}

/* The BLCO paper's Figure 6, values 1 to 12 in the order in which it lists the nonzeros. */
static void test_figure_6(void **state)
{
    (void)state;
    static const uint32_t coordinate[12][3] = {{0, 0, 0}, {0, 0, 1}, {0, 2, 2}, {1, 0, 1},
                                               {1, 0, 2}, {2, 0, 1}, {2, 3, 3}, {3, 1, 0},
                                               {3, 1, 1}, {3, 2, 2}, {3, 2, 3}, {3, 3, 3}};
    static const uint64_t index[12] = {0, 16, 17, 7, 18, 23, 1, 8, 11, 27, 30, 31};
    static const double value[12] = {1, 2, 4, 8, 6, 9, 5, 3, 10, 11, 7, 12};
    static const uint64_t dims[3] = {4, 4, 4};
    struct error error = {0};
    struct coo x;
    assert_int_equal(coo_create(&x, SHAPE(3, dims), 12, &error), STATUS_OK);
    for (int i = 0; i < 12; i++) {
        for (int n = 0; n < 3; n++)
            x.index[n][i] = coordinate[i][n];
        x.value[i] = i + 1;
    }
    struct blco b = build(&x, ORDERING_ALTO, 5);
    assert_int_equal(b.nblocks, 2);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(b.block[k].first, 6 * k);
        assert_int_equal(b.block[k].count, 6);
        assert_int_equal(b.block[k].base[0], 0);
        assert_int_equal(b.block[k].base[1], 0);
        assert_int_equal(b.block[k].base[2], 2 * k);
    }
    assert_memory_equal(b.index[0], index, sizeof index);
    for (int i = 0; i < 12; i++)
        assert_true(b.value[i] == value[i]);
    assert_true(b.norm_sq == 650);
    blco_free(&b);
    blco_free(&b);
    coo_free(&x);
}

struct tensor_case {
    struct shape shape;
    uint64_t nnz;
};

#define LONG MAX_LENGTH
static const struct tensor_case tensors[] = {
    {{1, {100}}, 60},
    {{2, {1, 1}}, 1},
    {{3, {50, 1, 70}}, 0},
    {{3, {12, 200, 31}}, 700},
    {{4, {183, 24, 1140, 1717}}, 900},
    {{2, {LONG, LONG}}, 400},                                      /* 64 bits   */
    {{3, {LONG, 2, LONG}}, 400},                                   /* 65 bits   */
    {{5, {1000000, 300000, 700000, 200000, 100000}}, 400},         /* 93 bits   */
    {{5, {1 << 25, 1 << 25, 1 << 25, 1 << 25, 1 << 25}}, 400},     /* 125: the cut is lowered */
    {{6, {3, LONG, LONG, 5, LONG, LONG}}, 400},                    /* 133 bits  */
    {{16, {2, 3, 1, 5, 2, 2, 4, 2, 3, 1, 2, 2, 6, 2, 2, 3}}, 500}, /* many modes */
    {{16,
      {LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG,
       LONG}},
     200}, /* 512 bits  */
};
#define TENSORS (sizeof tensors / sizeof *tensors)

static void test_every_nonzero_once(void **state)
{
    (void)state;
    static const int index_bits[] = {0, 1, 5, 20, 64, 65, 90, 128};
    for (size_t s = 0; s < TENSORS; s++) {
        struct coo x;
        naive_random_coo(&x, &tensors[s].shape, tensors[s].nnz, s + 1, s % 2 == 0);
        for (int kind = ORDERING_ALTO; kind<x.shape.order; kind += x.shape.order> 6 ? 5 : 1)
            for (size_t i = 0; i < sizeof index_bits / sizeof *index_bits; i++) {
                struct blco b = build(&x, kind, index_bits[i]);
                check_blocks(&b);
                check_contents(&b, &x);
                blco_free(&b);
            }
        coo_free(&x);
    }
}

/* Without a wish for index bits: one word where lines or blocks allow it, two otherwise. */
static void test_choice_of_index_words(void **state)
{
    (void)state;
    static const struct {
        struct tensor_case tensor;
        int words;
    } cases[] = {
        {{{2, {LONG, LONG}}, 300}, 1},
        {{{3, {1 << 20, 1 << 20, 1 << 20}}, 300}, 1},
        {{{3, {LONG, LONG, LONG}}, 300}, 2},                /* 300 blocks of one nonzero        */
        {{{4, {2, 1 << 24, 1 << 20, 1 << 20}}, 20000}, 1},  /* two blocks of about 10000        */
        {{{4, {16, 1 << 22, 1 << 21, 1 << 20}}, 20000}, 2}, /* 8 blocks of about 2500           */
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct coo x;
        naive_random_coo(&x, &cases[c].tensor.shape, cases[c].tensor.nnz, c + 1, 0);
        struct blco b = build(&x, 0, 0);
        assert_int_equal(b.ordering.words, cases[c].words);
        blco_free(&b);
        for (int n = 0; n < x.shape.order; n++) /* all in one corner: all in one block */
            for (uint64_t i = 0; i < x.nnz; i++)
                x.index[n][i] = n == x.shape.order - 1 ? (uint32_t)i : 0;
        b = build(&x, ORDERING_ALTO, 0);
        assert_int_equal(b.ordering.words, 1);
        assert_int_equal(b.nblocks, 1);
        blco_free(&b);
        coo_free(&x);
    }
}

static void test_threads_do_not_matter(void **state)
{
    (void)state;
    static const struct tensor_case both[] = {{{3, {200, 300, 400}}, 60000},
                                              {{3, {LONG, LONG, LONG}}, 60000}};
    int threads = omp_get_max_threads();
    for (int s = 0; s < 2; s++) {
        struct coo x;
        naive_random_coo(&x, &both[s].shape, both[s].nnz, 11, 1);
        struct blco one = {0};
        for (int t = 1; t <= 3; t++) {
            omp_set_num_threads(t);
            struct blco b = build(&x, ORDERING_ALTO, 0);
            if (t == 1) {
                check_contents(&b, &x);
                one = b;
                continue;
            }
            assert_int_equal(b.nblocks, one.nblocks);
            for (int w = 0; w < b.ordering.words; w++)
                assert_memory_equal(b.index[w], one.index[w], b.nnz * sizeof *b.index[w]);
            assert_memory_equal(b.value, one.value, b.nnz * sizeof *b.value);
            blco_free(&b);
        }
        blco_free(&one);
        coo_free(&x);
    }
    omp_set_num_threads(threads);
}

static void test_allocation_failures(void **state)
{
    (void)state;
    for (int long_line = 0; long_line <= 1; long_line++) {
        static const uint64_t dims[2][3] = {{20, 30, 40}, {LONG, LONG, LONG}};
        struct coo x;
        naive_random_coo(&x, SHAPE(3, dims[long_line]), 300, 12, 0);
        int failures = 0;
        for (long k = 0, fired = 1; fired; k++) {
            struct error error = {0};
            struct blco b;
            struct coo back = {0};
            struct blco_options options = {.kind = ORDERING_ALTO};
            memory_hook_set(k);
            enum status built = blco_build(&b, &x, &options, &error);
            enum status status = built == STATUS_OK ? blco_to_coo(&b, &back, &error) : built;
            fired = memory_hook_fired();
            memory_hook_set(-1);
            assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
            if (built != STATUS_OK) {
                assert_null(b.index[0]);
                assert_null(b.value);
                assert_null(b.block);
            }
            failures += fired != 0;
            coo_free(&back);
            blco_free(&b);
        }
        assert_true(failures > 10);
        coo_free(&x);
    }
}

/* ---  --- */

/* Sorts x by coordinates, mode by mode, as a sorted file is. */
static enum status sort_coordinates(struct coo *x)
{
    struct error error = {0};
    struct ordering natural;
    struct coo sorted;
    ordering_natural(&natural, &x->shape);
    assert_int_equal(coo_create(&sorted, &x->shape, x->nnz, &error), STATUS_OK);
    uint64_t *key = memory_array(x->nnz, sizeof *key, &error);
    uint64_t *position = memory_array(x->nnz, sizeof *position, &error);
    assert_true(key && position);
    for (uint64_t i = 0; i < x->nnz; i++)
        position[i] = i;
    ordering_sort(&natural, x, position, x->nnz, key, &error);
    for (uint64_t i = 0; i < x->nnz; i++) {
        for (int n = 0; n < x->shape.order; n++)
            sorted.index[n][i] = x->index[n][position[i]];
        sorted.value[i] = x->value[position[i]];
    }
    memory_free(key);
    memory_free(position);
    coo_free(x);
    *x = sorted;
    return error.status;
}

static void assert_same(const struct blco *a, const struct blco *b)
{
    assert_int_equal(a->nblocks, b->nblocks);
    assert_int_equal(a->ordering.words, 1);
    assert_true(a->norm_sq == b->norm_sq);
    for (uint64_t k = 0; k < a->nblocks; k++) {
        assert_int_equal(a->block[k].first, b->block[k].first);
        assert_int_equal(a->block[k].count, b->block[k].count);
        assert_memory_equal(a->block[k].base, b->block[k].base, sizeof a->block[k].base);
    }
    assert_memory_equal(a->index[0], b->index[0], a->nnz * sizeof *a->index[0]);
    assert_memory_equal(a->value, b->value, a->nnz * sizeof *a->value);
}

/* From a presort, every ordering `mode n` comes out as it is built from x. */
static void check_presort(const struct coo *x)
{
    struct error error = {0};
    struct blco presort;
    assert_true(ordering_line_bits(&x->shape) <= 64);
    assert_int_equal(blco_build_common(&presort, x, NULL, &error), STATUS_OK);
    int common = presort.ordering.kind;
    for (int i = 0; i <= x->shape.order; i++) {
        int n = i < x->shape.order ? i : common;
        struct blco b, expected;
        struct blco_options options = {.kind = n, .index_bits = 64};
        assert_int_equal(blco_build(&expected, x, &options, &error), STATUS_OK);
        assert_int_equal(blco_build_from(&b, &presort, n, i == x->shape.order, &error), STATUS_OK);
        assert_same(&b, &expected);
        blco_free(&b);
        blco_free(&expected);
    }
    blco_free(&presort);
}

static void test_every_mode(void **state)
{
    (void)state;
    static const struct {
        struct shape shape;
        uint64_t nnz;
    } some[] = {
        {{1, {100}}, 60},
        {{2, {1, 1}}, 1},
        {{3, {50, 1, 70}}, 0},
        {{3, {40, 900, 12}}, 20000},
        {{3, {900, 40, 700}}, 60000},
        {{4, {12, 7, 300, 90}}, 30000},
        {{5, {5, 4, 3, 60, 9}}, 9000},
        {{3, {UINT64_C(1) << 22, UINT64_C(1) << 21, UINT64_C(1) << 21}}, 5000}, /* 64 bits */
    };
    for (size_t s = 0; s < sizeof some / sizeof *some; s++)
        for (int sorted = 0; sorted <= 1; sorted++) {
            struct coo x;
            naive_random_coo(&x, &some[s].shape, some[s].nnz, s, s % 2);
            omp_set_num_threads(1 + (int)s % 3);
            if (sorted)
                assert_int_equal(sort_coordinates(&x), STATUS_OK);
            check_presort(&x);
            coo_free(&x);
        }
}

static void test_presort_allocation_failures(void **state)
{
    (void)state;
    const uint64_t dims[] = {30, 200, 9};
    struct coo x;
    int failures = 0;
    naive_random_coo(&x, SHAPE(3, dims), 3000, 1, 0);
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct blco presort;
        struct blco b = {0};
        memory_hook_set(k);
        enum status status = blco_build_common(&presort, &x, NULL, &error);
        if (status == STATUS_OK)
            status = blco_build_from(&b, &presort, 1, true, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += (int)fired;
        blco_free(&presort);
        blco_free(&b);
    }
    assert_true(failures > 5);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figure_6),
        cmocka_unit_test(test_every_nonzero_once),
        cmocka_unit_test(test_choice_of_index_words),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_allocation_failures),
        cmocka_unit_test(test_every_mode),
        cmocka_unit_test(test_presort_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
