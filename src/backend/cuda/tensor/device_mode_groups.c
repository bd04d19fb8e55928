#include "backend/cuda/tensor/device_mode_groups.h"

#include <math.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "kernels/arrays/arrays.h"
#include "kernels/tensor/tuples.h"

static const char doing[] = "grouping modes on the GPU";

static void map_free(struct tuples_map *map, const struct device_pool *pool)
{
    device_pool_give(pool, map->bits, map->before);
    *map = (struct tuples_map){0};
}

/* *map = the tuples of x's modes [first, last), numbered; without bits for a single mode. Empty on
 * failure. */
static enum status map_create(struct tuples_map *map, const struct device_coo *x, int first,
                              int last, struct error *error)
{
    const cudaStream_t stream = x->pool->stream;
    uint64_t possible = 1;
    void *temporary = NULL;
    size_t bytes = 0;
    *map = (struct tuples_map){.first = first, .last = last};
    for (int n = first; n < last; n++) {
        possible *= x->shape.dims[n];
        map->length[n - first] = (uint32_t)x->shape.dims[n];
    }
    if (last - first == 1)
        return STATUS_OK;
    map->words = (possible + 63) / 64;
    map->bits = device_pool_take(x->pool, map->words, sizeof *map->bits, error);
    map->before = device_pool_take(x->pool, map->words + 1, sizeof *map->before, error);
    TRY_OR(done, error->status);
    struct tuples_nonzeros nonzeros = device_coo_tuples(x);
    cudaError_t code = cudaMemsetAsync(map->bits, 0, map->words * sizeof *map->bits, stream);
    TRY_OR(done, cuda_status(code, doing, error));
    TRY_OR(done, cuda_status(tuples_mark(&nonzeros, map, x->nnz, stream), doing, error));
    code = arrays_scan_bits(NULL, &bytes, map->bits, map->words, map->before, stream);
    TRY_OR(done, cuda_status(code, doing, error));
    temporary = device_pool_take(x->pool, bytes, 1, error);
    TRY_OR(done, error->status);
    code = arrays_scan_bits(temporary, &bytes, map->bits, map->words, map->before, stream);
    cuda_status(code, doing, error);
done:
    device_pool_give(x->pool, temporary);
    if (error->status != STATUS_OK)
        map_free(map, x->pool);
    return error->status;
}

/* *count (device) = how many tuples of x's modes [first, last) are in a sample of all possible
 * tuples; each counted tuple stands for *scale tuples. */
static enum status count_range(const struct device_coo *x, int first, int last, uint32_t *count,
                               double *scale, struct error *error)
{
    struct tuples_map map = {.first = first, .last = last};
    for (int n = first; n < last; n++)
        map.length[n - first] = (uint32_t)x->shape.dims[n];
    const struct mode_groups_sample s =
        mode_groups_sample(mode_groups_possible_tuples(x->shape.dims, x->nnz, first, last));
    const struct tuples_sample sample = {.key_bits = s.key_bits, .skipped_bits = s.skipped_bits};
    const uint64_t words = (UINT64_C(1) << (s.key_bits - s.skipped_bits)) / 64 + 1;
    uint64_t *bits = device_pool_take(x->pool, words, sizeof *bits, error);
    TRY(error->status);
    const struct tuples_nonzeros nonzeros = device_coo_tuples(x);
    const cudaStream_t stream = x->pool->stream;
    *scale = (double)(1 << s.skipped_bits);
    TRY_OR(done, cuda_status(cudaMemsetAsync(bits, 0, words * sizeof *bits, stream), doing, error));
    TRY_OR(done, cuda_status(cudaMemsetAsync(count, 0, sizeof *count, stream), doing, error));
    cuda_status(tuples_count(&nonzeros, &map, sample, x->nnz, bits, count, stream), doing, error);
done:
    device_pool_give(x->pool, bits);
    return error->status;
}

#define RANGES (MAX_ORDER * (MAX_ORDER + 1))

enum status device_mode_groups_choose(struct mode_groups *g, const struct device_coo *x,
                                      uint64_t row_bytes, uint64_t cache_bytes, struct error *error)
{
    const struct gather_cost cost = {row_bytes, cache_bytes, MODE_GROUPS_BEYOND_CACHE};
    struct tuple_counts tuples;
    uint32_t host[RANGES];
    double *range[RANGES], scale[RANGES];
    uint64_t ranges = 0;
    mode_groups_none(g, x->shape.order);
    if (!mode_groups_possible(x->shape.order))
        return STATUS_OK;
    uint32_t *count = device_pool_take(x->pool, RANGES, sizeof *count, error);
    TRY(error->status);
    for (int first = 0; first < x->shape.order; first++)
        for (int last = first + 1; last <= x->shape.order && last - first < x->shape.order;
             last++) {
            double *to = &tuples.count[first][last];
            *to = last - first == 1 ? (double)x->shape.dims[first] : INFINITY;
            if (last - first == 1 ||
                mode_groups_possible_tuples(x->shape.dims, x->nnz, first, last) == 0)
                continue;
            TRY_OR(done, count_range(x, first, last, count + ranges, &scale[ranges], error));
            range[ranges++] = to;
        }
    /* all counts at once */
    if (ranges > 0)
        TRY_OR(done,
               device_fetch(host, count, ranges * sizeof *host, x->pool->stream, doing, error));
    for (uint64_t i = 0; i < ranges; i++)
        *range[i] = host[i] * scale[i];
    mode_groups_decide(g, x->shape.order, x->nnz, &tuples, &cost);
done:
    device_pool_give(x->pool, count);
    return error->status;
}

static void set_shifts(struct tuples_target *to, const struct device_coo *d)
{
    for (int n = 0; n < d->shape.order; n++)
        to->shift[n] = d->line ? d->ordering.place[n][0] : 0;
}

/* *x = its nonzeros with the tuples' numbers as coordinates. Where lines are too long, the numbers
 * of a mode group take the place of its first mode's coordinates. */
static enum status reduce(struct device_coo *x, const struct mode_groups *g,
                          const struct tuples_map *map, const uint32_t *tuples, struct error *error)
{
    uint64_t dims[MAX_ORDER];
    struct device_coo reduced;
    struct tuples_nonzeros nonzeros = device_coo_tuples(x);
    struct tuples_target to = {0};
    for (int k = 0; k < g->groups; k++)
        dims[k] = tuples[k];
    device_coo_init(&reduced, SHAPE(g->groups, dims), x->nnz, x->pool);
    if (x->line) {
        reduced.line = x->line;
        x->line = NULL;
    } else if (reduced.ordering.line_bits <= 64) {
        reduced.line = device_pool_take(x->pool, x->nnz, sizeof *reduced.line, error);
    } else {
        for (int k = 0; k < g->groups; k++) {
            to.index[k] = reduced.index[k] = x->index[g->first[k]];
            x->index[g->first[k]] = NULL;
        }
    }
    reduced.value = x->value;
    x->value = NULL;
    to.line = reduced.line;
    set_shifts(&to, &reduced);
    TRY_OR(done, error->status);
    cuda_status(tuples_reduce(&nonzeros, map, g->groups, &to, x->nnz, x->pool->stream), doing,
                error);
done:
    device_coo_free(x);
    *x = reduced;
    return error->status;
}

/* The tuples of one mode group as a tensor, and their coordinates. */
static enum status list_tuples(struct device_coo *d, uint32_t **coordinate,
                               const struct tuples_map *map, uint32_t tuples,
                               const struct device_pool *pool, struct error *error)
{
    int size = map->last - map->first;
    uint64_t dims[MAX_ORDER] = {0};
    struct tuples_target to = {0};
    for (int n = 0; n < size; n++)
        dims[n] = map->length[n];
    dims[size] = tuples;
    device_coo_init(d, SHAPE(size + 1, dims), tuples, pool);
    d->value = device_pool_take(pool, tuples, sizeof *d->value, error);
    TRY(error->status);
    if (d->ordering.line_bits <= 64)
        to.line = d->line = device_pool_take(pool, tuples, sizeof *d->line, error);
    else
        device_coo_take_indices(d, error);
    TRY(error->status);
    for (int n = 0; n < size; n++) {
        coordinate[n] = device_pool_keep(pool, tuples, sizeof *coordinate[n], error);
        TRY(error->status);
        to.index[n] = coordinate[n];
    }
    to.index[size] = d->index[size];
    set_shifts(&to, d);
    TRY(cuda_status(tuples_list(map, &to, d->value, pool->stream), doing, error));
    for (int n = 0; n < size && !d->line; n++)
        TRY(device_copy(d->index[n], coordinate[n], d->nnz * sizeof *coordinate[n], pool->stream,
                        doing, error));
    return STATUS_OK;
}

enum status device_mode_groups_apply(struct device_grouped_tensor *grouped,
                                     const struct mode_groups *g, struct device_coo *x,
                                     struct error *error)
{
    const struct device_pool *pool = x->pool;
    struct tuples_map map[MAX_ORDER] = {0};
    uint32_t tuples[MAX_ORDER];
    *grouped = (struct device_grouped_tensor){0};
    uint32_t *count = device_pool_take(pool, MAX_ORDER, sizeof *count, error);
    TRY(error->status);
    for (int k = 0; k < g->groups; k++) {
        TRY_OR(done, map_create(&map[k], x, g->first[k], g->first[k + 1], error));
        if (!map[k].bits)
            continue;
        TRY_OR(done, device_copy(count + k, map[k].before + map[k].words, sizeof *count,
                                 pool->stream, doing, error));
    }
    TRY_OR(done, device_fetch(tuples, count, (size_t)g->groups * sizeof *count, pool->stream, doing,
                              error));
    for (int k = 0; k < g->groups; k++)
        if (mode_groups_size(g, k) == 1)
            tuples[k] = (uint32_t)x->shape.dims[g->first[k]];
    TRY_OR(done, reduce(x, g, map, tuples, error));
    for (int k = 0; k < g->groups; k++)
        if (map[k].bits && list_tuples(&grouped->tuples[k], &grouped->coordinate[g->first[k]],
                                       &map[k], tuples[k], pool, error) != STATUS_OK)
            goto done;
done:
    device_pool_give(pool, count);
    for (int k = 0; k < g->groups; k++)
        map_free(&map[k], pool);
    if (error->status != STATUS_OK)
        device_mode_groups_free(grouped, pool);
    return error->status;
}

void device_mode_groups_free(struct device_grouped_tensor *g, const struct device_pool *pool)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        device_coo_free(&g->tuples[n]);
        device_pool_give(pool, g->coordinate[n]);
    }
    *g = (struct device_grouped_tensor){0};
}
