#include "plan/process_grid.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/grid_cuts.h"

#define MOST_GRIDS   512     /* that are compared by the nonzeros of their fullest rank */
#define MOST_SAMPLED 1048576 /* nonzeros that these grids are compared by               */

/* A way to arrange the ranks. */
struct candidate {
    int parts[MAX_ORDER];
    uint64_t number; /* in the order of process_grid_next */
    double seconds;  /* of a sweep: first least_seconds, later by the sample */
};

/* Both collectives of a mode move its rows once to or from each rank but the one that has them. A
 * solve reads a row and writes a row. */
static void add_rows(struct grid_cost *cost, const struct grid_cuts *cuts, const int *parts,
                     const struct grid_request *q)
{
    for (int n = 0; n < cuts->shape.order; n++) {
        int peers = q->ranks / parts[n];
        double others = (double)(peers - 1) / peers;
        const struct mode_cut *way = grid_cuts_find(cuts, n, parts[n]);
        double rows = 2 * (double)way->longest * (double)q->row_bytes;
        double bytes = others * way->moving * rows;
        cost->moved_bytes += (uint64_t)bytes;
        if (peers > 1)
            cost->move_seconds += bytes / q->bytes_per_second + 2 * q->seconds_per_collective;
        if (q->solve_bytes_per_second > 0)
            cost->solve_seconds += rows / peers / q->solve_bytes_per_second;
    }
}

/* The cost where the fullest rank has `largest` of `sampled` nonzeros, of a tensor of `nnz`. */
static struct grid_cost cost_of(const struct grid_cuts *cuts, const int *parts,
                                const struct grid_request *q, uint64_t nnz, uint64_t largest,
                                uint64_t sampled)
{
    double part = sampled ? (double)largest / (double)sampled : 0;
    struct grid_cost cost = {.largest_nnz = (uint64_t)(part * (double)nnz + 0.5),
                             .imbalance = sampled ? part * q->ranks - 1 : 0,
                             .mttkrp_seconds = part * (double)nnz * q->seconds_per_nonzero};
    add_rows(&cost, cuts, parts, q);
    return cost;
}

static double seconds_of(const struct grid_cost *cost)
{
    return cost->mttkrp_seconds + cost->move_seconds + cost->solve_seconds;
}

/* The cost at the least: the peers of a range have all its nonzeros, the fullest of them no less
 * than the mean. */
static double least_seconds(const struct grid_cuts *cuts, const int *parts,
                            const struct grid_request *q, uint64_t nnz)
{
    uint64_t largest = 0;
    for (int n = 0; n < cuts->shape.order; n++) {
        uint64_t peers = (uint64_t)(q->ranks / parts[n]);
        uint64_t mean = (grid_cuts_find(cuts, n, parts[n])->fullest + peers - 1) / peers;
        largest = mean > largest ? mean : largest;
    }
    struct grid_cost cost = cost_of(cuts, parts, q, nnz, largest, nnz);
    return seconds_of(&cost);
}

/* Orders by seconds, then by number. */
static int compare(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Steps to the next grid: the one that the request fixes, or each in turn. False after the last. */
static bool next_grid(int *parts, const struct grid_request *q, int order)
{
    if (q->parts[0] == 0)
        return process_grid_next(parts, order, q->ranks);
    bool first = parts[0] == 0;
    memcpy(parts, q->parts, (size_t)order * sizeof *parts);
    return first;
}

/* grid[0..count) = all grids, or, where there are more than MOST_GRIDS, those with the smallest
 * least_seconds; grid has room for 2 * MOST_GRIDS. */
static uint64_t list_grids(struct candidate *grid, const struct grid_cuts *cuts,
                           const struct grid_request *q, uint64_t nnz)
{
    int parts[MAX_ORDER] = {0};
    uint64_t count = 0;
    for (uint64_t number = 0; next_grid(parts, q, cuts->shape.order); number++) {
        if (count == 2 * MOST_GRIDS) {
            qsort(grid, count, sizeof *grid, compare);
            count = MOST_GRIDS;
        }
        grid[count] =
            (struct candidate){.number = number, .seconds = least_seconds(cuts, parts, q, nnz)};
        memcpy(grid[count++].parts, parts, sizeof parts);
    }
    qsort(grid, count, sizeof *grid, compare);
    return count < MOST_GRIDS ? count : MOST_GRIDS;
}

/* The first of the cheapest grids, by the sampled nonzeros. */
static const struct candidate *cheapest(struct candidate *grid, uint64_t count,
                                        const struct grid_cuts *cuts, const struct grid_request *q,
                                        uint64_t nnz)
{
    const struct candidate *best = grid;
#pragma omp parallel for schedule(dynamic)
    for (uint64_t i = 0; i < count; i++) {
        uint64_t largest = grid_cuts_fullest(cuts, grid[i].parts);
        struct grid_cost cost = cost_of(cuts, grid[i].parts, q, nnz, largest, cuts->sampled);
        grid[i].seconds = seconds_of(&cost);
    }
    for (uint64_t i = 1; i < count; i++)
        best = compare(&grid[i], best) < 0 ? &grid[i] : best;
    return best;
}

static enum status copy_cuts(struct process_grid *g, const struct grid_cuts *cuts,
                             struct error *error)
{
    for (int n = 0; n < g->shape.order; n++) {
        size_t length = (size_t)g->parts[n] + 1;
        g->cut[n] = memory_array(length, sizeof *g->cut[n], error);
        if (!g->cut[n])
            return error->status;
        memcpy(g->cut[n], grid_cuts_find(cuts, n, g->parts[n])->cut, length * sizeof *g->cut[n]);
    }
    return STATUS_OK;
}

/* *largest = how many of x's nonzeros the fullest rank has. */
static enum status count_fullest(const struct process_grid *g, const struct coo *x,
                                 uint64_t *largest, struct error *error)
{
    uint64_t nonzeros[MAX_RANKS];
    *largest = 0;
    TRY(process_grid_count(g, x, nonzeros, error));
    for (int r = 0; r < g->ranks; r++)
        *largest = nonzeros[r] > *largest ? nonzeros[r] : *largest;
    return STATUS_OK;
}

static enum status check_fixed(const struct grid_request *q, int order, struct error *error)
{
    char name[128];
    int64_t product = 1;
    for (int n = 0; q->parts[0] != 0 && n < order; n++) {
        if (q->parts[n] < 1 || q->parts[n] > q->ranks)
            product = 0;
        product *= q->parts[n];
        if (product > q->ranks)
            product = 0;
    }
    if (q->parts[0] == 0 || product == q->ranks)
        return STATUS_OK;
    process_grid_name(q->parts, order, name, sizeof name);
    return error_set(error, STATUS_INPUT,
                     "a grid of %s, expected a product of %d, the number of ranks", name, q->ranks);
}

enum status process_grid_choose(struct process_grid *g, struct grid_cost *cost,
                                const struct grid_request *request, const struct coo_census *census,
                                uint64_t nnz, struct error *error)
{
    struct grid_cuts cuts = {0};
    struct candidate *grid = NULL;
    const struct coo *sample = &census->sample;
    *g = (struct process_grid){.shape = sample->shape, .ranks = request->ranks};
    TRY_OR(done, check_fixed(request, g->shape.order, error));
    TRY_OR(done, grid_cuts_create(&cuts, request, census, MOST_SAMPLED, error));
    grid = memory_array((size_t)2 * MOST_GRIDS, sizeof *grid, error);
    if (!grid)
        goto done;
    uint64_t grids = list_grids(grid, &cuts, request, nnz), largest;
    memcpy(g->parts, cheapest(grid, grids, &cuts, request, nnz)->parts, sizeof g->parts);
    TRY_OR(done, copy_cuts(g, &cuts, error));
    if (!cost)
        goto done;
    TRY_OR(done, count_fullest(g, sample, &largest, error));
    *cost = cost_of(&cuts, g->parts, request, nnz, largest, sample->nnz);
done:
    memory_free(grid);
    grid_cuts_free(&cuts);
    if (error->status != STATUS_OK)
        process_grid_free(g);
    return error->status;
}
