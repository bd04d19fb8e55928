/* The rows of several ranks: every nonzero keeps its rows, every row is solved once, and sums of M
 * and gathered rows are right, whether or not rows that only one rank touches are kept apart, and
 * where rows are dealt: then a rank gets all nonzeros of its rows, but for common ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <stdatomic.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ranks/nonzero_exchange.h"
#include "ranks/rank_tensor.h"
#include "support/naive.h"
#include "support/rank_threads.h"

/* What the ranks of a test share. */
struct world {
    const struct coo *x;
    double *sum[MAX_ORDER];        /* (I_n): of the values in each row                      */
    atomic_int *solved[MAX_ORDER]; /* (I_n): how many ranks solve the row                   */
    atomic_int *taken[MAX_ORDER];  /* (I_n): nonzeros of the row that ranks have for mode n */
    atomic_int apart;              /* modes and ranks that keep rows of their own apart     */
    atomic_int common, own;        /* dealt rows that are common, and that are not          */
    bool deals;                    /* rows are dealt                                        */
    int kept;                      /* then: the mode that is kept, or -1                    */
};

struct job {
    struct world *world;
    int parts[MAX_ORDER]; /* of the grid; 0: chosen */
    int modes;
};

/* The row of the whole that a row here is. */
static uint64_t whole_row(const struct part *p, int n, uint64_t i)
{
    return p->row[n] ? p->row[n][i] : p->first[n] + i;
}

static bool keeps_rows(const struct rank_rows *r, const struct coo *x, const struct coo *before,
                       const struct part *range)
{
    const struct part *part = &r->part;
    for (int n = 0; n < x->shape.order; n++)
        for (uint64_t i = 0; i < x->nnz; i++)
            if (x->index[n][i] >= part->here.dims[n] ||
                whole_row(part, n, x->index[n][i]) != range->first[n] + before->index[n][i])
                return false;
    return true;
}

static void note_solved(const struct rank_rows *r, struct world *w)
{
    for (int n = 0; n < r->part.whole.order; n++) {
        const struct mode_rows *m = &r->mode[n];
        w->apart += m->row != NULL;
        for (uint64_t i = m->first; i < m->first + m->count; i++)
            if (whole_row(&r->part, n, i) != NO_ROW)
                w->solved[n][whole_row(&r->part, n, i)]++;
    }
}

/* With M the sums of this rank's values, two columns of them. */
static bool adds_up(const struct rank_rows *r, const struct coo *x, const struct world *w, int n,
                    struct error *error)
{
    uint64_t rows = r->part.here.dims[n], first = r->mode[n].first,
             behind = first + r->mode[n].count;
    double *m = calloc(2 * rows + 1, sizeof *m);
    bool right = m != NULL;
    for (uint64_t i = 0; right && i < x->nnz; i++) {
        m[2 * (uint64_t)x->index[n][i]] += x->value[i];
        m[2 * (uint64_t)x->index[n][i] + 1] -= x->value[i];
    }
    right = right && rank_rows_reduce_scatter(r, n, m, 2, error) == STATUS_OK;
    for (uint64_t i = 0; right && i < rows; i++) {
        uint64_t row = whole_row(&r->part, n, i);
        double expected = row == NO_ROW ? 0 : w->sum[n][row];
        if (i >= first && i < behind)
            right = m[2 * i] == expected && m[2 * i + 1] == -expected;
        else
            m[2 * i] = m[2 * i + 1] = NAN;
    }
    right = right && rank_rows_allgather(r, n, m, 2, error) == STATUS_OK;
    for (uint64_t i = 0; right && i < rows; i++) {
        uint64_t row = whole_row(&r->part, n, i);
        right = row == NO_ROW || (m[2 * i] == w->sum[n][row] && m[2 * i + 1] == -w->sum[n][row]);
    }
    free(m);
    return right;
}

/* The value of each nonzero of a dealt tensor: small, so that sums are exact in any order. */
static double value_at(const uint32_t *index, int order)
{
    uint64_t sum = 1;
    for (int n = 0; n < order; n++)
        sum = 31 * sum + index[n];
    return (double)(sum % 1000 + 1);
}

/* Notes the nonzeros that this rank has for mode n: what they are, where they belong. */
static bool takes_nonzeros(const struct rank_rows *r, const struct coo *x, struct world *w, int n,
                           struct error *error)
{
    const struct mode_rows *m = &r->mode[n];
    struct coo taken;
    if (nonzero_exchange_mode(&taken, r, n, x, error) != STATUS_OK)
        return false;
    bool right = taken.nnz <= r->most_nnz && shape_equal(&taken.shape, &x->shape);
    for (uint64_t i = 0; right && i < taken.nnz; i++) {
        uint32_t index[MAX_ORDER];
        for (int k = 0; k < taken.shape.order; k++)
            index[k] = (uint32_t)whole_row(&r->part, k, taken.index[k][i]);
        w->taken[n][index[n]]++;
        const uint64_t row = taken.index[n][i];
        right = mode_rows_is_common(m, row) || row - m->first < m->count;
        right = right && taken.value[i] == value_at(index, taken.shape.order);
    }
    for (uint64_t i = m->first; i < m->first + m->count; i++)
        ++*(mode_rows_is_common(m, i) ? &w->common : &w->own);
    coo_free(&taken);
    return right;
}

static void divide(struct rank_rows *r, struct coo *x, const struct world *w, struct error *error)
{
    if (w->deals)
        rank_rows_deal(r, x, w->kept, error);
    else
        rank_rows_divide(r, x, error);
}

/* Where a mode is kept, this rank's nonzeros serve all modes. */
static bool keeps_nonzeros(const struct rank_rows *r, const struct coo *x, struct world *w)
{
    for (int n = 0; n < x->shape.order; n++)
        for (uint64_t i = 0; i < x->nnz; i++) {
            const uint64_t row = x->index[n][i];
            const bool common = mode_rows_is_common(&r->mode[n], row);
            if (common == (n == w->kept) || (!common && row - r->mode[n].first >= r->mode[n].count))
                return false;
            w->taken[n][whole_row(&r->part, n, row)]++;
            ++*(common ? &w->common : &w->own);
        }
    return true;
}

static void one_rank(struct comm *c, void *context, struct error *error)
{
    struct job *job = context;
    struct rank_request request = {
        .modes = job->modes, .row_bytes = 64, .machine = {.one_host = true, .threads = 1}};
    struct rank_tensor t;
    struct rank_rows r = {0};
    struct coo before = {0};
    memcpy(request.parts, job->parts, sizeof request.parts);
    if (rank_tensor_share(&t, c, job->world->x, &request, error) == STATUS_OK &&
        coo_create(&before, &t.input.x.shape, t.input.x.nnz, error) == STATUS_OK) {
        for (int n = 0; n < t.shape.order; n++)
            memcpy(before.index[n], t.input.x.index[n], t.input.x.nnz * sizeof *before.index[n]);
        if (rank_rows_open(&r, c, &t.grid, error) == STATUS_OK)
            divide(&r, &t.input.x, job->world, error);
    }
    bool right = error->status == STATUS_OK && keeps_rows(&r, &t.input.x, &before, &t.part);
    if (error->status == STATUS_OK)
        note_solved(&r, job->world);
    for (int n = 0; right && n < t.shape.order; n++)
        right = adds_up(&r, &t.input.x, job->world, n, error);
    if (right && r.divided && !r.dealt && job->world->deals)
        right = keeps_nonzeros(&r, &t.input.x, job->world);
    for (int n = 0; right && r.dealt && n < t.shape.order; n++)
        right = takes_nonzeros(&r, &t.input.x, job->world, n, error);
    if (!right)
        error_set(error, STATUS_INTERNAL, "rank %d: rows are wrong", c->rank);
    if (error->status != STATUS_OK)
        comm_abort(c, error);
    rank_rows_close(&r);
    coo_free(&before);
    rank_tensor_close(&t);
}

static void make_world(struct world *w, const struct coo *x, bool deals)
{
    *w = (struct world){.x = x, .deals = deals, .kept = -1};
    for (int n = 0; n < x->shape.order; n++) {
        w->sum[n] = calloc(x->shape.dims[n], sizeof *w->sum[n]);
        w->solved[n] = calloc(x->shape.dims[n], sizeof *w->solved[n]);
        w->taken[n] = calloc(x->shape.dims[n], sizeof *w->taken[n]);
        for (uint64_t i = 0; i < x->nnz; i++)
            w->sum[n][x->index[n][i]] += x->value[i];
    }
}

static void free_world(struct world *w)
{
    for (int n = 0; n < w->x->shape.order; n++) {
        free(w->sum[n]);
        free((void *)w->solved[n]);
        free((void *)w->taken[n]);
    }
}

static void check_rows(const struct coo *x, int ranks, const int *parts, int *apart)
{
    struct world w;
    struct job job[MOST_RANKS];
    struct error errors[MOST_RANKS];
    make_world(&w, x, false);
    for (int k = 0; k < MOST_RANKS; k++) {
        job[k] = (struct job){.world = &w, .modes = parts ? x->shape.order : 0};
        if (parts)
            memcpy(job[k].parts, parts, (size_t)x->shape.order * sizeof *parts);
    }
    assert_true(run_rank_threads(ranks, one_rank, job, sizeof *job, errors));
    assert_all_well(errors, ranks);
    for (int n = 0; n < x->shape.order; n++)
        for (uint64_t i = 0; i < x->shape.dims[n]; i++)
            assert_int_equal(w.solved[n][i], 1);
    *apart += w.apart;
    free_world(&w);
}

/* Few nonzeros, so that ranks have many rows for themselves; or many, so that all are shared. */
static void test_rows(void **state)
{
    (void)state;
    static const struct {
        struct shape shape;
        uint64_t nnz;
        bool apart;
    } cases[] = {{{3, {200, 1, 300}}, 250, true},
                 {{2, {500, 40}}, 900, true},
                 {{3, {20, 30, 10}}, 4000, false}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct coo x;
        int apart = 0;
        naive_random_coo(&x, &cases[c].shape, cases[c].nnz, c, 0);
        for (uint64_t i = 0; i < x.nnz; i++)
            x.value[i] = (double)(i % 1000) + 1; /* sums are exact in any order */
        for (size_t s = 0; s < sizeof rank_counts / sizeof *rank_counts; s++) {
            int parts[MAX_ORDER] = {0};
            check_rows(&x, rank_counts[s], NULL, &apart);
            while (process_grid_next(parts, x.shape.order, rank_counts[s]))
                check_rows(&x, rank_counts[s], parts, &apart);
        }
        assert_true(cases[c].apart == (apart > 0));
        coo_free(&x);
    }
}

/* Each nonzero is with one rank for each mode. */
static void check_deal(const struct coo *x, int ranks, int kept)
{
    struct world w;
    struct job job[MOST_RANKS];
    struct error errors[MOST_RANKS];
    make_world(&w, x, true);
    w.kept = kept;
    for (int k = 0; k < MOST_RANKS; k++) {
        job[k] = (struct job){.world = &w, .modes = kept >= 0 ? x->shape.order : 0};
        for (int n = 0; kept >= 0 && n < x->shape.order; n++)
            job[k].parts[n] = n == kept ? ranks : 1;
    }
    assert_true(run_rank_threads(ranks, one_rank, job, sizeof *job, errors));
    assert_all_well(errors, ranks);
    for (int n = 0; n < x->shape.order; n++) {
        uint64_t *count = calloc(x->shape.dims[n], sizeof *count);
        for (uint64_t i = 0; i < x->nnz; i++)
            count[x->index[n][i]]++;
        for (uint64_t i = 0; i < x->shape.dims[n]; i++) {
            assert_int_equal(w.solved[n][i], 1);
            assert_int_equal(w.taken[n][i], count[i]);
        }
        free(count);
    }
    if (ranks > 1 && x->nnz > 1000) /* rows of both kinds */
        assert_true(w.common > 0 && w.own > 0);
    free_world(&w);
}

/* Most nonzeros are in the first row of each mode; some rows have none. */
static void test_dealt_rows(void **state)
{
    (void)state;
    static const struct {
        struct shape shape;
        uint64_t nnz;
    } cases[] = {{{3, {200, 1, 300}}, 3000},
                 {{1, {90}}, 40},
                 {{2, {3, 2}}, 4},
                 {{4, {40, 30, 2, 50}}, 4000},
                 {{5, {9, 1, 8, 7, 6}}, 2000},
                 {{3, {4, 5, 6}}, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct coo x;
        naive_random_coo(&x, &cases[c].shape, cases[c].nnz, c, 1);
        for (uint64_t i = 0; i < x.nnz; i++) {
            uint32_t index[MAX_ORDER];
            coo_coordinates(&x, i, index);
            x.value[i] = value_at(index, x.shape.order);
        }
        for (size_t s = 0; s < sizeof rank_counts / sizeof *rank_counts; s++)
            for (int kept = -1; rank_counts[s] > 1 && kept < x.shape.order; kept++)
                check_deal(&x, rank_counts[s], kept);
        coo_free(&x);
    }
}

/* All ranks end, whichever finds no memory. */
static void check_failing_allocations(bool deals)
{
    struct coo x;
    struct world w;
    naive_random_coo(&x, &(struct shape){2, {60, 40}}, 80, 1, 0);
    make_world(&w, &x, deals);
    int failures = 0;
    for (long k = 0, fired = 1; fired; k++) {
        struct job job[MOST_RANKS];
        struct error errors[MOST_RANKS];
        for (int r = 0; r < MOST_RANKS; r++)
            job[r] = (struct job){.world = &w, .parts = {2, 1}, .modes = 2};
        memory_hook_set(k);
        bool right = run_rank_threads(2, one_rank, job, sizeof *job, errors);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        failures += !right || errors[0].status == STATUS_MEMORY;
    }
    assert_true(failures > 20);
    free_world(&w);
    coo_free(&x);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    check_failing_allocations(false);
    check_failing_allocations(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_dealt_rows),
                                       cmocka_unit_test(test_failing_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
