#include "ranks/rank_tensor.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/least.h"
#include "base/memory.h"
#include "formats/blco/blco_pieces.h"
#include "formats/blco/decoded_layout.h"
#include "formats/tensor_file.h"
#include "ranks/nonzero_exchange.h"
#include "ranks/rank_census.h"
#include "ranks/share.h"

/* Nonzeros of a file, about, from which its parts are chosen. */
#define SAMPLED (UINT64_C(1) << 23)

/* The estimate of a part's nonzeros may be too low by up to this factor. */
#define MARGIN 1.02

/* Rank 0 chooses the grid, so that ranks on different machines agree; the others get it. */
static enum status choose_grid(struct rank_tensor *t, const struct coo_census *census,
                               const struct rank_request *request, struct error *error)
{
    struct process_grid *g = &t->grid;
    struct comm *c = t->comm;
    struct grid_request q = {.ranks = c->size, .row_bytes = request->row_bytes};
    if (c->rank == 0 && request->modes != 0 && request->modes != t->shape.order) {
        error_set(error, STATUS_INPUT, "a grid of %d number%s, expected %d, one for each mode",
                  request->modes, request->modes == 1 ? "" : "s", t->shape.order);
    } else if (c->rank == 0) {
        rank_rates(&q, &t->shape, &request->machine);
        memcpy(q.parts, request->parts, sizeof q.parts);
        process_grid_choose(g, &t->cost, &q, census, t->nnz, error);
    }
    TRY(comm_allreduce_error(c, error));
    TRY(comm_bcast(c, 0, &t->cost, sizeof t->cost, error));
    TRY(comm_bcast(c, 0, g->parts, sizeof g->parts, error));
    g->shape = t->shape;
    g->ranks = c->size;
    for (int n = 0; n < t->shape.order && c->rank > 0; n++)
        g->cut[n] = memory_array((size_t)g->parts[n] + 1, sizeof *g->cut[n], error);
    TRY(comm_allreduce_error(c, error));
    for (int n = 0; n < t->shape.order; n++) {
        const size_t bytes = ((size_t)g->parts[n] + 1) * sizeof *g->cut[n];
        TRY(comm_bcast(c, 0, g->cut[n], bytes, error));
    }
    t->part = process_grid_part(g, c->rank);
    return STATUS_OK;
}

/* Gives a rank that keeps its share the grid of the whole tensor. */
static enum status take_whole(struct rank_tensor *t, struct error *error)
{
    t->part = part_all(&t->shape);
    process_grid_alone(&t->grid, &t->shape, error);
    t->grid.ranks = t->comm->size;
    return comm_allreduce_error(t->comm, error);
}

/* Sends the nonzeros of the share to their owners, by the grid, unless ranks keep their shares. */
static enum status send_to_owners(struct rank_tensor *t, struct share *s, struct error *error)
{
    const double start = clock_now();
    if (t->has_share) {
        t->input.x = s->piece[0];
        s->pieces = 0;
        return STATUS_OK;
    }
    nonzero_exchange(s, &t->grid, t->comm, &t->input.x, error);
    t->exchange_seconds += clock_now() - start;
    return error->status;
}

/* The same after choosing the grid. */
static enum status choose_and_send(struct rank_tensor *t, struct share *s,
                                   const struct rank_request *request, struct error *error)
{
    const double start = clock_now();
    t->shape = s->shape;
    t->nnz = s->total;
    if (t->has_share) {
        TRY(take_whole(t, error));
    } else {
        struct coo_census census;
        TRY(rank_census(s, t->comm, &census, error));
        choose_grid(t, &census, request, error);
        coo_census_free(&census);
        TRY(error->status);
        t->exchange_seconds = clock_now() - start;
    }
    return send_to_owners(t, s, error);
}

/* Cleans this rank's part; *all = what was cleaned in all parts. */
static enum status clean(struct rank_tensor *t, const struct rank_request *request,
                         struct coo_cleaning *all, struct error *error)
{
    struct coo_cleaning own;
    double start = clock_now();
    tensor_clean(&t->input.x, request->path, request->tns, t->part.first, &own, error);
    const struct coo_listed listed = coo_count_listed(&t->input.x);
    uint64_t sum[] = {own.zeros, own.duplicates, listed.unknown, listed.zeros};
    TRY(comm_allreduce_counts(t->comm, sum, 4, error));
    *all = (struct coo_cleaning){.zeros = sum[0], .duplicates = sum[1]};
    t->listed = (struct coo_listed){.unknown = sum[2], .zeros = sum[3], .dropped = all->zeros};
    t->input.clean_seconds = clock_now() - start;
    return STATUS_OK;
}

/* Chooses the grid from some of the nonzeros of the file, which stays unread, and estimates the
 * most nonzeros that this rank's part can have. */
static enum status plan_parts(struct rank_tensor *t, const struct rank_request *request,
                              struct progress *progress, struct error *error)
{
    struct share sample = {0};
    struct coo_census census = {0};
    double start = clock_now();
    const struct blco_file *file = &t->input.file;
    uint64_t every = (file->header->nnz + SAMPLED - 1) / SAMPLED;
    progress_stage(progress, "looking at %s", file->name);
    TRY_OR(done, share_sample_blco(&sample, t->comm, file, every, error));
    TRY_OR(done, rank_census(&sample, t->comm, &census, error));
    for (int n = 0; n < t->shape.order && every > 1; n++) {
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < t->shape.dims[n]; i++)
            census.count[n][i] *= every;
    }
    TRY_OR(done, choose_grid(t, &census, request, error));
    const double nnz = (double)t->nnz / t->comm->size * (1 + t->cost.imbalance) * MARGIN;
    t->input.x.shape = part_shape(&t->part);
    t->input.x.nnz = nnz < (double)t->nnz ? (uint64_t)nnz : t->nnz;
    t->input.unread = true;
    t->estimated = true;
    t->exchange_seconds = clock_now() - start;
done:
    coo_census_free(&census);
    share_free(&sample);
    return error->status;
}

/* Opens the same .blco file on every rank, which must have nonzeros (not only unknown entries and
 * zeros), and the lengths of --dims if that is given. */
static enum status open_blco(struct rank_tensor *t, const struct rank_request *request,
                             struct error *error)
{
    struct blco_file *f = &t->input.file;
    const char *path = request->path;
    if (blco_file_open(f, path, error) == STATUS_OK &&
        tensor_check_left(path, f->header->nnz, f->header->nnz, &f->listed, error) == STATUS_OK)
        tns_check_lengths(path, &f->shape, request->tns, error);
    TRY(comm_allreduce_error(t->comm, error));
    const uint64_t identity[2] = {f->header->file_bytes, f->header->header_crc};
    TRY(share_check_same_file(t->comm, path, identity, error));
    t->shape = f->shape;
    t->nnz = f->header->nnz;
    t->listed = f->listed;
    t->input.names.modes = *f->modes;
    return STATUS_OK;
}

/* Reads the nonzeros, on the grid that there is, or on one after the request. */
static enum status read_nonzeros(struct rank_tensor *t, const struct rank_request *request,
                                 struct tensor_reader *r, struct error *error)
{
    struct share share;
    struct coo_cleaning cleaning = {0};
    double start = clock_now();
    const struct tns_options *tns = request ? request->tns : NULL;
    r->cut = t->has_share ? TENSOR_WHOLE : TENSOR_STEPS;
    TRY_OR(done, share_read(&share, t->comm, r, tns, error));
    t->input.read_seconds = clock_lap(&start);
    if (r->state && r->format->names)
        r->format->names(r, &t->input.names);
    if (request)
        choose_and_send(t, &share, request, error);
    else
        send_to_owners(t, &share, error);
    TRY_OR(done, error->status);
    if (share.clean)
        goto done;
    TRY_OR(done, clean(t, request, &cleaning, error));
    t->nnz = share.total - cleaning.zeros - cleaning.duplicates;
    tensor_note_cleaning(r->progress, &cleaning);
    tensor_check_left(request->path, share.total, t->nnz, &t->listed, error);
done:
    share_free(&share);
    tensor_reader_close(r);
    return error->status;
}

/* Whether the rows of an open .blco file will be dealt whatever the grid would be, so that ranks
 * need none. */
static bool needs_no_grid(const struct rank_tensor *t, const struct rank_request *request)
{
    bool needed = request->modes > 0 || request->cells;
    for (int n = 0; n < t->shape.order; n++)
        needed |= row_deal_keeps(&t->shape, n, request->row_bytes);
    return (request->by_rows || t->listed.unknown > 0) && !needed;
}

static enum status open_file(struct rank_tensor *t, const struct rank_request *request,
                             struct progress *progress, struct error *error)
{
    struct tensor_reader r = {
        .path = request->path, .tns = request->tns, .csv = request->csv, .progress = progress};
    struct packed_layout layout;
    int format = 0;
    if (t->comm->rank == 0 && tensor_file_find_format(&r, error) == STATUS_OK)
        while (tensor_formats[format] != r.format)
            format++;
    TRY(comm_allreduce_error(t->comm, error));
    TRY(comm_bcast(t->comm, 0, &format, sizeof format, error));
    r.format = tensor_formats[format];
    if (r.format != &tensor_blco)
        return read_nonzeros(t, request, &r, error);
    TRY(open_blco(t, request, error));
    t->has_share |= needs_no_grid(t, request);
    if (t->comm->size == 1) {
        t->input.unread = true;
        t->input.x = (struct coo){.shape = t->shape, .nnz = t->nnz};
        return take_whole(t, error);
    }
    if (request->packed && !t->has_share && decoded_layout_create(&layout, &t->shape))
        return plan_parts(t, request, progress, error);
    r.file = &t->input.file;
    read_nonzeros(t, request, &r, error);
    blco_file_close(&t->input.file);
    return error->status;
}

/* Finds this rank's rows, or closes *t, which could not be opened. */
static enum status finish(struct rank_tensor *t, struct error *error)
{
    TRY_OR(failed, error->status);
    TRY_OR(failed, rank_rows_open(&t->rows, t->comm, &t->grid, error));
    return STATUS_OK;
failed:
    rank_tensor_close(t);
    return error->status;
}

enum status rank_tensor_read(struct rank_tensor *t, struct progress *progress, struct error *error)
{
    struct tensor_reader r = {.format = &tensor_blco, .file = &t->input.file, .progress = progress};
    if (!t->input.unread)
        return STATUS_OK;
    t->input.x = (struct coo){0};
    t->input.unread = t->estimated = false;
    read_nonzeros(t, NULL, &r, error);
    blco_file_close(&t->input.file);
    if (error->status != STATUS_OK)
        rank_tensor_close(t);
    return error->status;
}

/* Changes the values, by what all ranks count. */
static enum status change_values(struct rank_tensor *t, const struct value_rule *rule,
                                 struct progress *progress, struct error *error)
{
    const uint64_t *first = t->part.first;
    struct coo *x = &t->input.x;
    struct value_change change = {.factor = NULL};
    if (rule->kind == VALUES_AS_THEY_ARE)
        return STATUS_OK;
    TRY(rank_tensor_read(t, progress, error));
    value_change_begin(&change, rule, &t->shape, error);
    TRY_OR(done, comm_allreduce_error(t->comm, error));
    value_change_count(&change, x, first);
    if (change.factor)
        TRY_OR(done, comm_allreduce_sum(t->comm, change.factor, change.length, error));
    value_change_weigh(&change);
    value_change_apply(&change, x, first, error);
    comm_allreduce_error(t->comm, error);
done:
    value_change_free(&change);
    return error->status;
}

enum status rank_tensor_open(struct rank_tensor *t, struct comm *c,
                             const struct rank_request *request, struct progress *progress,
                             struct error *error)
{
    *t = (struct rank_tensor){.comm = c,
                              .row_bytes = request->row_bytes,
                              .has_share = c->size == 1,
                              .hashed = request->hashed};
    if (open_file(t, request, progress, error) == STATUS_OK)
        change_values(t, &request->values, progress, error);
    return finish(t, error);
}

enum status rank_tensor_share(struct rank_tensor *t, struct comm *c, const struct coo *x,
                              const struct rank_request *request, struct error *error)
{
    struct share share;
    *t = (struct rank_tensor){.comm = c,
                              .listed = coo_count_listed(x),
                              .row_bytes = request ? request->row_bytes : 0,
                              .has_share = c->size == 1,
                              .borrowed = c->size == 1,
                              .hashed = request && request->hashed};
    share_of_memory(&share, c, x, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    choose_and_send(t, &share, request, error);
done:
    share_free(&share);
    return finish(t, error);
}

enum status rank_tensor_own_arrays(struct rank_tensor *t, struct error *error)
{
    const struct coo lent = t->input.x;
    struct coo own;
    if (!t->borrowed)
        return STATUS_OK;
    TRY(coo_create(&own, &lent.shape, lent.nnz, error));
    coo_move(&own, 0, &lent, 0, lent.nnz);
    t->input.x = own;
    t->borrowed = false;
    return STATUS_OK;
}

void rank_tensor_take_hash(struct rank_tensor *t)
{
    if (t->hashed)
        t->hash = fingerprint_hash(&t->input.x, t->part.first);
    t->hashed = false;
}

enum status rank_tensor_divide_rows(struct rank_tensor *t, bool by_rows, struct error *error)
{
    rank_tensor_take_hash(t);
    const double start = clock_now();
    if (by_rows)
        rank_rows_deal(&t->rows, &t->input.x, row_deal_kept(&t->grid, t->row_bytes), error);
    else
        rank_rows_divide(&t->rows, &t->input.x, error);
    if (t->comm->size > 1)
        t->exchange_seconds += clock_now() - start;
    return error->status;
}

struct plan_tensor file_for_plan(const struct blco_file *file)
{
    return (struct plan_tensor){.shape = file->shape,
                                .nnz = file->header->nnz,
                                .unknown = file->listed.unknown,
                                .alto_bytes = file->header->data_bytes,
                                .segment_nnz = file->header->segment_nnz};
}

struct plan_tensor rank_tensor_for_plan(const struct rank_tensor *t, bool by_rows)
{
    const struct tensor_input *input = &t->input;
    const struct rank_rows *rows = &t->rows;
    if (t->comm->size == 1 && input->unread) {
        struct plan_tensor whole = file_for_plan(&input->file);
        whole.holdout_entries = t->holdout_set.x.nnz;
        return whole;
    }
    return (struct plan_tensor){.shape = by_rows && !rows->divided ? t->shape : input->x.shape,
                                .nnz = rows->dealt ? rows->most_nnz : input->x.nnz,
                                .holdout_entries = t->holdout_set.x.nnz,
                                .unknown = t->listed.unknown,
                                .segment_nnz = input->unread ? input->file.header->segment_nnz : 0,
                                .is_part = t->comm->size > 1};
}

void rank_tensor_free_nonzeros(struct rank_tensor *t)
{
    if (t->borrowed)
        t->input.x = (struct coo){.shape = t->input.x.shape, .nnz = t->input.x.nnz};
    coo_free(&t->input.x);
    blco_file_close(&t->input.file);
}

void rank_tensor_close(struct rank_tensor *t)
{
    rank_rows_close(&t->rows);
    process_grid_free(&t->grid);
    holdout_set_free(&t->holdout_set);
    rank_tensor_free_nonzeros(t);
    tensor_names_free(&t->input.names);
    *t = (struct rank_tensor){0};
}

uint64_t holdout_set_bytes(int order, uint64_t count)
{
    return coo_bytes(order, count) + count * sizeof(double);
}

void holdout_set_free(struct holdout_set *set)
{
    coo_free(&set->x);
    holdout_places_free(&set->places);
    *set = (struct holdout_set){0};
}

enum status rank_tensor_fingerprint(struct fingerprint *f, const struct rank_tensor *t,
                                    struct error *error)
{
    struct comm *c = t->comm;
    uint64_t mine = t->hash, all[MAX_RANKS];
    *f = (struct fingerprint){.shape = t->shape, .nnz = t->nnz};
    if (t->input.unread)
        blco_pieces_hash(&t->input.file, c->rank, c->size, &mine, error);
    else if (t->hashed)
        mine = fingerprint_hash(&t->input.x, t->part.first);
    TRY(comm_allreduce_error(c, error));
    TRY(comm_allgather(c, &mine, sizeof mine, all, error));
    for (int k = 0; k < c->size; k++)
        f->hash += all[k];
    return STATUS_OK;
}

#define HAS_KNOWN   1 /* a rank has a known entry in a row */
#define HAS_UNKNOWN 2

/* The marks of the rows of mode n that this rank solves become those of all ranks. */
static enum status share_marks(unsigned char *mark, const struct rank_tensor *t, int n,
                               struct error *error)
{
    const uint64_t rows = t->rows.part.here.dims[n];
    const uint64_t base = (uint64_t)t->rows.mode[n].peers->size + 1;
    if (base == 2)
        return STATUS_OK;
    double *sum = memory_array(rows, sizeof *sum, error); /* ranks with a known entry, and base
                                                           * times those with an unknown one */
    TRY(error->status);
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < rows; i++)
        sum[i] = (mark[i] & HAS_KNOWN ? 1 : 0) + (mark[i] & HAS_UNKNOWN ? (double)base : 0);
    rank_rows_reduce_scatter(&t->rows, n, sum, 1, error);
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < rows; i++)
        mark[i] = (unsigned char)(((uint64_t)sum[i] % base > 0 ? HAS_KNOWN : 0) |
                                  ((uint64_t)sum[i] / base > 0 ? HAS_UNKNOWN : 0));
    memory_free(sum);
    return error->status;
}

/* Counts, of mode n, the rows that this rank solves. */
static enum status count_rows(struct known_rows *k, const struct rank_tensor *t, int n, bool all,
                              struct error *error)
{
    const struct mode_rows *own = &t->rows.mode[n];
    const uint64_t *row = t->rows.part.row[n];
    const struct coo *x = &t->input.x;
    unsigned char *mark = memory_zeros(t->rows.part.here.dims[n], sizeof *mark, error);
    uint64_t rows = 0, unknown = 0, first = NO_ROW;
    TRY(error->status);
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < x->nnz; i++) { /* several threads may find the same row */
        unsigned char *at = &mark[x->index[n][i]];
        const unsigned char has = isnan(x->value[i]) ? HAS_UNKNOWN : HAS_KNOWN;
        if (!(__atomic_load_n(at, __ATOMIC_RELAXED) & has))
            __atomic_fetch_or(at, has, __ATOMIC_RELAXED);
    }
    TRY_OR(done, share_marks(mark, t, n, error));
#pragma omp parallel for schedule(static) reduction(+ : rows, unknown) reduction(min : first)
    for (uint64_t i = own->first; i < own->first + own->count; i++) {
        const bool is_known = mark[i] & HAS_KNOWN, is_unknown = mark[i] == HAS_UNKNOWN;
        rows += is_known;
        unknown += is_unknown;
        if (all ? !is_known : is_unknown)
            first = least_of(first, row ? row[i] : t->rows.part.first[n] + i);
    }
    k->rows[n] = rows;
    k->unknown[n] = unknown;
    k->first[n] = first;
done:
    memory_free(mark);
    return error->status;
}

enum status rank_tensor_count_known(struct known_rows *k, const struct rank_tensor *t, bool all,
                                    struct error *error)
{
    const struct coo *x = &t->input.x;
    struct comm *c = t->comm;
    struct known_rows mine = {.entries = x->nnz - coo_count_listed(x).unknown}, *found;
    for (int n = 0; n < t->shape.order; n++)
        TRY(count_rows(&mine, t, n, all, error));
    found = memory_array((size_t)c->size, sizeof mine, error); /* by each rank */
    TRY_OR(done, comm_allreduce_error(c, error));
    TRY_OR(done, comm_allgather(c, &mine, sizeof mine, found, error));
    *k = found[0];
    for (int r = 1; r < c->size; r++) {
        k->entries += found[r].entries;
        for (int n = 0; n < t->shape.order; n++) {
            k->rows[n] += found[r].rows[n];
            k->unknown[n] += found[r].unknown[n];
            k->first[n] = least_of(k->first[n], found[r].first[n]);
        }
    }
done:
    memory_free(found);
    return error->status;
}
