/* The kernels of rows, on the host: every row is that of a plain computation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/naive_row_pass.h"
#include "support/sanitized.h"

static const uint32_t ranks[] = {1, 3, 8, 13, 16, 20, 32, 40, 64};
#define RANKS (sizeof ranks / sizeof *ranks)

/* Short rows, some of them neighbours, and long ones. */
static const int lengths[] = {1, 2, 1, 1, 5,  3, 1, 9,  16, 2, 17, 1, 4, 8, 1, 40,
                              2, 1, 1, 1, 16, 6, 5, 33, 1,  1, 2,  7, 3, 1, 2, 12};
#define ROWS (sizeof lengths / sizeof *lengths)
/* More than half as many rows as lanes, in 32 nonzeros. */
static const int shortest_lengths[] = {1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 7, 1,
                                       1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 2, 1, 1};
#define SHORTEST_ROWS (sizeof shortest_lengths / sizeof *shortest_lengths)
static const int long_lengths[] = {5, 200, 1, 64, 17, 1};
#define LONG_ROWS (sizeof long_lengths / sizeof *long_lengths)
static const int run_lengths[] = {5, 290, 1, 64, 96, 33, 31, 1, 32, 257};
#define RUN_ROWS (sizeof run_lengths / sizeof *run_lengths)

/* From one case to the next. Under a sanitizer a fifth of them, of all ranks and precisions, is
 * enough. */
#define STEP (SANITIZED ? 5 : 1)

/* Of what is stored in single precision: beside the number itself. */
#define SINGLE_ROUNDING 1e-7

/* Of rows of singular systems, which ROW_SHIFT makes regular. */
#define SINGULAR_ROUNDING 1e-11

static double rounding_of(const struct row_pass *p)
{
    return row_case_is_single(p) ? SINGLE_ROUNDING : 0;
}

/* a (rank) = a row that the pass has left. */
static void read_row(const struct row_pass *p, uint32_t row, double *a)
{
    const uint64_t from = (uint64_t)p->at[p->first[row]][0] * p->ld;
    for (uint32_t r = 0; r < p->ld; r++)
        if (r < p->of.rank)
            a[r] = row_case_entry(p, p->m, from + r) / p->out[r];
        else
            assert_true(row_case_entry(p, p->m, from + r) == 0);
}

static void fail_row(const struct row_pass *p, uint32_t row, uint32_t r, double a, double b)
{
    print_error("R %u, row %u of %d nonzeros, entry %u: %.17g in place of %.17g\n", p->of.rank, row,
                p->first[row + 1] - p->first[row], r, a, b);
    fail();
}

/* bound: of the error of an entry, beside the largest one of the old and the new row. */
static void compare_row(const struct row_pass *p, uint32_t row, const struct naive_row *x,
                        double bound)
{
    const long double *a = x->a;
    double found[ROW_CASE_RANK], most = 0;
    read_row(p, row, found);
    for (uint32_t r = 0; r < p->of.rank; r++)
        most = fmax(most, fmax(fabs((double)a[r]), fabs((double)x->old[r])));
    for (uint32_t r = 0; r < p->of.rank; r++)
        if (!(fabs(found[r] - (double)a[r]) <= bound * most + rounding_of(p) * fabs(found[r])))
            fail_row(p, row, r, found[r], (double)a[r]);
}

/* H a = target, as far as double precision shows. The equations of short rows cost digits. */
static void compare_equations(const struct row_pass *p, uint32_t row, const struct naive_row *x,
                              double bound)
{
    double a[ROW_CASE_RANK];
    read_row(p, row, a);
    for (uint32_t r = 0; r < p->of.rank; r++) {
        long double sum = 0, size = fabsl(x->target[r]);
        for (uint32_t s = 0; s < p->of.rank; s++) {
            sum += x->h[r][s] * a[s];
            size += fabsl(x->h[r][s]) * (fabsl(x->old[s]) + fabs(a[s]));
        }
        if (!(fabsl(sum - x->target[r]) <= (bound + rounding_of(p)) * size))
            fail_row(p, row, r, (double)sum, (double)x->target[r]);
    }
}

static void compare_squares(const struct row_pass *p, uint32_t row, struct naive_row *x)
{
    const double of_short = p->of.short_rows > 0 ? 1e-15 : 0;
    naive_row_squares(p, row, x);
    compare_row(p, row, x, p->of.nonneg ? 1e-12 : 1e-14 * (1 + (double)x->trace));
    if (!p->of.nonneg)
        compare_equations(p, row, x, 1e-13 + of_short * fmin((double)x->trace, 1e8));
}

static void compare_counts(const struct row_pass *p, uint32_t row, struct naive_row *x)
{
    naive_row_counts(p, row, x);
    compare_row(p, row, x, 1e-12);
}

/* count: of the pass's totals. */
static void compare_totals(const struct row_pass *p, uint32_t count, const struct naive_row *sum)
{
    struct row_totals all = {0};
    for (uint32_t s = 0; s < count; s++) {
        const struct row_totals *of = &p->totals[s];
        all.misfit += of->misfit;
        all.size += of->size;
        all.penalty += of->penalty;
        assert_true(of->violation >= 0);
        all.violation = fmax(all.violation, of->violation);
    }
    assert_true(fabs(all.misfit - (double)sum->misfit) <= 1e-11 * all.size);
    assert_true(all.size >= fabs(all.misfit) * (1 - 1e-12));
    assert_true(fabs(all.penalty - (double)sum->penalty) <= 1e-10 * (double)sum->penalty);
    assert_true(fabs(all.violation - (double)sum->violation) <= 1e-11 * (double)sum->violation);
}

/* Rows without nonzeros are not written, or zero where their systems were sent. */
static void compare_others(const struct row_pass *p)
{
    const uint64_t bytes = p->ld * precision_bytes(p->of.precision);
    for (uint64_t i = 0; i < p->dims[0]; i++)
        for (uint64_t k = 0; i % ROW_CASE_STEP != 1 && k < bytes; k++)
            assert_int_equal(((unsigned char *)p->m)[i * bytes + k], p->of.sent ? 0 : 0xff);
}

/* As where devices share all rows: leaves their systems, and then solves these. Returns how many
 * totals there are. */
static uint32_t solve_sent(struct row_pass *p)
{
    struct row_systems_args args = p->args;
    const uint32_t rows = p->dims[0], peers = p->of.counts && args.rules.matrix ? 3 : 0;
    const uint64_t systems = rows * row_system_length(p->of.rank, args.rules.matrix);
    double *part = calloc(systems + rows * peers, sizeof *part);
    assert_non_null(part);
    args.sent = (struct row_sent){.part = part, .least = part + systems, .peers = peers, .peer = 1};
    assert_int_equal(row_systems_solve(&args, NULL), cudaSuccess);
    assert_int_equal(row_sent_solve(&args, rows, NULL), cudaSuccess);
    free(part);
    return rows;
}

static uint32_t solve(struct row_pass *p)
{
    assert_int_equal(row_short_prepare(&p->args, NULL), cudaSuccess);
    assert_int_equal(row_systems_solve(&p->args, NULL), cudaSuccess);
    return p->args.chunks + p->args.joins;
}

static void run(const struct row_case *of, const int *length, uint32_t rows)
{
    struct row_pass *p = row_case_open(of, length, rows);
    struct naive_row *x = malloc(sizeof *x), sum = {0};
    const uint32_t totals = of->sent ? solve_sent(p) : solve(p);
    for (uint32_t row = 0; row < rows; row++) {
        (of->counts ? compare_counts : compare_squares)(p, row, x);
        sum.misfit += x->misfit;
        sum.penalty += x->penalty;
        sum.violation = fmaxl(sum.violation, x->violation);
    }
    compare_totals(p, totals, &sum);
    compare_others(p);
    free(x);
    row_case_close(p);
}

/* The kinds of indices and of values that a case of this number has, and where its rows are cut. */
static struct row_case case_of(uint32_t rank, unsigned number)
{
    return (struct row_case){.order = 2 + (int)(number % 3),
                             .rank = rank,
                             .precision = number % 4 == 1 ? PRECISION_SINGLE : PRECISION_DOUBLE,
                             .wide_values = number % 8 == 1,
                             .two_words = number % 5 == 2,
                             .bases = number % 7 == 3,
                             .ridge = .3,
                             .chunk_nnz = number % 3 == 0   ? 30
                                          : number % 3 == 1 ? 100
                                                            : 7,
                             .seed = number + 100 * rank};
}

static void squares(struct row_case of, unsigned number)
{
    of.counted = number / 4 % 2;
    run(&of, lengths, ROWS);
    if (number % 4 == 0)
        run(&of, long_lengths, LONG_ROWS);
    of.short_rows = of.nonneg ? ROW_SHORT_DESCENT : ROW_SHORT_EQUATIONS;
    if (!of.nonneg && of.unlisted != 0 && of.counted)
        return;
    run(&of, lengths, ROWS);
    run(&of, shortest_lengths, SHORTEST_ROWS);
}

static void test_free_rows(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 3 * RANKS; k += STEP) {
        struct row_case of = case_of(ranks[k % RANKS], k);
        of.unlisted = k / RANKS == 0 ? 0 : k / RANKS == 1 ? .1 : 1;
        squares(of, k);
    }
}

static void test_nonnegative_rows(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 3 * RANKS; k += STEP) {
        struct row_case of = case_of(ranks[k % RANKS], k + 1);
        of.unlisted = k / RANKS == 0 ? 0 : k / RANKS == 1 ? .1 : 1;
        of.nonneg = true;
        squares(of, k);
    }
}

/* Where the ridge is so small that their equations would lose digits, or that what all rows have in
 * common is nearly singular, short rows are left to the others. */
static void test_small_ridges(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 2 * RANKS; k += STEP) {
        struct row_case of = case_of(ranks[k % RANKS], 4 * k);
        of.unlisted = k / RANKS == 0 ? 0 : .1;
        of.ridge = k % 2 ? 1e-6 : 1e-9;
        of.short_rows = ROW_SHORT_EQUATIONS;
        run(&of, lengths, ROWS);
    }
}

/* Without a ridge, a row of fewer nonzeros than components has many solutions. The row takes one of
 * them: H a = target. */
static void test_singular_rows(void **state)
{
    (void)state;
    for (unsigned k = 0; k < RANKS; k += STEP) {
        struct row_case of = case_of(ranks[k], 4 * k);
        of.ridge = 0;
        struct row_pass *p = row_case_open(&of, lengths, ROWS);
        struct naive_row *x = malloc(sizeof *x);
        assert_int_equal(row_systems_solve(&p->args, NULL), cudaSuccess);
        for (uint32_t row = 0; row < ROWS; row++) {
            naive_row_squares(p, row, x);
            compare_equations(p, row, x, SINGULAR_ROUNDING);
        }
        free(x);
        row_case_close(p);
    }
}

/* Where unlisted entries count as listed ones do, and all cells are listed, what h V and the
 * unknown entries add to H cancels: what is left is that of a known entry, of which every other
 * component has next to nothing. The others meet it, and the row stays near the old one. */
static void test_cancelled_rows(void **state)
{
    static const int all[] = {300, 300, 299, 300};
    (void)state;
    for (unsigned k = 0; k < 4 * RANKS; k += STEP) { /* rounding has its way in small systems */
        struct row_case of = case_of(k < RANKS ? ranks[k] : 1 + k % 3, 4 * k);
        of.order = 2;
        of.bases = false;
        of.ridge = 0;
        of.unlisted = 1;
        of.unknown = 1;
        of.faint = true;
        struct row_pass *p = row_case_open(&of, all, 4);
        int known[4];
        for (uint32_t row = 0; row < 4; row++) {
            known[row] = p->first[row];
            while (p->at[known[row]][1] % 2 != 0)
                known[row]++;
            row_case_set_value(p, known[row], 1 + row);
        }
        assert_int_equal(row_systems_solve(&p->args, NULL), cudaSuccess);
        for (uint32_t row = 0; row < 4; row++) {
            long double a[ROW_CASE_RANK] = {0};
            double found[ROW_CASE_RANK];
            read_row(p, row, found);
            for (uint32_t r = 0; r < of.rank; r++) {
                a[r] = found[r];
                assert_true(fabs(found[r]) < 1e3);
            }
            if (of.rank > 1 && row != 2) /* where a cell is a zero */
                assert_true(fabsl(naive_row_model(p, known[row], a) - (1 + row)) < 1e-3);
        }
        row_case_close(p);
    }
}

/* Known entries of which a component has next to nothing do not determine it. */
static void test_faint_components(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 2 * RANKS; k += STEP) {
        struct row_case of = case_of(ranks[k % RANKS], 4 * k);
        of.nonneg = of.faint = true;
        of.ridge = 0;
        of.unlisted = k / RANKS == 0 ? 0 : .1;
        run(&of, lengths, ROWS);
        of.short_rows = ROW_SHORT_DESCENT;
        run(&of, lengths, ROWS);
        run(&of, shortest_lengths, SHORTEST_ROWS);
    }
}

static int shorter(int a, int b)
{
    return a < b ? a : b;
}

static void test_counts(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 4 * RANKS; k += STEP) {
        struct row_case of = case_of(ranks[k % RANKS], k + 2);
        of.counts = true;
        of.kind = (enum poisson_kind)((k + k / RANKS) % 3);
        of.unlisted = k / RANKS == 0 ? 0 : k / RANKS == 1 ? .1 : 1;
        of.all_known = k / RANKS == 3;
        if (k % 4 == 0)
            run(&of, long_lengths, LONG_ROWS);
        of.short_rows = shorter(ROW_SHORT_DIAGONAL, poisson_short_rows(of.rank));
        run(&of, lengths, ROWS);
    }
}

/* Long rows whose values are known, or nearly all of them, go window by window (row_run.cuh). A
 * rank has each way with counts or without them, and the next one, often of the same kernel, the
 * other. */
static void test_runs(void **state)
{
    static const uint32_t of_runs[] = {1, 7, 8, 12, 16, 17, 31, 32, 33, 40, 50, 63, 64};
    static const int orders[] = {3, 3, 3, 4, 4, 3, 5, 2};
    static const double unlisted[] = {0, 1, .1, 0, .1, 1, 0, .1};
    (void)state;
    for (unsigned k = 0; k < sizeof of_runs / sizeof *of_runs; k++)
        for (unsigned way = k % STEP; way < 16; way += STEP) {
            if (!SANITIZED && (k + way + way / 8) % 2)
                continue;
            struct row_case of = case_of(of_runs[k], 16 * k + way);
            of.counts = way >= 8;
            of.kind = of.counts && (k / 2 + way) % 2 ? POISSON_CLIPPED : POISSON_COUNTS;
            of.order = orders[way % 8];
            of.two_words = of.bases = false;
            of.precision = way % 8 == 2 || way % 8 == 4 ? PRECISION_SINGLE : PRECISION_DOUBLE;
            of.wide_values = k % 2;
            of.counted = way % 2;
            of.all_known = of.counts || way % 2;
            of.unknown = 40;
            of.unlisted = of.counts ? 1 : unlisted[way % 8];
            of.sent = (k + way) % 3 == 0;
            of.chunk_nnz = k % 2 ? 137 : 700;
            run(&of, run_lengths, RUN_ROWS);
        }
}

/* Joins of so many parts that several threads add the same number. */
static void test_joins_of_many_parts(void **state)
{
    static const int many[] = {280, 290};
    (void)state;
    for (unsigned k = 0; k < 4 * RANKS; k += STEP) {
        struct row_case of = case_of(ranks[k % RANKS], 3 * k + 2);
        of.bases = false;
        of.unlisted = k % 2 ? .1 : 0;
        of.nonneg = k / RANKS == 1;
        of.counts = k / RANKS >= 2;
        of.multiplies = k / RANKS == 3;
        of.kind = of.counts ? (enum poisson_kind)(k % 3) : POISSON_COUNTS;
        run(&of, many, 2);
    }
}

static void test_multiplied_counts(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 4 * RANKS; k += STEP) {
        struct row_case of = case_of(ranks[k % RANKS], k);
        of.counts = of.multiplies = true;
        of.kind = (enum poisson_kind)((k + k / RANKS) % 3);
        of.unlisted = k / RANKS == 0 ? 0 : k / RANKS == 1 ? .1 : 1;
        of.all_known = k / RANKS == 3;
        run(&of, lengths, ROWS);
        run(&of, long_lengths, LONG_ROWS);
    }
}

static void test_sent_rows(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 4 * RANKS; k += STEP) {
        struct row_case of = case_of(ranks[k % RANKS], k + 3);
        of.sent = true;
        of.unlisted = k % 5 < 2 ? .1 : 0;
        of.nonneg = k / RANKS == 1;
        of.counts = k / RANKS >= 2;
        of.multiplies = k / RANKS == 3;
        of.kind = of.counts ? (enum poisson_kind)(k % 3) : POISSON_COUNTS;
        run(&of, lengths, ROWS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_free_rows),
        cmocka_unit_test(test_nonnegative_rows),
        cmocka_unit_test(test_small_ridges),
        cmocka_unit_test(test_singular_rows),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_joins_of_many_parts),
        cmocka_unit_test(test_multiplied_counts),
        cmocka_unit_test(test_sent_rows),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_cancelled_rows),
        cmocka_unit_test(test_faint_components),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
