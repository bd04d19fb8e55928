#include "ranks/rank_tensor.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "formats/blco/decoded_layout.h"
#include "formats/tensor_file.h"
#include "ranks/nonzero_exchange.h"
#include "ranks/rank_census.h"
#include "ranks/share_blco.h"
#include "ranks/share_text.h"

/* Nonzeros of a file, about, from which its parts are chosen. */
#define SAMPLED (UINT64_C(1) << 23)

/* For what the estimate of a part's nonzeros may miss. */
#define MARGIN 1.02

/* Rank 0's grid and its cost become those of all ranks. */
static enum status spread_grid(struct rank_tensor *t, struct comm *c, struct error *error)
{
    struct process_grid *g = &t->grid;
    if (comm_bcast(c, 0, &t->cost, sizeof t->cost, error) != STATUS_OK ||
        comm_bcast(c, 0, g->parts, sizeof g->parts, error) != STATUS_OK)
        return error->status;
    g->shape = t->shape;
    g->ranks = c->size;
    for (int n = 0; n < t->shape.order && c->rank > 0 && error->status == STATUS_OK; n++)
        g->cut[n] = memory_array((size_t)g->parts[n] + 1, sizeof *g->cut[n], error);
    comm_allreduce_error(c, error);
    for (int n = 0; n < t->shape.order && error->status == STATUS_OK; n++)
        comm_bcast(c, 0, g->cut[n], ((size_t)g->parts[n] + 1) * sizeof *g->cut[n], error);
    return error->status;
}

/* Rank 0 chooses, so that ranks on different machines agree. */
static enum status choose_grid(struct rank_tensor *t, struct comm *c,
                               const struct coo_census *census, const struct rank_request *request,
                               struct error *error)
{
    struct grid_request q = {.ranks = c->size, .row_bytes = request->row_bytes};
    rank_rates(&q, &t->shape, &request->machine);
    memcpy(q.parts, request->parts, sizeof q.parts);
    if (request->modes != 0 && request->modes != t->shape.order)
        error_set(error, STATUS_INPUT, "a grid of %d number%s, expected %d, one for each mode",
                  request->modes, request->modes == 1 ? "" : "s", t->shape.order);
    else if (c->rank == 0)
        process_grid_choose(&t->grid, &t->cost, &q, &t->shape, t->nnz, census->count,
                            &census->sample, error);
    if (comm_allreduce_error(c, error) == STATUS_OK && spread_grid(t, c, error) == STATUS_OK)
        t->part = process_grid_part(&t->grid, c->rank);
    return error->status;
}

/* Chooses the grid and sends the share's nonzeros to their owners. */
static enum status send_to_owners(struct rank_tensor *t, struct comm *c, struct share *s,
                                  const struct rank_request *request, struct error *error)
{
    struct coo_census census;
    double start = clock_now();
    t->shape = s->shape;
    t->nnz = s->total;
    if (rank_census(s, c, &census, error) != STATUS_OK)
        return error->status;
    choose_grid(t, c, &census, request, error);
    coo_census_free(&census);
    if (error->status == STATUS_OK)
        nonzero_exchange(s, &t->grid, c, &t->x, error);
    t->exchange_seconds = clock_now() - start;
    return error->status;
}

/* Cleans this rank's part; *all is what cleaning all parts did. */
static enum status clean(struct rank_tensor *t, struct comm *c, const char *path,
                         struct coo_cleaning *all, struct error *error)
{
    struct coo_cleaning own;
    double start = clock_now();
    tensor_clean(&t->x, path, t->part.first, &own, error);
    if (comm_allreduce_error(c, error) != STATUS_OK)
        return error->status;
    double sum[] = {(double)own.zeros, (double)own.duplicates}; /* exact: below 2^53 */
    if (comm_allreduce_sum(c, sum, 2, error) == STATUS_OK)
        *all = (struct coo_cleaning){.zeros = (uint64_t)sum[0], .duplicates = (uint64_t)sum[1]};
    t->clean_seconds = clock_now() - start;
    return error->status;
}

/* The counts of a sample become about those of the tensor. */
static void scale(struct coo_census *census, const struct shape *shape, uint64_t every)
{
    for (int n = 0; n < shape->order && every > 1; n++) {
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < shape->dims[n]; i++)
            census->count[n][i] *= every;
    }
}

/* What a rank's part has at most, about; its nonzeros are unread. */
static void expect_part(struct rank_tensor *t, int ranks)
{
    double nnz = (double)t->nnz / ranks * (1 + t->cost.imbalance) * MARGIN;
    t->x.shape = part_shape(&t->part);
    t->x.nnz = nnz < (double)t->nnz ? (uint64_t)nnz : t->nnz;
}

/* Chooses the grid from some of the nonzeros of t->file, and leaves the file unread. */
static enum status plan_parts(struct rank_tensor *t, struct comm *c,
                              const struct rank_request *request, struct progress *progress,
                              struct error *error)
{
    struct share sample;
    struct coo_census census;
    double start = clock_now();
    uint64_t every = (t->file.header->nnz + SAMPLED - 1) / SAMPLED;
    t->shape = t->file.shape;
    t->nnz = t->file.header->nnz;
    progress_stage(progress, "looking at %s", t->file.name);
    if (share_sample_blco(&sample, c, &t->file, every, error) == STATUS_OK &&
        rank_census(&sample, c, &census, error) == STATUS_OK) {
        if (c->rank == 0) /* who chooses */
            scale(&census, &t->shape, every);
        choose_grid(t, c, &census, request, error);
        coo_census_free(&census);
    }
    share_free(&sample);
    if (error->status == STATUS_OK)
        expect_part(t, c->size);
    t->unread = error->status == STATUS_OK;
    t->exchange_seconds = clock_now() - start;
    return error->status;
}

static enum status open_blco(struct rank_tensor *t, struct comm *c, const char *path,
                             const struct tns_options *options, const struct rank_request *request,
                             struct progress *progress, struct error *error)
{
    struct packed_layout layout;
    struct share share;
    double start = clock_now();
    if (share_open_blco(&t->file, c, path, options, error) != STATUS_OK)
        return error->status;
    if (request->packed && decoded_layout_create(&layout, &t->file.shape))
        return plan_parts(t, c, request, progress, error);
    if (share_read_blco(&share, c, &t->file, progress, error) == STATUS_OK) {
        t->read_seconds = clock_now() - start;
        send_to_owners(t, c, &share, request, error);
    }
    share_free(&share);
    blco_file_close(&t->file);
    return error->status;
}

static enum status open_text(struct rank_tensor *t, struct comm *c, const char *path,
                             const struct tns_options *options, const struct rank_request *request,
                             struct progress *progress, struct error *error)
{
    struct share share;
    struct coo_cleaning cleaning = {0};
    double start = clock_now();
    share_read_text(&share, c, path, options, progress, error);
    t->read_seconds = clock_now() - start;
    if (error->status == STATUS_OK && send_to_owners(t, c, &share, request, error) == STATUS_OK &&
        clean(t, c, path, &cleaning, error) == STATUS_OK) {
        t->nnz = share.total - cleaning.zeros - cleaning.duplicates;
        tensor_note_cleaning(progress, &cleaning);
        tensor_check_left(path, share.total, t->nnz, error);
    }
    share_free(&share);
    return error->status;
}

enum status rank_tensor_open(struct rank_tensor *t, struct comm *c, const char *path,
                             const struct tns_options *options, const struct rank_request *request,
                             struct progress *progress, struct error *error)
{
    enum tensor_format format = TENSOR_TEXT;
    *t = (struct rank_tensor){0};
    if (c->rank == 0)
        tensor_format(path, &format, error);
    if (comm_allreduce_error(c, error) == STATUS_OK &&
        comm_bcast(c, 0, &format, sizeof format, error) == STATUS_OK)
        (format == TENSOR_BLCO ? open_blco : open_text)(t, c, path, options, request, progress,
                                                        error);
    if (error->status != STATUS_OK)
        rank_tensor_close(t);
    return error->status;
}

enum status rank_tensor_read(struct rank_tensor *t, struct comm *c, struct progress *progress,
                             struct error *error)
{
    struct share share;
    double start = clock_now();
    t->x = (struct coo){0};
    t->unread = false;
    if (share_read_blco(&share, c, &t->file, progress, error) == STATUS_OK) {
        t->read_seconds = clock_lap(&start);
        nonzero_exchange(&share, &t->grid, c, &t->x, error);
        t->exchange_seconds += clock_lap(&start);
    }
    share_free(&share);
    blco_file_close(&t->file);
    if (error->status != STATUS_OK)
        rank_tensor_close(t);
    return error->status;
}

enum status rank_tensor_share(struct rank_tensor *t, struct comm *c, const struct coo *x,
                              const struct rank_request *request, struct error *error)
{
    struct share share;
    *t = (struct rank_tensor){0};
    share_of_memory(&share, c, x, error);
    if (comm_allreduce_error(c, error) == STATUS_OK)
        send_to_owners(t, c, &share, request, error);
    share_free(&share);
    if (error->status != STATUS_OK)
        rank_tensor_close(t);
    return error->status;
}

void rank_tensor_free_nonzeros(struct rank_tensor *t)
{
    coo_free(&t->x);
    blco_file_close(&t->file);
}

void rank_tensor_close(struct rank_tensor *t)
{
    process_grid_free(&t->grid);
    rank_tensor_free_nonzeros(t);
    *t = (struct rank_tensor){0};
}
