#include "plan/process_grid.h"

#include <stdio.h>
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
