#include "backend/cuda/rows/device_row_chunks.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/least.h"
#include "base/memory.h"

static const char doing[] = "systems of rows on the GPU";

/* *row = the row of `mode` of nonzero i. Waits for the stream. */
static enum status fetch_row(const struct device_tensor *tensor, int mode, uint64_t i,
                             uint64_t *row, cudaStream_t stream, struct error *error)
{
    const struct device_blco *b = &tensor->blco;
    const struct mttkrp_field f = device_tensor_field(tensor, mode);
    uint64_t word, k = 0, high = b->nblocks; /* the block that the nonzero is in */
    while (high - k > 1) {
        const uint64_t middle = k + (high - k) / 2;
        *(b->block[middle].first <= i ? &k : &high) = middle;
    }
    TRY(device_fetch(&word, b->index[f.word] + i, sizeof word, stream, doing, error));
    *row = (word >> f.shift & f.mask) | b->block[k].base[mode];
    return STATUS_OK;
}

/* first (cuts + 2) = the first nonzero of each piece, in the ordering of `mode`, and the number of
 * nonzeros. There are few cuts: each is searched for by looking at single nonzeros. */
static enum status find_cuts(const struct device_row_cuts *cuts, const struct device_tensor *tensor,
                             int mode, uint64_t *first, cudaStream_t stream, struct error *error)
{
    const uint64_t nnz = tensor->blco.nnz;
    first[0] = 0;
    for (uint32_t c = 0; c < cuts->count; c++) {
        uint64_t low = first[c], high = nnz, row = 0;
        while (low < high) {
            const uint64_t middle = low + (high - low) / 2;
            TRY(fetch_row(tensor, mode, middle, &row, stream, error));
            if (row < cuts->row[c])
                low = middle + 1;
            else
                high = middle;
        }
        first[c + 1] = low;
    }
    first[cuts->count + 1] = nnz;
    return STATUS_OK;
}

uint64_t device_row_chunks_bytes(uint64_t nnz)
{
    const uint64_t chunk = sizeof(uint64_t) + 2 * sizeof(uint32_t) + sizeof(struct row_join);
    return (nnz / DEVICE_ROW_CHUNK_NNZ + 1) * (chunk + sizeof(struct row_totals));
}

/* What the host knows of the chunks of a mode while it builds them. */
struct chunks {
    uint64_t *first;                      /* (count + pieces)                               */
    uint32_t *block;                      /* (count)                                        */
    uint32_t *before, *after, *continued; /* (count + 1)                                    */
    struct row_join *join;                /* (joins)                                        */
    struct row_join *shared;              /* (shared_rows)                                   */
    uint32_t *entered, *row; /* (pieces): a piece's first row begins before it; its number  */
    uint32_t count, joins;
};

static void chunks_free(struct chunks *s)
{
    memory_free(s->first, s->block, s->before, s->after, s->continued, s->join, s->shared,
                s->entered, s->row);
}

static enum status chunks_open(struct device_row_chunks *d, struct chunks *s, uint64_t chunks,
                               uint64_t pieces, struct error *error)
{
    if (chunks > UINT32_MAX / 2)
        return error_set(error, STATUS_MEMORY, "the tensor is too large for %s", doing);
    s->first = memory_array(chunks + pieces, sizeof *s->first, error);
    s->block = memory_array(chunks, sizeof *s->block, error);
    s->before = memory_array(chunks + 1, sizeof *s->before, error);
    s->after = memory_array(chunks + 1, sizeof *s->after, error);
    s->continued = memory_zeros(chunks + 1, sizeof *s->continued, error);
    s->join = memory_array(chunks, sizeof *s->join, error);
    s->shared = memory_array(pieces, sizeof *s->shared, error);
    s->entered = memory_array(pieces, sizeof *s->entered, error);
    s->row = memory_array(pieces, sizeof *s->row, error);
    d->piece = memory_array(pieces, sizeof *d->piece, error);
    return error->status;
}

/* Chunks of about equal length in a block of `count` nonzeros of the next piece. */
static void cut_block(const struct device_row_chunks *d, struct chunks *s,
                      const struct blco_block *block, uint64_t number, uint64_t wanted)
{
    const uint64_t most = least_of(wanted, block->count / ROW_CHUNK_LEAST);
    const uint64_t chunks = most > 0 ? most : 1;
    for (uint64_t i = 0; i < chunks; i++) {
        s->block[s->count] = (uint32_t)number;
        s->first[s->count++ + d->pieces] =
            block->first + (uint64_t)((double)block->count * (double)i / (double)chunks);
    }
}

/* The chunks since the last piece are one, of nnz nonzeros. */
static void end_piece(struct device_row_chunks *d, struct chunks *s, uint64_t nnz)
{
    const struct device_row_piece *last = d->pieces > 0 ? &d->piece[d->pieces - 1] : NULL;
    const uint32_t first = last ? last->first + last->chunks : 0;
    s->first[s->count + d->pieces] = nnz;
    d->piece[d->pieces++] = (struct device_row_piece){.first = first, .chunks = s->count - first};
}

/* Appends to join[0..) the rows that `count` chunks, or pieces, share. continued, row (count): the
 * row before goes on; the number of the first row. Returns how many. */
static uint32_t find_joins(const uint32_t *continued, const uint32_t *row, uint32_t count,
                           struct row_join *join)
{
    uint32_t joins = 0;
    for (uint32_t k = 1; k < count; k++) {
        if (!continued[k])
            continue;
        if (joins == 0 || join[joins - 1].row != row[k])
            join[joins++] = (struct row_join){.row = row[k], .first = 2 * (k - 1) + 1};
        join[joins - 1].last = k;
    }
    return joins;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The rows that the chunks of each piece share, from the rows before and after the beginning of
 * each chunk. Those at the ends of a piece may have parts in other pieces. */
static void join_all(struct device_row_chunks *d, struct chunks *s)
{
    for (uint32_t k = 1; k < s->count; k++)
        s->continued[k] = s->before[k] == s->after[k];
    for (uint32_t k = 0; k < d->pieces; k++) {
        struct device_row_piece *p = &d->piece[k];
        struct row_join *join = s->join + s->joins;
        const uint32_t end = p->first + p->chunks;
        s->entered[k] = 0;
        if (p->chunks == 0)
            continue;
        const uint32_t first_row = s->after[p->first], last_row = s->before[end];
        p->first_join = s->joins;
        p->joins = find_joins(s->continued + p->first, s->after + p->first, p->chunks, join);
        s->joins += p->joins;
        for (uint32_t j = 0; j < p->joins; j++)
            p->most_parts = larger(p->most_parts, join[j].last - join[j].first / 2 + 1);
        p->enters = s->continued[p->first];
        p->leaves = s->continued[end] && !(p->enters && first_row == last_row);
        p->leaving = 2 * (p->chunks - 1) + 1;
        p->first_is_part = p->enters && p->joins > 0 && join[0].row == first_row;
        p->last_is_part = p->leaves && p->joins > 0 && join[p->joins - 1].row == last_row;
        if (p->first_is_part)
            join[0].first = 0;
        if (p->last_is_part)
            p->leaving = join[p->joins - 1].first;
        s->entered[k] = p->enters;
        s->row[k] = first_row;
        d->most_chunks = larger(d->most_chunks, p->chunks);
        const uint32_t totals = p->chunks + p->joins;
        d->totals = d->tensor ? d->totals + totals : larger(d->totals, totals);
    }
    d->shared_rows = find_joins(s->entered, s->row, d->pieces, s->shared);
}

/* Moves the chunks of the pieces to the starts of rows, where their nonzeros are. */
struct snapper {
    const struct device_row_chunks *chunks;
    struct mttkrp_args args;
    uint32_t *before, *after; /* (chunks + 1); device, owned */
};

static cudaError_t snap_piece(const struct snapper *q, uint64_t p, cudaStream_t stream)
{
    const struct device_row_piece *piece = &q->chunks->piece[p];
    return row_chunks_snap(&q->args, q->chunks->block + piece->first, piece->chunks,
                           q->chunks->chunk + piece->first + p, q->before + piece->first,
                           q->after + piece->first, stream);
}

static cudaError_t snap_batch(void *context, const struct device_packed_tensor *o, uint64_t b,
                              const struct device_stream_workspace *workspace)
{
    struct snapper *q = context;
    device_stream_batch(o, b, workspace, &q->args);
    CUDA_TRY(device_stream_workspace_ready(workspace));
    return snap_piece(q, b, workspace->product);
}

/* Moves all chunks, and fetches the rows around them. s: NULL where the ordering is in device
 * memory.
 */
static enum status snap(const struct device_row_chunks *d, struct chunks *chunks,
                        struct device_stream *s, int mode, cudaStream_t stream, struct error *error)
{
    const size_t bytes = ((size_t)chunks->count + 1) * sizeof *chunks->before;
    struct snapper q = {.chunks = d};
    TRY_OR(done,
           device_array_into(&q.before, (uint64_t)chunks->count + 1, sizeof *q.before, error));
    TRY_OR(done, device_array_into(&q.after, (uint64_t)chunks->count + 1, sizeof *q.after, error));
    if (s) {
        const struct device_stream_pass pass = {.ordering = s->serves[mode],
                                                .following = s->serves[(mode + 1) % s->order],
                                                .precision = s->precision,
                                                .consume = snap_batch,
                                                .context = &q};
        q.args.output = device_stream_field(s, mode);
        TRY_OR(done, cuda_status(device_stream_pass(s, &pass, stream), doing, error));
        TRY_OR(done, device_stream_check(s, pass.ordering, stream, error));
    } else {
        device_tensor_args(d->tensor, 0, d->mode, &q.args);
        for (uint64_t p = 0; p < d->pieces; p++)
            if (device_row_chunks_any(d, p))
                TRY_OR(done, cuda_status(snap_piece(&q, p, stream), doing, error));
    }
    TRY_OR(done, device_fetch(chunks->before, q.before, bytes, stream, doing, error));
    device_fetch(chunks->after, q.after, bytes, stream, doing, error);
done:
    device_free(q.before, q.after);
    return error->status;
}

/* *d from the chunks as they are cut. s: as in snap. */
static enum status build(struct device_row_chunks *d, struct chunks *chunks,
                         struct device_stream *s, int mode, cudaStream_t stream,
                         struct error *error)
{
    TRY(device_copy_into(&d->chunk, chunks->first, (uint64_t)chunks->count + d->pieces,
                         sizeof *chunks->first, stream, doing, error));
    TRY(device_copy_into(&d->block, chunks->block, chunks->count, sizeof *chunks->block, stream,
                         doing, error));
    TRY(snap(d, chunks, s, mode, stream, error));
    join_all(d, chunks);
    TRY(device_copy_into(&d->continued, chunks->continued, (uint64_t)chunks->count + 1,
                         sizeof *chunks->continued, stream, doing, error));
    TRY(device_copy_into(&d->join, chunks->join, chunks->joins, sizeof *chunks->join, stream, doing,
                         error));
    return device_copy_into(&d->shared, chunks->shared, d->shared_rows, sizeof *chunks->shared,
                            stream, doing, error);
}

/* The nonzeros [first, end) as a piece. *block: a block that begins at or before the first. */
static void cut_piece(struct device_row_chunks *d, struct chunks *chunks, uint64_t first,
                      uint64_t end, uint64_t most, uint64_t *block)
{
    const struct device_blco *b = &d->tensor->blco;
    const double wanted = (double)least_of(most, (end - first) / DEVICE_ROW_CHUNK_NNZ + 1);
    for (uint64_t at = first; at < end;) {
        const struct blco_block *whole = &b->block[*block];
        const uint64_t last = least_of(whole->first + whole->count, end);
        const struct blco_block part = {.first = at, .count = last - at};
        if (part.count > 0)
            cut_block(d, chunks, &part, *block,
                      (uint64_t)(wanted * (double)part.count / (double)(end - first)));
        at = last;
        *block += at < end;
    }
    end_piece(d, chunks, end);
}

enum status device_row_chunks_open(struct device_row_chunks *d,
                                   const struct device_row_ordering *ordering, cudaStream_t stream,
                                   struct error *error)
{
    const struct device_row_cuts none = {0}, *cuts = ordering->cuts ? ordering->cuts : &none;
    const uint64_t pieces = (uint64_t)cuts->count + 1;
    uint64_t *first = memory_array(pieces + 1, sizeof *first, error), block = 0;
    struct chunks chunks = {0};
    *d = (struct device_row_chunks){.mode = ordering->mode, .tensor = ordering->tensor};
    TRY(error->status);
    const struct device_blco *b = &ordering->tensor->blco;
    const uint64_t room = b->nblocks + pieces + /* more than the chunks that are cut */
                          least_of(ordering->most * pieces, b->nnz / DEVICE_ROW_CHUNK_NNZ + pieces);
    TRY_OR(done, chunks_open(d, &chunks, room, pieces, error));
    TRY_OR(done, find_cuts(cuts, ordering->tensor, ordering->mode, first, stream, error));
    for (uint64_t p = 0; p < pieces; p++)
        cut_piece(d, &chunks, first[p], first[p + 1], ordering->most, &block);
    build(d, &chunks, NULL, ordering->mode, stream, error);
done:
    memory_free(first);
    chunks_free(&chunks);
    return error->status;
}

enum status device_row_chunks_stream(struct device_row_chunks *d, struct device_stream *s, int mode,
                                     uint64_t most, cudaStream_t stream, struct error *error)
{
    const struct device_packed_tensor *o = &s->ordering[s->serves[mode]];
    struct chunks chunks = {0};
    *d = (struct device_row_chunks){.mode = mode};
    TRY_OR(done, chunks_open(d, &chunks, most * o->nbatches, o->nbatches, error));
    for (uint64_t b = 0; b < o->nbatches; b++) {
        const struct blco_block all = {.count = device_packed_tensor_nnz(o, b)};
        cut_block(d, &chunks, &all, b, least_of(most, all.count / DEVICE_ROW_CHUNK_NNZ + 1));
        end_piece(d, &chunks, all.count);
    }
    build(d, &chunks, s, mode, stream, error);
done:
    chunks_free(&chunks);
    return error->status;
}

void device_row_chunks_close(struct device_row_chunks *d)
{
    memory_free(d->piece);
    device_free(d->chunk, d->block, d->continued, d->join, d->shared);
    *d = (struct device_row_chunks){0};
}

bool device_row_chunks_any(const struct device_row_chunks *d, uint64_t p)
{
    return p < d->pieces && d->piece[p].chunks > 0;
}

void device_row_chunks_args(const struct device_row_chunks *d, uint64_t p,
                            struct row_systems_args *args)
{
    const struct device_row_piece *piece = &d->piece[p];
    args->chunks = piece->chunks;
    args->chunk = d->chunk + piece->first + p;
    args->block = d->block + piece->first;
    args->continued = d->continued + piece->first;
    args->join = d->join + piece->first_join;
    args->joins = piece->joins;
    args->most_parts = piece->most_parts;
    args->first_is_part = piece->first_is_part;
    args->last_is_part = piece->last_is_part;
}
