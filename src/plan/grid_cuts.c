#include "plan/grid_cuts.h"

#include <string.h>

#include "base/memory.h"
#include "plan/row_cuts.h"

#define BATCH    1024 /* nonzeros whose ranks are found at a time */
#define MOST_FEW 64   /* nonzeros of a row: with so many, several ranks surely touch the row */

void grid_cuts_free(struct grid_cuts *c)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        for (int w = 0; w < c->ways[n]; w++) {
            memory_free(c->way[n][w].cut);
            memory_free(c->way[n][w].range);
        }
        memory_free(c->way[n]);
    }
    *c = (struct grid_cuts){0};
}

/* Lists the ways to cut mode n: into `fixed` ranges, or, where that is 0, into d ranges for each
 * divisor d of the number of ranks. */
static enum status list_ways(struct grid_cuts *c, int n, int fixed, struct error *error)
{
    int divisors = 0;
    for (int d = 1; d <= c->ranks; d++)
        divisors += c->ranks % d == 0;
    c->way[n] = memory_zeros(fixed ? 1 : (size_t)divisors, sizeof *c->way[n], error);
    if (!c->way[n])
        return error->status;
    for (int d = 1; d <= c->ranks; d++)
        if (fixed ? d == fixed : c->ranks % d == 0)
            c->way[n][c->ways[n]++].parts = d;
    return STATUS_OK;
}

/* How many rows have c nonzeros: rows[c], or rows[MOST_FEW] for all larger c. */
static void count_few(const uint64_t *count, uint64_t length, uint64_t rows[MOST_FEW + 1])
{
    for (int c = 0; c <= MOST_FEW; c++)
        rows[c] = 0;
#pragma omp parallel for schedule(static) reduction(+ : rows[:MOST_FEW + 1])
    for (uint64_t i = 0; i < length; i++)
        rows[count[i] < MOST_FEW ? count[i] : MOST_FEW]++;
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

static enum status cut_rows(struct mode_cut *way, const struct row_sums *sums, struct error *error)
{
    way->cut = memory_array((size_t)way->parts + 1, sizeof *way->cut, error);
    if (!way->cut)
        return error->status;
    way->fullest = row_sums_cut(sums, way->parts, way->cut);
    way->longest = row_cuts_longest(way->cut, way->parts);
    return STATUS_OK;
}

/* way->range = the ranges of every stride-th of the sample's nonzeros, by their index in a mode. */
static enum status find_ranges(struct mode_cut *way, const uint32_t *index, uint64_t stride,
                               uint64_t sampled, struct error *error)
{
    if (way->parts == 1)
        return STATUS_OK;
    way->range = memory_array(sampled, sizeof *way->range, error);
    if (!way->range)
        return error->status;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < sampled; i++)
        way->range[i] = (uint16_t)row_cuts_range(way->cut, way->parts, index[i * stride]);
    return STATUS_OK;
}

/* Lists the ways to cut mode n, as list_ways, and cuts the rows in each way. */
static enum status fill_ways(struct grid_cuts *c, int n, const uint64_t *count, int fixed,
                             struct error *error)
{
    struct row_sums sums = {0};
    uint64_t few[MOST_FEW + 1];
    TRY(list_ways(c, n, fixed, error));
    TRY(row_sums_create(&sums, count, c->shape.dims[n], error));
    count_few(count, c->shape.dims[n], few);
    for (int w = 0; w < c->ways[n]; w++) {
        c->way[n][w].moving = expect_moving(few, c->ranks / c->way[n][w].parts);
        if (cut_rows(&c->way[n][w], &sums, error) != STATUS_OK)
            break;
    }
    row_sums_free(&sums);
    return error->status;
}

enum status grid_cuts_create(struct grid_cuts *c, const struct grid_request *request,
                             const struct coo_census *census, uint64_t most, struct error *error)
{
    const struct coo *sample = &census->sample;
    uint64_t stride = sample->nnz > most ? (sample->nnz + most - 1) / most : 1;
    *c = (struct grid_cuts){.shape = sample->shape,
                            .ranks = request->ranks,
                            .sampled = (sample->nnz + stride - 1) / stride};
    for (int n = 0; n < c->shape.order; n++) {
        const int fixed = request->parts[0] ? request->parts[n] : 0;
        TRY_OR(failed, fill_ways(c, n, census->count[n], fixed, error));
        for (int w = 0; w < c->ways[n]; w++)
            TRY_OR(failed, find_ranges(&c->way[n][w], sample->index[n], stride, c->sampled, error));
    }
    return STATUS_OK;
failed:
    grid_cuts_free(c);
    return error->status;
}

const struct mode_cut *grid_cuts_find(const struct grid_cuts *c, int mode, int parts)
{
    int low = 0, high = c->ways[mode] - 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (c->way[mode][middle].parts < parts)
            low = middle + 1;
        else
            high = middle;
    }
    return &c->way[mode][low];
}

uint64_t grid_cuts_fullest(const struct grid_cuts *c, const int *parts)
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
