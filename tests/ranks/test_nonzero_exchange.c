/* The exchange: for any grid and any pieces, each rank gets the nonzeros that it owns, in the
 * tensor's order. Also the census by which the grid is chosen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ranks/nonzero_exchange.h"
#include "ranks/rank_census.h"
#include "support/naive.h"
#include "support/rank_threads.h"

struct job {
    const struct coo *all;
    uint64_t piece; /* nonzeros of a piece; 0: the share is borrowed */
    bool dealt;
    int parts[MAX_ORDER];
    struct process_grid grid;
    struct coo_census census;
    struct coo x;
};

/* A piece that has nonzeros [begin, end) of the tensor. */
static void add_piece(struct share *s, const struct coo *all, uint64_t begin, uint64_t end,
                      struct error *error)
{
    struct coo piece;
    if (error->status != STATUS_OK || coo_create(&piece, &all->shape, end - begin, error))
        return;
    for (int n = 0; n < all->shape.order; n++)
        memcpy(piece.index[n], all->index[n] + begin, (end - begin) * sizeof *piece.index[n]);
    memcpy(piece.value, all->value + begin, (end - begin) * sizeof *piece.value);
    share_append(s, &piece, error);
}

static void make_share(struct share *s, const struct comm *c, const struct job *job,
                       struct error *error)
{
    uint64_t nnz = job->all->nnz;
    if (job->piece == 0) {
        share_of_memory(s, c, job->all, error);
        return;
    }
    *s = (struct share){.shape = job->all->shape, .total = nnz, .dealt = job->dealt};
    uint64_t begin = job->dealt ? 0 : even_cut(nnz, c->rank, c->size);
    uint64_t behind = job->dealt ? nnz : even_cut(nnz, c->rank + 1, c->size);
    while (begin < behind) {
        uint64_t some = behind - begin < job->piece ? behind - begin : job->piece;
        uint64_t from = job->dealt ? even_cut(some, c->rank, c->size) : 0;
        uint64_t to = job->dealt ? even_cut(some, c->rank + 1, c->size) : some;
        add_piece(s, job->all, begin + from, begin + to, error);
        begin += some;
    }
}

static void exchange(struct comm *c, void *context, struct error *error)
{
    struct job *job = context;
    struct share share;
    struct grid_cost cost;
    struct grid_request q = {.ranks = c->size,
                             .row_bytes = 64,
                             .seconds_per_nonzero = 1e-9,
                             .bytes_per_second = 1e9,
                             .seconds_per_collective = 1e-6};
    memcpy(q.parts, job->parts, sizeof q.parts);
    make_share(&share, c, job, error);
    if (error->status == STATUS_OK && rank_census(&share, c, &job->census, error) == STATUS_OK &&
        process_grid_choose(&job->grid, &cost, &q, &job->census, job->all->nnz, error) == STATUS_OK)
        nonzero_exchange(&share, &job->grid, c, &job->x, error);
    share_free(&share);
}

static void assert_same_census(const struct coo_census *a, const struct coo_census *b)
{
    const struct shape *shape = &b->sample.shape;
    for (int n = 0; n < shape->order; n++) {
        assert_memory_equal(a->count[n], b->count[n], shape->dims[n] * sizeof *a->count[n]);
        assert_memory_equal(a->sample.index[n], b->sample.index[n],
                            b->sample.nnz * sizeof *b->sample.index[n]);
    }
    assert_int_equal(a->sample.nnz, b->sample.nnz);
    assert_memory_equal(a->sample.value, b->sample.value, b->sample.nnz * sizeof *b->sample.value);
}

/* Every rank has counted all nonzeros, and has the sample that the first has. */
static void assert_census(const struct job *job, int ranks)
{
    struct error error = {0};
    struct coo_census whole;
    const struct coo_census *first = &job[0].census;
    struct coo borrowed = *job->all;
    const struct coo_pieces one = coo_in_one_piece(&borrowed);
    assert_int_equal(
        coo_pieces_census(&one, coo_census_stride(one.nnz, UINT64_MAX), 1, &whole, &error),
        STATUS_OK);
    for (int n = 0; n < job->all->shape.order; n++)
        assert_memory_equal(first->count[n], whole.count[n],
                            job->all->shape.dims[n] * sizeof *whole.count[n]);
    if (job->all->nnz < 100000)
        assert_int_equal(first->sample.nnz, job->all->nnz);
    assert_in_range(first->sample.nnz, job->all->nnz < 100000 ? job->all->nnz : 100000, 200010);
    for (int k = 1; k < ranks; k++)
        assert_same_census(&job[k].census, first);
    coo_census_free(&whole);
}

/* Nonzero i of the tensor is where its owner has its next one. */
static void assert_parts(const struct job *job, int ranks)
{
    uint64_t next[MOST_RANKS] = {0}, wrong = 0;
    const struct coo *all = job->all;
    struct part part[MOST_RANKS];
    for (int k = 0; k < ranks; k++) {
        part[k] = process_grid_part(&job->grid, k);
        for (int n = 0; n < all->shape.order; n++)
            assert_int_equal(job[k].x.shape.dims[n],
                             part[k].here.dims[n] ? part[k].here.dims[n] : 1);
    }
    for (uint64_t i = 0; i < all->nnz; i++) {
        uint32_t index[MAX_ORDER];
        coo_coordinates(all, i, index);
        int k = process_grid_rank(&job->grid, index);
        const struct coo *x = &job[k].x;
        assert_true(next[k] < x->nnz);
        for (int n = 0; n < all->shape.order; n++)
            wrong += x->index[n][next[k]] + part[k].first[n] != index[n];
        wrong += memcmp(&x->value[next[k]], &all->value[i], sizeof all->value[i]) != 0;
        next[k]++;
    }
    assert_int_equal(wrong, 0);
    for (int k = 0; k < ranks; k++)
        assert_int_equal(next[k], job[k].x.nnz);
}

static void free_jobs(struct job *job)
{
    for (int k = 0; k < MOST_RANKS; k++) {
        process_grid_free(&job[k].grid);
        coo_census_free(&job[k].census);
        coo_free(&job[k].x);
    }
}

static void check(const struct coo *x, uint64_t piece, bool dealt, int ranks, const int *parts)
{
    struct error errors[MOST_RANKS];
    struct job job[MOST_RANKS];
    for (int k = 0; k < MOST_RANKS; k++) {
        job[k] = (struct job){.all = x, .piece = piece, .dealt = dealt};
        if (parts)
            memcpy(job[k].parts, parts, (size_t)x->shape.order * sizeof *parts);
    }
    assert_true(run_rank_threads(ranks, exchange, job, sizeof *job, errors));
    assert_all_well(errors, ranks);
    assert_census(job, ranks);
    assert_parts(job, ranks);
    free_jobs(job);
}

static void test_every_grid(void **state)
{
    (void)state;
    struct coo x;
    static const uint64_t pieces[] = {0, 1, 100, 1000000};
    naive_random_coo(&x, &(struct shape){3, {40, 3, 25}}, 700, 1, 1);
    for (size_t r = 0; r < RANK_COUNTS; r++)
        for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++)
            for (int dealt = 0; dealt < 2; dealt++) {
                int parts[MAX_ORDER] = {0};
                check(&x, pieces[p], dealt, rank_counts[r], NULL);
                while (pieces[p] != 1 && process_grid_next(parts, 3, rank_counts[r]))
                    check(&x, pieces[p], dealt, rank_counts[r], parts);
            }
    coo_free(&x);
}

static void test_fewer_nonzeros_than_ranks(void **state)
{
    (void)state;
    struct coo x;
    naive_random_coo(&x, &(struct shape){2, {2, 3}}, 2, 1, 0);
    for (uint64_t piece = 0; piece < 3; piece++)
        for (int dealt = 0; dealt < 2; dealt++)
            check(&x, piece, dealt, 7, NULL);
    coo_free(&x);
}

/* So many nonzeros that a piece takes several rounds; most go to one rank. */
static void test_several_rounds(void **state)
{
    (void)state;
    struct coo x;
    struct error error = {0};
    uint64_t seed = 1;
    assert_int_equal(coo_create(&x, &(struct shape){2, {5, 700000}}, 4500000, &error), STATUS_OK);
    for (uint64_t i = 0; i < x.nnz; i++) {
        uint64_t random = naive_random(&seed);
        x.index[0][i] = random % 8 < 5 ? (uint32_t)(random % 8) : 0;
        x.index[1][i] = (uint32_t)((random >> 8) % 700000);
        x.value[i] = (double)i;
    }
    check(&x, 0, false, 7, (int[]){7, 1});
    check(&x, 1500000, false, 3, (int[]){1, 3});
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_grid),
        cmocka_unit_test(test_fewer_nonzeros_than_ranks),
        cmocka_unit_test(test_several_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
