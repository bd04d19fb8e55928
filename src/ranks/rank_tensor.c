#include "ranks/rank_tensor.h"

#include <string.h>

#include "base/clock.h"
#include "formats/tensor_file.h"
#include "ranks/nonzero_exchange.h"
#include "ranks/rank_census.h"
#include "ranks/share_input.h"

/* Rank 0 chooses; the others only make the cuts, so that ranks on different machines agree. */
static enum status choose_grid(struct rank_tensor *t, struct comm *c, const struct share *s,
                               const struct coo_census *census, const struct rank_request *request,
                               struct error *error)
{
    struct grid_request q = {.ranks = c->size, .row_bytes = request->row_bytes};
    rank_rates(&q, &s->shape, &request->machine);
    memcpy(q.parts, request->parts, sizeof q.parts);
    if (request->modes != 0 && request->modes != s->shape.order)
        error_set(error, STATUS_INPUT, "a grid of %d number%s, expected %d, one for each mode",
                  request->modes, request->modes == 1 ? "" : "s", s->shape.order);
    else if (c->rank == 0)
        process_grid_choose(&t->grid, &t->cost, &q, &s->shape, s->total, census->count,
                            &census->sample, error);
    if (comm_agree_error(c, error) != STATUS_OK)
        return error->status;
    memcpy(q.parts, t->grid.parts, sizeof q.parts);
    if (comm_broadcast(c, 0, q.parts, sizeof q.parts, error) != STATUS_OK)
        return error->status;
    if (c->rank > 0)
        process_grid_choose(&t->grid, &t->cost, &q, &s->shape, s->total, census->count,
                            &census->sample, error);
    return comm_agree_error(c, error);
}

static enum status send_to_owners(struct rank_tensor *t, struct comm *c, struct share *s,
                                  const struct rank_request *request, struct error *error)
{
    struct coo_census census;
    double start = clock_now();
    t->shape = s->shape;
    if (rank_census(s, c, &census, error) != STATUS_OK)
        return error->status;
    choose_grid(t, c, s, &census, request, error);
    coo_census_free(&census);
    if (error->status == STATUS_OK && nonzero_exchange(s, &t->grid, c, &t->x, error) == STATUS_OK)
        t->part = process_grid_part(&t->grid, c->rank);
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
    if (comm_agree_error(c, error) != STATUS_OK)
        return error->status;
    double sum[] = {(double)own.zeros, (double)own.duplicates}; /* exact: below 2^53 */
    if (comm_sum(c, sum, 2, error) == STATUS_OK)
        *all = (struct coo_cleaning){.zeros = (uint64_t)sum[0], .duplicates = (uint64_t)sum[1]};
    t->clean_seconds = clock_now() - start;
    return error->status;
}

enum status rank_tensor_open(struct rank_tensor *t, struct comm *c, const char *path,
                             const struct tns_options *options, const struct rank_request *request,
                             struct progress *progress, struct error *error)
{
    struct share share;
    struct coo_cleaning cleaning = {0};
    double start = clock_now();
    *t = (struct rank_tensor){0};
    share_read(&share, c, path, options, progress, error);
    t->read_seconds = clock_now() - start;
    if (error->status == STATUS_OK && send_to_owners(t, c, &share, request, error) == STATUS_OK &&
        (share.clean || clean(t, c, path, &cleaning, error) == STATUS_OK)) {
        t->nnz = share.total - cleaning.zeros - cleaning.duplicates;
        tensor_note_cleaning(progress, &cleaning);
        tensor_check_left(path, share.total, t->nnz, error);
    }
    share_free(&share);
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
    if (comm_agree_error(c, error) == STATUS_OK &&
        send_to_owners(t, c, &share, request, error) == STATUS_OK)
        t->nnz = share.total;
    share_free(&share);
    if (error->status != STATUS_OK)
        rank_tensor_close(t);
    return error->status;
}

void rank_tensor_close(struct rank_tensor *t)
{
    process_grid_free(&t->grid);
    coo_free(&t->x);
    *t = (struct rank_tensor){0};
}
