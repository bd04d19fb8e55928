/* Which entries are held out: the same for any number of ranks and any order of the entries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ranks/holdout_set.h"
#include "support/naive.h"
#include "support/rank_threads.h"

struct cell {
    uint64_t at[MAX_ORDER];
    double value; /* of an entry that was drawn: NaN */
};

static int compare(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    for (int n = 0; n < MAX_ORDER; n++)
        if (a->at[n] != b->at[n])
            return a->at[n] < b->at[n] ? -1 : 1;
    return 0;
}

struct cells {
    struct cell *cell;
    uint64_t listed, count; /* the first `listed` are of the file */
};

static void sort(const struct cells *c)
{
    qsort(c->cell, c->listed, sizeof *c->cell, compare);
    qsort(c->cell + c->listed, c->count - c->listed, sizeof *c->cell, compare);
}

static struct cell cell_of(const struct coo *x, uint64_t i)
{
    struct cell of = {.value = x->value[i]};
    for (int n = 0; n < x->shape.order; n++)
        of.at[n] = x->index[n][i];
    return of;
}

static bool lists(const struct coo *x, const struct cell *at)
{
    for (uint64_t i = 0; i < x->nnz; i++) {
        const struct cell of = cell_of(x, i);
        if (compare(&of, at) == 0)
            return true;
    }
    return false;
}

/* Adds the next of the drawn coordinates, unless it is listed or there already. */
static void add_drawn(struct cells *c, const struct coo *x, const struct holdout *h, uint64_t k)
{
    uint32_t at[MAX_ORDER];
    struct cell of = {.value = NAN};
    holdout_draw(h, &x->shape, k, at);
    for (int n = 0; n < x->shape.order; n++)
        of.at[n] = at[n];
    for (uint64_t i = c->listed; i < c->count; i++)
        if (compare(&c->cell[i], &of) == 0)
            return;
    if (!lists(x, &of))
        c->cell[c->count++] = of;
}

/* Entry by entry, each as if it were a tensor of its own. */
static struct cells naive(const struct coo *x, const struct holdout *h, bool unlisted)
{
    struct cells c = {.cell = calloc(2 * x->nnz, sizeof(struct cell))};
    assert_non_null(c.cell);
    for (uint64_t i = 0; i < x->nnz; i++) {
        const struct cell of = cell_of(x, i);
        uint32_t zero = 0;
        struct coo one = {.shape = x->shape, .nnz = 1, .value = &x->value[i]};
        bool chosen;
        for (int n = 0; n < x->shape.order; n++)
            one.index[n] = &zero;
        if (holdout_choose(h, &one, of.at, &chosen) == 1)
            c.cell[c.count++] = of;
    }
    c.listed = c.count;
    for (uint64_t k = 0; unlisted && c.count < 2 * c.listed; k++)
        add_drawn(&c, x, h, k);
    sort(&c);
    return c;
}

struct job {
    const struct coo *x;
    struct holdout holdout;
    bool unlisted;
    struct cells set;           /* what the rank holds out, at their places in the whole tensor */
    struct holdout_set numbers; /* without the entries                                          */
    uint64_t nnz, unknown, counted;
    double norm_sq;
};

/* The place in the whole tensor of row `row` that the rank has of mode n. */
static uint64_t global(const struct rank_tensor *t, int n, uint64_t row)
{
    const struct part *part = &t->rows.part;
    return part->row[n] ? part->row[n][row] : part->first[n] + row;
}

/* Only the main thread asserts. */
static void keep(struct job *job, const struct rank_tensor *t)
{
    const struct coo *set = &t->holdout_set.x;
    job->set = (struct cells){.cell = calloc(set->nnz + 1, sizeof(struct cell)),
                              .listed = t->holdout_set.listed,
                              .count = set->nnz};
    for (uint64_t i = 0; i < set->nnz; i++) {
        struct cell *of = &job->set.cell[i];
        *of = cell_of(set, i);
        for (int n = 0; n < t->shape.order; n++)
            of->at[n] = global(t, n, of->at[n]);
    }
    job->numbers = t->holdout_set;
    job->nnz = t->input.x.nnz;
    job->unknown = t->listed.unknown;
    job->counted = coo_count_listed(&t->input.x).unknown;
    job->norm_sq = coo_norm_sq(&t->input.x);
}

/* Ranks close their tensors together. */
static void work(struct comm *c, void *context, struct error *error)
{
    static const struct tns_options one_based = {.index_base = 1};
    struct job *job = context;
    const struct rank_request request = {
        .tns = &one_based, .row_bytes = 64, .machine = {.one_host = true, .threads = 1}};
    struct rank_tensor t;
    if (rank_tensor_share(&t, c, job->x, &request, error) != STATUS_OK)
        return;
    if (holdout_set_take(&t, &job->holdout, job->unlisted, error) == STATUS_OK &&
        t.nnz == job->x->nnz)
        keep(job, &t);
    rank_tensor_close(&t);
}

/* The tensor has the entries of x, those that are held out without their values. */
static void assert_tensor(const struct job *job, int ranks, const struct cells *set)
{
    const uint64_t before = coo_count_listed(job->x).unknown, drawn = set->count - set->listed;
    uint64_t unknown = 0, all = 0;
    double sum = 0, expected = coo_norm_sq(job->x);
    for (int k = 0; k < ranks; k++) {
        unknown += job[k].counted;
        all += job[k].nnz;
        sum += job[k].norm_sq;
        assert_true(job[k].unknown == before + set->count);
        assert_true(job[k].numbers.all_listed == set->listed);
        assert_true(job[k].numbers.all_unlisted == drawn);
    }
    for (uint64_t i = 0; i < set->listed; i++)
        expected -= set->cell[i].value * set->cell[i].value;
    assert_true(unknown == before + set->count && all == job->x->nnz + drawn);
    assert_true(fabs(sum - expected) < 1e-9 * coo_norm_sq(job->x));
}

/* Adds cells [first, last) of one rank. */
static void add(struct cells *c, const struct cells *of, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i < last; i++) {
        c->cell[c->count] = of->cell[i];
        if (i < of->listed) {
            c->count++;
            continue;
        }
        assert_true(of->cell[i].value == 0);
        c->cell[c->count++].value = NAN;
    }
}

static void check(const struct coo *x, const struct holdout *h, bool unlisted, int ranks,
                  const struct cells *expected)
{
    struct job job[MOST_RANKS] = {{0}};
    struct error error[MOST_RANKS];
    struct cells c = {.cell = calloc(expected->count + 1, sizeof(struct cell))};
    assert_non_null(c.cell);
    for (int k = 0; k < ranks; k++)
        job[k] = (struct job){.x = x, .holdout = *h, .unlisted = unlisted};
    assert_true(run_rank_threads(ranks, work, job, sizeof *job, error));
    assert_all_well(error, ranks);
    assert_tensor(job, ranks, expected);
    for (int k = 0; k < ranks; k++)
        add(&c, &job[k].set, 0, job[k].set.listed);
    c.listed = c.count;
    for (int k = 0; k < ranks; k++)
        add(&c, &job[k].set, job[k].set.listed, job[k].set.count);
    sort(&c);
    assert_true(c.listed == expected->listed && c.count == expected->count);
    for (uint64_t i = 0; i < c.count; i++) {
        assert_true(compare(&c.cell[i], &expected->cell[i]) == 0);
        assert_true(memcmp(&c.cell[i].value, &expected->cell[i].value, sizeof(double)) == 0 ||
                    (isnan(c.cell[i].value) && isnan(expected->cell[i].value)));
    }
    for (int k = 0; k < ranks; k++)
        free(job[k].set.cell);
    free(c.cell);
}

/* The entries of x in another order. */
static void shuffle(struct coo *x)
{
    srand(7);
    for (uint64_t i = x->nnz - 1; i > 0; i--) {
        const uint64_t j = (uint64_t)rand() % (i + 1);
        const double value = x->value[i];
        x->value[i] = x->value[j];
        x->value[j] = value;
        for (int n = 0; n < x->shape.order; n++) {
            const uint32_t at = x->index[n][i];
            x->index[n][i] = x->index[n][j];
            x->index[n][j] = at;
        }
    }
}

static void test_same_for_all_ranks(void **state)
{
    (void)state;
    static const struct {
        int order;
        uint64_t dims[MAX_ORDER], nnz;
    } cases[] = {{1, {900}, 300},
                 {2, {30, 40}, 500},
                 {3, {20, 1, 60}, 400},
                 {3, {3, 40, 700}, 900},
                 {5, {9, 2, 7, 20, 4}, 600}};
    const struct holdout h = {.share = .2, .seed = 5};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct coo x;
        naive_random_coo(&x, SHAPE(cases[i].order, cases[i].dims), cases[i].nnz, i, 1);
        for (uint64_t e = 0; e < x.nnz; e += 9)
            x.value[e] = COO_UNKNOWN;
        struct cells without = naive(&x, &h, false), with = naive(&x, &h, true);
        for (int ranks = 1; ranks <= MOST_RANKS; ranks++) {
            check(&x, &h, false, ranks, &without);
            check(&x, &h, true, ranks, &with);
        }
        shuffle(&x);
        check(&x, &h, true, 3, &with);
        free(without.cell);
        free(with.cell);
        coo_free(&x);
    }
}

/* A larger share has the entries of a smaller one, another seed others; shares are what they say.
 */
static void test_shares(void **state)
{
    (void)state;
    static const uint64_t dims[] = {100, 100, 100}, first[MAX_ORDER] = {0};
    static bool chosen[20000], more[20000];
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 20000, 3, 0);
    assert_true(x.nnz <= 20000);
    for (uint64_t seed = 0; seed < 20; seed++) {
        const struct holdout h = {.1, seed}, larger = {.3, seed}, other = {.1, seed + 1};
        const double count = (double)holdout_choose(&h, &x, first, chosen), nnz = (double)x.nnz;
        uint64_t common = 0;
        assert_true(fabs(count - .1 * nnz) < 5 * sqrt(.09 * nnz));
        holdout_choose(&larger, &x, first, more);
        for (uint64_t i = 0; i < x.nnz; i++)
            assert_true(more[i] || !chosen[i]);
        holdout_choose(&other, &x, first, more);
        for (uint64_t i = 0; i < x.nnz; i++)
            common += chosen[i] && more[i];
        assert_true(fabs((double)common - .01 * nnz) < 5 * sqrt(.01 * nnz));
    }
    coo_free(&x);
}

/* Where almost every cell is listed, only few unlisted ones can be held out. */
static void test_dense(void **state)
{
    (void)state;
    const uint64_t dims[] = {6, 7, 5};
    struct error error[3] = {{0}};
    struct job job[3] = {{0}};
    struct coo x;
    assert_int_equal(coo_create(&x, SHAPE(3, dims), 6 * 7 * 5 - 1, &error[0]), STATUS_OK);
    for (uint32_t i = 0; i < x.nnz; i++) { /* all but the last */
        x.index[0][i] = i / 35;
        x.index[1][i] = i / 5 % 7;
        x.index[2][i] = i % 5;
        x.value[i] = i;
    }
    for (int k = 0; k < 3; k++)
        job[k] = (struct job){.x = &x, .holdout = {.5, 1}, .unlisted = true};
    assert_true(run_rank_threads(3, work, job, sizeof *job, error));
    assert_all_well(error, 3);
    for (int k = 0; k < 3; k++) {
        const struct cells *set = &job[k].set;
        assert_true(job[k].numbers.all_unlisted <= 1);
        for (uint64_t i = set->listed; i < set->count; i++)
            assert_true(set->cell[i].at[0] == 5);
        free(set->cell);
    }
    coo_free(&x);
}

static void test_nothing_held_out(void **state)
{
    (void)state;
    struct error error[3];
    struct job job[3] = {{0}};
    struct coo x;
    naive_random_coo(&x, SHAPE(2, ((const uint64_t[]){20, 20})), 50, 3, 0);
    for (int k = 0; k < 3; k++)
        job[k] = (struct job){.x = &x, .holdout = {1e-9, 1}};
    assert_true(run_rank_threads(3, work, job, sizeof *job, error));
    for (int k = 0; k < 3; k++) {
        assert_int_equal(error[k].status, STATUS_INPUT);
        assert_non_null(strstr(error[k].message, "none of the"));
    }
    coo_free(&x);
}

/* Each allocation fails in turn, on a rank alone. */
static void test_failing_allocations(void **state)
{
    (void)state;
    struct coo x;
    naive_random_coo(&x, SHAPE(3, ((const uint64_t[]){20, 20, 20})), 300, 3, 0);
    int failed = 0;
    for (int k = 0;; k++) {
        struct error error = {0};
        struct job job = {.x = &x, .holdout = {.2, 1}, .unlisted = true};
        struct comm *self = comm_self(&error);
        memory_hook_set(k);
        work(self, &job, &error);
        memory_hook_set(-1);
        free(job.set.cell);
        comm_finalize(self);
        if (error.status == STATUS_OK)
            break;
        assert_int_equal(error.status, STATUS_MEMORY);
        failed++;
    }
    assert_true(failed > 10);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_for_all_ranks),
                                       cmocka_unit_test(test_shares), cmocka_unit_test(test_dense),
                                       cmocka_unit_test(test_nothing_held_out),
                                       cmocka_unit_test(test_failing_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
