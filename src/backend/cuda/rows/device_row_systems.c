#include "backend/cuda/rows/device_row_systems.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/least.h"
#include "base/memory.h"
#include "kernels/mttkrp/mttkrp.h"

#define SPANS_OF_WARP 8                     /* so that all warps end at about the same time */
#define SPAN_NNZ      128                   /* nonzeros of a span, at least, on average     */
#define PART_BYTES    (UINT64_C(128) << 20) /* of the parts of systems, at most             */

static const char doing[] = "systems of rows on the GPU";

static uint64_t span_bytes(uint64_t rank)
{
    return 2 * row_system_length((uint32_t)rank) * sizeof(double);
}

static uint64_t most_spans(uint64_t rank, uint64_t nnz)
{
    return least_of(nnz / SPAN_NNZ + 1, PART_BYTES / span_bytes(rank));
}

uint64_t device_row_systems_bytes(uint64_t rank, uint64_t nnz)
{
    return rank <= ROW_SYSTEMS_RANK ? most_spans(rank, nnz) * span_bytes(rank) : 0;
}

/* What the host knows of the spans of a mode while it builds them. */
struct spans {
    uint64_t *first;                      /* (count + 1)  */
    uint32_t *block;                      /* (count)      */
    uint32_t *before, *after, *continued; /* (count + 1) */
    struct row_join *join;                /* (joins)     */
    uint32_t count, joins;
};

static void spans_free(struct spans *s)
{
    memory_free(s->first);
    memory_free(s->block);
    memory_free(s->before);
    memory_free(s->after);
    memory_free(s->continued);
    memory_free(s->join);
}

/* Spans of about equal length, each in one block. */
static enum status cut_spans(struct spans *s, const struct device_blco *b, uint64_t wanted,
                             struct error *error)
{
    const uint64_t most = wanted + b->nblocks;
    s->first = memory_array(most + 1, sizeof *s->first, error);
    s->block = memory_array(most, sizeof *s->block, error);
    s->before = memory_array(most + 1, sizeof *s->before, error);
    s->after = memory_array(most + 1, sizeof *s->after, error);
    s->continued = memory_zeros(most + 1, sizeof *s->continued, error);
    s->join = memory_array(most, sizeof *s->join, error);
    if (error->status != STATUS_OK)
        return error->status;
    for (uint64_t k = 0; k < b->nblocks; k++) {
        const struct blco_block *block = &b->block[k];
        uint64_t pieces = (uint64_t)((double)wanted * (double)block->count / (double)b->nnz);
        pieces = least_of(pieces, block->count / ROW_SPAN_LEAST);
        pieces = pieces > 0 ? pieces : 1;
        for (uint64_t i = 0; i < pieces; i++) {
            s->block[s->count] = (uint32_t)k;
            s->first[s->count++] =
                block->first + (uint64_t)((double)block->count * (double)i / (double)pieces);
        }
    }
    s->first[s->count] = b->nnz;
    return STATUS_OK;
}

/* The rows that spans share, from the rows before and after the beginning of each. */
static void find_joins(struct spans *s)
{
    struct row_join *last = NULL;
    for (uint32_t k = 1; k < s->count; k++) {
        s->continued[k] = s->before[k] == s->after[k];
        if (!s->continued[k])
            continue;
        if (!last || last->row != s->after[k]) {
            last = &s->join[s->joins++];
            *last = (struct row_join){.row = s->after[k], .first = k - 1};
        }
        last->last = k;
    }
}

/* *to = a copy on the device; waits, so that `from` may be freed. */
static enum status keep(void *to, const void *from, uint64_t count, size_t size,
                        cudaStream_t stream, struct error *error)
{
    void *copy;
    if (device_array_into(&copy, count, size, error) != STATUS_OK)
        return error->status;
    memcpy(to, &copy, sizeof copy);
    if (cuda_status(cudaMemcpyAsync(copy, from, count * size, cudaMemcpyHostToDevice, stream),
                    doing, error) != STATUS_OK)
        return error->status;
    return cuda_status(cudaStreamSynchronize(stream), doing, error);
}

/* Moves the spans to the starts of rows, and fetches the rows around them. */
static enum status snap(struct device_row_spans *d, struct spans *s, int mode, cudaStream_t stream,
                        struct error *error)
{
    const size_t bytes = ((size_t)s->count + 1) * sizeof *s->before;
    uint32_t *before = NULL, *after = NULL;
    struct mttkrp_args args;
    device_tensor_args(d->tensor, 0, mode, &args);
    if (device_array_into(&before, (uint64_t)s->count + 1, sizeof *before, error) != STATUS_OK)
        goto done;
    if (device_array_into(&after, (uint64_t)s->count + 1, sizeof *after, error) != STATUS_OK)
        goto done;
    if (cuda_status(row_spans_snap(&args, d->block, s->count, d->span, before, after, stream),
                    doing, error) != STATUS_OK)
        goto done;
    if (device_fetch(s->before, before, bytes, stream, doing, error) != STATUS_OK)
        goto done;
    device_fetch(s->after, after, bytes, stream, doing, error);
done:
    device_free(before);
    device_free(after);
    return error->status;
}

static enum status build_spans(struct device_row_spans *d, int mode, uint64_t wanted,
                               cudaStream_t stream, struct error *error)
{
    struct spans s = {0};
    if (cut_spans(&s, &d->tensor->blco, wanted, error) != STATUS_OK)
        goto done;
    d->spans = s.count;
    if (keep(&d->span, s.first, (uint64_t)s.count + 1, sizeof *s.first, stream, error) != STATUS_OK)
        goto done;
    if (keep(&d->block, s.block, s.count, sizeof *s.block, stream, error) != STATUS_OK)
        goto done;
    if (snap(d, &s, mode, stream, error) != STATUS_OK)
        goto done;
    find_joins(&s);
    d->joins = s.joins;
    if (keep(&d->continued, s.continued, (uint64_t)s.count + 1, sizeof *s.continued, stream,
             error) != STATUS_OK)
        goto done;
    keep(&d->join, s.join, s.joins, sizeof *s.join, stream, error);
done:
    spans_free(&s);
    return error->status;
}

static enum status open_common(struct device_row_systems *s, struct error *error)
{
    const uint64_t rank = s->rank;
    if (device_array_into(&s->common.v, rank * rank, sizeof *s->common.v, error) != STATUS_OK)
        return error->status;
    if (device_array_into(&s->common.ridge, rank, sizeof *s->common.ridge, error) != STATUS_OK)
        return error->status;
    if (device_array_into(&s->common.inverse, rank, sizeof *s->common.inverse, error) != STATUS_OK)
        return error->status;
    if (device_array_into(&s->common.now, rank, sizeof *s->common.now, error) != STATUS_OK)
        return error->status;
    if (device_array_into(&s->common.out, rank, sizeof *s->common.out, error) != STATUS_OK)
        return error->status;
    return device_array_into(&s->next, 1, sizeof *s->next, error);
}

enum status device_row_systems_open(struct device_row_systems *s,
                                    const struct device_tensor *const *tensor, int order,
                                    uint64_t rank, cudaStream_t stream, struct error *error)
{
    uint32_t warps;
    uint64_t spans = 0, totals = 0;
    *s = (struct device_row_systems){.rank = (uint32_t)rank};
    if (open_common(s, error) != STATUS_OK)
        return error->status;
    if (cuda_status(row_systems_warps(s->rank, (uint32_t)order - 1, PRECISION_DOUBLE, &warps),
                    doing, error) != STATUS_OK)
        return error->status;
    for (int n = 0; n < order; n++) {
        struct device_row_spans *d = &s->mode[n];
        d->tensor = tensor[n];
        if (!d->tensor)
            continue;
        const uint64_t wanted =
            least_of((uint64_t)warps * SPANS_OF_WARP, most_spans(rank, d->tensor->blco.nnz));
        if (build_spans(d, n, wanted, stream, error) != STATUS_OK)
            return error->status;
        const uint64_t all = (uint64_t)d->spans + d->joins;
        spans = d->spans > spans ? d->spans : spans;
        totals = all > totals ? all : totals;
    }
    if (device_array_into(&s->part, spans, span_bytes(rank), error) != STATUS_OK)
        return error->status;
    return device_array_into(&s->totals, totals, sizeof *s->totals, error);
}

void device_row_systems_close(struct device_row_systems *s)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        device_free(s->mode[n].span);
        device_free(s->mode[n].block);
        device_free(s->mode[n].continued);
        device_free(s->mode[n].join);
    }
    device_free(s->common.v);
    device_free(s->common.ridge);
    device_free(s->common.inverse);
    device_free(s->common.now);
    device_free(s->common.out);
    device_free(s->next);
    device_free(s->part);
    device_free(s->totals);
    *s = (struct device_row_systems){0};
}

static struct row_systems_args args_of(const struct device_row_systems *s, int mode)
{
    const struct device_row_spans *d = &s->mode[mode];
    struct row_systems_args args = {.rank = s->rank,
                                    .common = s->common,
                                    .spans = d->spans,
                                    .span = d->span,
                                    .block = d->block,
                                    .continued = d->continued,
                                    .join = d->join,
                                    .joins = d->joins,
                                    .next = s->next,
                                    .part = s->part,
                                    .totals = s->totals};
    return args;
}

enum status device_row_systems_solve(struct device_row_systems *s, int mode,
                                     const struct device_factors *f,
                                     const struct device_row_rules *rules, cudaStream_t stream,
                                     struct error *error)
{
    const struct device_tensor *t = s->mode[mode].tensor;
    struct row_systems_args args = args_of(s, mode);
    struct mttkrp_args *m = &args.mttkrp;
    device_tensor_args(t, 0, mode, m);
    for (int n = 0; n < f->shape.order; n++)
        if (n != mode)
            m->gather[m->gathers++] =
                (struct mttkrp_gather){device_tensor_field(t, n), f->factor[n]};
    m->m = f->m;
    m->vectors = f->vectors;
    m->precision = f->precision;
    m->wide_values = f->wide_values;
    args.old = f->factor[mode];
    args.unlisted = rules->unlisted;
    args.nonneg = rules->nonneg;
    args.counted = rules->counted;
    args.only_squares = rules->only_squares;
    args.short_rows =
        rules->unlisted == 0 && rules->ridge && !rules->nonneg && !rules->only_squares;
    if (cuda_status(mttkrp_zero_rows(f->m, f->vectors, t->zero_row, t->zero_rows, stream), doing,
                    error) != STATUS_OK)
        return error->status;
    return cuda_status(row_systems_solve(&args, stream), doing, error);
}

enum status device_row_systems_totals(const struct device_row_systems *s, int mode,
                                      bool only_squares, struct row_totals *sum,
                                      const double *lambda, double power, double *model,
                                      cudaStream_t stream, struct error *error)
{
    struct row_systems_args args = args_of(s, mode);
    args.only_squares = only_squares;
    return cuda_status(row_totals_sum(&args, sum, lambda, power, model, stream), doing, error);
}
