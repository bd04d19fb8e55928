#include "backend/backend_ranks.h"

#include "base/memory.h"

uint64_t backend_ranks_slot(const struct backend_ranks *r, int n)
{
    uint64_t size = (uint64_t)r->sharing[n]->size;
    return (r->part.here.dims[n] + size - 1) / size;
}

static enum status share_rows(struct backend_ranks *r, int n, struct error *error)
{
    uint64_t size = (uint64_t)r->sharing[n]->size, rows = r->part.here.dims[n];
    uint64_t slot = backend_ranks_slot(r, n);
    r->first[n] = memory_array(size + 1, sizeof *r->first[n], error);
    for (uint64_t k = 0; r->first[n] && k <= size; k++)
        r->first[n][k] = k * slot < rows ? k * slot : rows;
    return error->status;
}

/* A communicator costs much to make, so `all` serves where all ranks share the mode's rows. */
static enum status find_sharing(struct backend_ranks *r, int n, const struct process_grid *grid,
                                int coordinate, struct error *error)
{
    r->sharing[n] = r->all;
    return grid->parts[n] == 1 ? STATUS_OK : comm_split(r->all, coordinate, &r->sharing[n], error);
}

enum status backend_ranks_open(struct backend_ranks *r, struct comm *all,
                               const struct process_grid *grid, struct error *error)
{
    int coordinate[MAX_ORDER];
    *r = (struct backend_ranks){.all = all, .part = process_grid_part(grid, all->rank)};
    process_grid_coordinates(grid, all->rank, coordinate);
    for (int n = 0; n < grid->shape.order && error->status == STATUS_OK; n++)
        if (find_sharing(r, n, grid, coordinate[n], error) == STATUS_OK)
            share_rows(r, n, error);
    if (error->status != STATUS_OK) {
        comm_abort(all, error);
        backend_ranks_close(r);
    }
    return error->status;
}

enum status backend_ranks_alone(struct backend_ranks *r, struct comm *self,
                                const struct shape *shape, struct error *error)
{
    *r = (struct backend_ranks){.all = self, .part = part_all(shape)};
    for (int n = 0; n < shape->order && error->status == STATUS_OK; n++) {
        r->sharing[n] = self;
        share_rows(r, n, error);
    }
    if (error->status != STATUS_OK)
        backend_ranks_close(r);
    return error->status;
}

void backend_ranks_close(struct backend_ranks *r)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        if (r->sharing[n] != r->all)
            comm_close(r->sharing[n]);
        memory_free(r->first[n]);
    }
    *r = (struct backend_ranks){0};
}

uint64_t backend_ranks_rows(const struct backend_ranks *r, int n, uint64_t *first)
{
    const uint64_t *own = &r->first[n][r->sharing[n]->rank];
    *first = own[0];
    return own[1] - own[0];
}

enum status backend_ranks_scatter(const struct backend_ranks *r, int n, double *m, uint64_t rank,
                                  struct error *error)
{
    const struct comm_rows rows = {r->first[n], rank};
    return comm_reduce_scatter(r->sharing[n], m, &rows, error);
}

enum status backend_ranks_gather(const struct backend_ranks *r, int n, double *a, uint64_t rank,
                                 struct error *error)
{
    const struct comm_rows rows = {r->first[n], rank};
    return comm_all_gather(r->sharing[n], a, &rows, error);
}

double backend_ranks_seconds(const struct backend_ranks *r)
{
    double seconds = r->all->seconds;
    for (int n = 0; n < r->part.whole.order; n++)
        seconds += r->sharing[n] == r->all ? 0 : r->sharing[n]->seconds;
    return seconds;
}
