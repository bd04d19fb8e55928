#include "plan/process_grid.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* Ranges of at most `most` nonzeros, as long as they can be, from the first row on; how many rows
 * they cover. cut may be NULL. */
static uint64_t cover(const uint64_t *count, uint64_t length, int parts, uint64_t most,
                      uint64_t *cut)
{
    uint64_t row = 0;
    for (int p = 0; p < parts; p++) {
        uint64_t sum = 0;
        if (cut)
            cut[p] = row;
        while (row < length && sum + count[row] <= most)
            sum += count[row++];
    }
    if (cut)
        cut[parts] = row;
    return row;
}

void process_grid_cut(const uint64_t *count, uint64_t length, int parts, uint64_t *cut)
{
    uint64_t all = 0, heaviest = 0;
    for (uint64_t i = 0; i < length; i++) {
        all += count[i];
        heaviest = count[i] > heaviest ? count[i] : heaviest;
    }
    uint64_t mean = (all + (uint64_t)parts - 1) / (uint64_t)parts;
    uint64_t least = mean > heaviest ? mean : heaviest, most = all;
    while (least < most) {
        uint64_t middle = least + (most - least) / 2;
        if (cover(count, length, parts, middle, NULL) == length)
            most = middle;
        else
            least = middle + 1;
    }
    cover(count, length, parts, least, cut);
}

bool process_grid_next(int *parts, int order, int ranks)
{
    if (parts[0] == 0) {
        for (int n = 0; n < order; n++)
            parts[n] = n < order - 1 ? 1 : ranks;
        return true;
    }
    for (int n = order - 2, behind = parts[order - 1]; n >= 0; n--) {
        int available = parts[n] * behind; /* for the modes n and up */
        for (int p = parts[n] + 1; p <= available; p++) {
            if (available % p != 0)
                continue;
            parts[n] = p;
            for (int m = n + 1; m < order; m++)
                parts[m] = m < order - 1 ? 1 : available / p;
            return true;
        }
        behind = available;
    }
    return false;
}

void process_grid_free(struct process_grid *g)
{
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(g->cut[n]);
    *g = (struct process_grid){0};
}

/* The range of mode n that has the row. Of empty ranges that begin there, the last one's. */
static int range_of(const struct process_grid *g, int n, uint64_t row)
{
    int low = 0, high = g->parts[n] - 1;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (g->cut[n][middle] <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

int process_grid_rank(const struct process_grid *g, const uint32_t *index)
{
    int rank = 0;
    for (int n = 0; n < g->shape.order; n++)
        rank = rank * g->parts[n] + range_of(g, n, index[n]);
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

static enum status cut_modes(struct process_grid *g, uint64_t *const *count, struct error *error)
{
    for (int n = 0; n < g->shape.order; n++) {
        g->cut[n] = memory_array((size_t)g->parts[n] + 1, sizeof *g->cut[n], error);
        if (!g->cut[n])
            return error->status;
        process_grid_cut(count[n], g->shape.dims[n], g->parts[n], g->cut[n]);
    }
    return STATUS_OK;
}

enum status process_grid_count(const struct process_grid *g, const struct coo *x,
                               uint64_t *nonzeros, struct error *error)
{
    memset(nonzeros, 0, (size_t)g->ranks * sizeof *nonzeros);
#pragma omp parallel
    {
        struct error own = {0};
        uint64_t *here = memory_zeros((size_t)g->ranks, sizeof *here, &own);
#pragma omp for schedule(static)
        for (uint64_t i = 0; i < x->nnz; i++) {
            uint32_t index[MAX_ORDER];
            coo_coordinates(x, i, index);
            if (here)
                here[process_grid_rank(g, index)]++;
        }
#pragma omp critical(process_grid_count)
        {
            for (int r = 0; here && r < g->ranks; r++)
                nonzeros[r] += here[r];
            if (!here)
                *error = own;
        }
        memory_free(here);
    }
    return error->status;
}

/* Rows of the longest range of mode n. */
static uint64_t longest_range(const struct process_grid *g, int n)
{
    uint64_t longest = 0;
    for (int c = 0; c < g->parts[n]; c++) {
        uint64_t rows = g->cut[n][c + 1] - g->cut[n][c];
        longest = rows > longest ? rows : longest;
    }
    return longest;
}

/* Both collectives of a mode move its rows once to or from each rank but the one that has them. */
static void add_moves(struct grid_cost *cost, const struct process_grid *g,
                      const struct grid_request *q)
{
    for (int n = 0; n < g->shape.order; n++) {
        int sharing = g->ranks / g->parts[n];
        double others = (double)(sharing - 1) / sharing;
        double bytes = 2 * others * (double)longest_range(g, n) * (double)q->row_bytes;
        cost->moved_bytes += (uint64_t)bytes;
        if (sharing > 1)
            cost->move_seconds += bytes / q->bytes_per_second + 2 * q->seconds_per_collective;
    }
}

static enum status cost_of(struct grid_cost *cost, const struct process_grid *g,
                           const struct grid_request *q, uint64_t nnz, const struct coo *sample,
                           struct error *error)
{
    uint64_t *nonzeros = memory_array((size_t)g->ranks, sizeof *nonzeros, error), largest = 0;
    *cost = (struct grid_cost){0};
    if (nonzeros && process_grid_count(g, sample, nonzeros, error) == STATUS_OK) {
        for (int r = 0; r < g->ranks; r++)
            largest = nonzeros[r] > largest ? nonzeros[r] : largest;
        double share = sample->nnz ? (double)largest / (double)sample->nnz : 0;
        cost->largest_nnz = (uint64_t)(share * (double)nnz + 0.5);
        cost->imbalance = sample->nnz ? share * g->ranks - 1 : 0;
        cost->mttkrp_seconds = share * (double)nnz * q->seconds_per_nonzero;
        add_moves(cost, g, q);
    }
    memory_free(nonzeros);
    return error->status;
}

static bool is_cheaper(const struct grid_cost *a, const struct grid_cost *b)
{
    return a->mttkrp_seconds + a->move_seconds < b->mttkrp_seconds + b->move_seconds;
}

/* Of the grid that the request fixes, or of each. */
static bool next_grid(int *parts, const struct grid_request *q, int order)
{
    if (q->parts[0] == 0)
        return process_grid_next(parts, order, q->ranks);
    bool first = parts[0] == 0;
    memcpy(parts, q->parts, (size_t)order * sizeof *parts);
    return first;
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
    return error_set(error, STATUS_INPUT, "a grid of %s is not one of %d rank%s", name, q->ranks,
                     q->ranks == 1 ? "" : "s");
}

enum status process_grid_choose(struct process_grid *g, struct grid_cost *cost,
                                const struct grid_request *request, const struct shape *shape,
                                uint64_t nnz, uint64_t *const *count, const struct coo *sample,
                                struct error *error)
{
    struct grid_cost least = {0};
    int parts[MAX_ORDER] = {0};
    *g = (struct process_grid){0};
    if (check_fixed(request, shape->order, error) != STATUS_OK)
        return error->status;
    while (error->status == STATUS_OK && next_grid(parts, request, shape->order)) {
        struct process_grid other = {.shape = *shape, .ranks = request->ranks};
        struct grid_cost its;
        memcpy(other.parts, parts, sizeof parts);
        if (cut_modes(&other, count, error) == STATUS_OK &&
            cost_of(&its, &other, request, nnz, sample, error) == STATUS_OK &&
            (g->ranks == 0 || is_cheaper(&its, &least))) {
            process_grid_free(g);
            *g = other;
            least = its;
        } else {
            process_grid_free(&other);
        }
    }
    if (error->status != STATUS_OK)
        process_grid_free(g);
    if (cost)
        *cost = least;
    return error->status;
}
