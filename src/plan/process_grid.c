#include "plan/process_grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/row_cuts.h"

bool process_grid_next(int *parts, int order, int ranks)
{
    if (parts[0] == 0) {
        for (int n = 0; n < order; n++)
            parts[n] = n < order - 1 ? 1 : ranks;
        return true;
    }
    for (int n = order - 2, after = parts[order - 1]; n >= 0; n--) {
        int available = parts[n] * after; /* for the modes n and up */
        for (int p = parts[n] + 1; p <= available; p++) {
            if (available % p != 0)
                continue;
            parts[n] = p;
            for (int m = n + 1; m < order; m++)
                parts[m] = m < order - 1 ? 1 : available / p;
            return true;
        }
        after = available;
    }
    return false;
}

enum status process_grid_alone(struct process_grid *g, const struct shape *shape,
                               struct error *error)
{
    *g = (struct process_grid){.shape = *shape, .ranks = 1};
    for (int n = 0; n < shape->order; n++) {
        g->parts[n] = 1;
        g->cut[n] = memory_zeros(2, sizeof *g->cut[n], error);
        if (!g->cut[n]) {
            process_grid_free(g);
            return error->status;
        }
        g->cut[n][1] = shape->dims[n];
    }
    return STATUS_OK;
}

void process_grid_free(struct process_grid *g)
{
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(g->cut[n]);
    *g = (struct process_grid){0};
}

int process_grid_rank(const struct process_grid *g, const uint32_t *index)
{
    int rank = 0;
    for (int n = 0; n < g->shape.order; n++)
        rank = rank * g->parts[n] + row_cuts_range(g->cut[n], g->parts[n], index[n]);
    return rank;
}

void process_grid_coordinates(const struct process_grid *g, int rank, int *coordinate)
{
    for (int n = g->shape.order - 1; n >= 0; n--) {
        coordinate[n] = rank % g->parts[n];
        rank /= g->parts[n];
    }
}

struct part process_grid_part(const struct process_grid *g, int rank)
{
    struct part part = part_all(&g->shape);
    int coordinate[MAX_ORDER];
    process_grid_coordinates(g, rank, coordinate);
    for (int n = 0; n < g->shape.order; n++) {
        const uint64_t *range = &g->cut[n][coordinate[n]];
        part.first[n] = range[0];
        part.here.dims[n] = range[1] - range[0];
    }
    return part;
}

void process_grid_name(const int *parts, int order, char *text, uint64_t size)
{
    uint64_t used = 0;
    for (int n = 0; n < order && used < size; n++)
        used += (uint64_t)snprintf(text + used, size - used, "%s%d", n ? "x" : "", parts[n]);
}

/* --- The cuts of every mode into every number of ranges that a grid of ranks can have, each made
 * once, and with these cuts the nonzeros of a grid's fullest rank. --- */

/* A mode cut into `parts` ranges. */
struct mode_cut {
    int parts;
    uint64_t *cut;    /* (parts + 1), as in struct process_grid; owned                            */
    uint64_t longest; /* rows of the longest range                                                */
    double moving; /* the fraction of a range's rows that moves among the ranks of the range    */
    uint64_t fullest; /* nonzeros of the range with most                                          */
    uint16_t *range;  /* (sampled) the range of each sampled nonzero; owned; NULL: all in range 0 */
};

struct grid_cuts {
    struct shape shape;
    int ranks;
    struct mode_cut *way[MAX_ORDER]; /* (ways[n]) of mode n, by ascending parts; owned   */
    int ways[MAX_ORDER];
    uint64_t nnz;     /* of the tensor */
    uint64_t sampled; /* nonzeros of the sample */
};

#define BATCH    1024 /* nonzeros whose ranks are found at a time */
#define MOST_FEW 64   /* nonzeros of a row: with so many, several ranks surely touch the row */

/* Accepts an empty *c. */
static void grid_cuts_free(struct grid_cuts *c)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        for (int w = 0; w < c->ways[n]; w++)
            memory_free(c->way[n][w].cut, c->way[n][w].range);
        memory_free(c->way[n]);
    }
    *c = (struct grid_cuts){0};
}

/* The fraction of the rows that several of the peers touch, as expected by struct grid_cost; 1
 * where that is more than GRID_MOST_COMMON. */
static double expect_moving(const uint64_t rows[MOST_FEW + 1], int peers)
{
    double common = 0, all = 0, one = peers; /* one: P^(1-c) */
    for (int c = 0; c <= MOST_FEW; c++, one /= peers) {
        all += (double)rows[c];
        common += c > 0 ? (double)rows[c] * (1 - one) : 0;
    }
    return peers > 1 && common <= GRID_MOST_COMMON * all ? common / (all > 0 ? all : 1) : 1;
}

/* Cuts the rows of mode n in each way: into `fixed` ranges, or, where that is 0, into d ranges for
 * each divisor d of the number of ranks. */
static enum status cut_mode(struct grid_cuts *c, int n, const uint64_t *count, int fixed,
                            struct error *error)
{
    const uint64_t length = c->shape.dims[n];
    struct row_sums sums = {0};
    uint64_t few[MOST_FEW + 1] = {0}; /* rows that have so many nonzeros; the last one: or more */
    c->way[n] = memory_zeros((size_t)c->ranks, sizeof *c->way[n], error);
    TRY(error->status);
    for (int d = 1; d <= c->ranks; d++)
        if (fixed ? d == fixed : c->ranks % d == 0)
            c->way[n][c->ways[n]++].parts = d;
    TRY(row_sums_create(&sums, count, length, error));
#pragma omp parallel for schedule(static) reduction(+ : few[:MOST_FEW + 1])
    for (uint64_t i = 0; i < length; i++)
        few[count[i] < MOST_FEW ? count[i] : MOST_FEW]++;
    for (int w = 0; w < c->ways[n]; w++) {
        struct mode_cut *way = &c->way[n][w];
        way->moving = expect_moving(few, c->ranks / way->parts);
        way->cut = memory_array((size_t)way->parts + 1, sizeof *way->cut, error);
        if (!way->cut)
            break;
        way->fullest = row_sums_cut(&sums, way->parts, way->cut);
        way->longest = row_cuts_longest(way->cut, way->parts);
    }
    row_sums_free(&sums);
    return error->status;
}

/* Cuts each mode into the number of ranges that the request fixes, or into d ranges for each
 * divisor d of the number of ranks. Takes 2 bytes for each nonzero of the sample and each way to
 * cut a mode. By all OpenMP threads. The caller frees *c with grid_cuts_free. STATUS_MEMORY leaves
 * *c empty. */
static enum status grid_cuts_create(struct grid_cuts *c, const struct grid_request *request,
                                    const struct coo_census *census, uint64_t nnz,
                                    struct error *error)
{
    const struct coo *sample = &census->sample;
    *c = (struct grid_cuts){
        .shape = sample->shape, .ranks = request->ranks, .nnz = nnz, .sampled = sample->nnz};
    for (int n = 0; n < c->shape.order; n++) {
        const int fixed = request->parts[0] ? request->parts[n] : 0;
        TRY_OR(failed, cut_mode(c, n, census->count[n], fixed, error));
        for (int w = 0; w < c->ways[n]; w++) {
            struct mode_cut *way = &c->way[n][w];
            if (way->parts == 1)
                continue;
            way->range = memory_array(c->sampled, sizeof *way->range, error);
            TRY_OR(failed, error->status);
#pragma omp parallel for schedule(static)
            for (uint64_t i = 0; i < c->sampled; i++)
                way->range[i] = (uint16_t)row_cuts_range(way->cut, way->parts, sample->index[n][i]);
        }
    }
    return STATUS_OK;
failed:
    grid_cuts_free(c);
    return error->status;
}

/* The cut of the mode into `parts` ranges, which must be one of the ways. */
static const struct mode_cut *grid_cuts_find(const struct grid_cuts *c, int mode, int parts)
{
    const struct mode_cut *way = c->way[mode];
    while (way->parts < parts)
        way++;
    return way;
}

/* How many of the sampled nonzeros the fullest rank of the grid of parts[0..order) has. By the
 * calling thread alone. */
static uint64_t grid_cuts_fullest(const struct grid_cuts *c, const int *parts)
{
    uint32_t nonzeros[MAX_RANKS], largest = 0;
    memset(nonzeros, 0, (size_t)c->ranks * sizeof *nonzeros);
    for (uint64_t first = 0; first < c->sampled; first += BATCH) {
        uint64_t length = c->sampled - first < BATCH ? c->sampled - first : BATCH;
        uint16_t rank[BATCH] = {0};
        for (int n = 0; n < c->shape.order; n++) {
            const struct mode_cut *way = grid_cuts_find(c, n, parts[n]);
            for (uint64_t i = 0; way->range && i < length; i++)
                rank[i] = (uint16_t)(rank[i] * way->parts + way->range[first + i]);
        }
        for (uint64_t i = 0; i < length; i++)
            nonzeros[rank[i]]++;
    }
    for (int r = 0; r < c->ranks; r++)
        largest = nonzeros[r] > largest ? nonzeros[r] : largest;
    return largest;
}

/* --- The choice of a grid. --- */

#define MOST_GRIDS 512 /* that are compared by the nonzeros of their fullest rank */

/* A way to arrange the ranks. */
struct candidate {
    int parts[MAX_ORDER];
    uint64_t number;       /* in the order of process_grid_next */
    struct grid_cost cost; /* at the least, later by the sample */
    double seconds;        /* of a sweep, by the cost */
};

/* Takes the cost where the fullest rank has `largest` of `sampled` nonzeros. Both collectives of a
 * mode move its rows once to or from each rank but the one that has them; a solve reads a row and
 * writes a row. */
static void take_cost(struct candidate *grid, const struct grid_cuts *cuts,
                      const struct grid_request *q, uint64_t largest, uint64_t sampled)
{
    const double nnz = (double)cuts->nnz;
    double part = sampled ? (double)largest / (double)sampled : 0;
    struct grid_cost cost = {.largest_nnz = (uint64_t)(part * nnz + 0.5),
                             .imbalance = sampled ? part * q->ranks - 1 : 0,
                             .mttkrp_seconds = part * nnz * q->seconds_per_nonzero};
    for (int n = 0; n < cuts->shape.order; n++) {
        int peers = q->ranks / grid->parts[n];
        double others = (double)(peers - 1) / peers;
        const struct mode_cut *way = grid_cuts_find(cuts, n, grid->parts[n]);
        double rows = 2 * (double)way->longest * (double)q->row_bytes;
        double bytes = others * way->moving * rows;
        cost.moved_bytes += (uint64_t)bytes;
        if (peers > 1)
            cost.move_seconds += bytes / q->bytes_per_second + 2 * q->seconds_per_collective;
        if (q->solve_bytes_per_second > 0)
            cost.solve_seconds += rows / peers / q->solve_bytes_per_second;
    }
    grid->cost = cost;
    grid->seconds = cost.mttkrp_seconds + cost.move_seconds + cost.solve_seconds;
}

/* The cost at the least: the peers of a range have all its nonzeros, the fullest of them no less
 * than the mean. */
static void take_least_cost(struct candidate *grid, const struct grid_cuts *cuts,
                            const struct grid_request *q)
{
    uint64_t largest = 0;
    for (int n = 0; n < cuts->shape.order; n++) {
        uint64_t peers = (uint64_t)(q->ranks / grid->parts[n]);
        uint64_t mean = (grid_cuts_find(cuts, n, grid->parts[n])->fullest + peers - 1) / peers;
        largest = mean > largest ? mean : largest;
    }
    take_cost(grid, cuts, q, largest, cuts->nnz);
}

/* Orders by seconds, then by number. */
static int compare(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* grid[0..count) = the grid that the request fixes, or all grids, or, where there are more than
 * MOST_GRIDS, those with the smallest cost at the least; grid has room for 2 * MOST_GRIDS. */
static uint64_t list_grids(struct candidate *grid, const struct grid_cuts *cuts,
                           const struct grid_request *q)
{
    const bool fixed = q->parts[0] != 0;
    int parts[MAX_ORDER] = {0};
    uint64_t count = 0;
    if (fixed)
        memcpy(parts, q->parts, sizeof parts);
    for (uint64_t number = 0;
         fixed ? number == 0 : process_grid_next(parts, cuts->shape.order, q->ranks); number++) {
        if (count == 2 * MOST_GRIDS) {
            qsort(grid, count, sizeof *grid, compare);
            count = MOST_GRIDS;
        }
        grid[count] = (struct candidate){.number = number};
        memcpy(grid[count].parts, parts, sizeof parts);
        take_least_cost(&grid[count++], cuts, q);
    }
    qsort(grid, count, sizeof *grid, compare);
    return count < MOST_GRIDS ? count : MOST_GRIDS;
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
    *g = (struct process_grid){.shape = census->sample.shape, .ranks = request->ranks};
    TRY_OR(done, check_fixed(request, g->shape.order, error));
    TRY_OR(done, grid_cuts_create(&cuts, request, census, nnz, error));
    grid = memory_array((size_t)2 * MOST_GRIDS, sizeof *grid, error);
    TRY_OR(done, error->status);
    uint64_t grids = list_grids(grid, &cuts, request);
    const struct candidate *best = grid; /* the first of the cheapest, by the sampled nonzeros */
#pragma omp parallel for schedule(dynamic)
    for (uint64_t i = 0; i < grids; i++)
        take_cost(&grid[i], &cuts, request, grid_cuts_fullest(&cuts, grid[i].parts), cuts.sampled);
    for (uint64_t i = 1; i < grids; i++)
        best = compare(&grid[i], best) < 0 ? &grid[i] : best;
    memcpy(g->parts, best->parts, sizeof g->parts);
    for (int n = 0; n < g->shape.order; n++) {
        const size_t length = (size_t)g->parts[n] + 1;
        g->cut[n] = memory_array(length, sizeof *g->cut[n], error);
        TRY_OR(done, error->status);
        memcpy(g->cut[n], grid_cuts_find(&cuts, n, g->parts[n])->cut, length * sizeof *g->cut[n]);
    }
    *cost = best->cost;
done:
    memory_free(grid);
    grid_cuts_free(&cuts);
    if (error->status != STATUS_OK)
        process_grid_free(g);
    return error->status;
}
