#include "backend/cuda/tensor/device_pairs.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "base/memory.h"

static const char doing[] = "sorting the nonzeros";

enum status device_pairs_complete(struct array_pairs *p, int i, const struct device_pool *pool,
                                  struct error *error)
{
    if (!p->key[i])
        p->key[i] = device_pool_take(pool, p->count, sizeof(uint64_t), error);
    TRY(error->status);
    if (!p->value[i])
        p->value[i] = device_pool_take(pool, p->count, (size_t)p->value_size, error);
    return error->status;
}

enum status device_pairs_take(struct array_pairs *p, uint64_t n, int value_size,
                              const struct device_pool *pool, struct error *error)
{
    *p = (struct array_pairs){.count = n, .key_size = sizeof(uint64_t), .value_size = value_size};
    return device_pairs_complete(p, 0, pool, error);
}

void device_pairs_give_keys(struct array_pairs *p, const struct device_pool *pool)
{
    device_pool_give(pool, p->key[0], p->key[1], p->value[1]);
    p->key[0] = NULL;
    p->key[1] = NULL;
    p->value[1] = NULL;
}

void device_pairs_give(struct array_pairs *p, const struct device_pool *pool)
{
    device_pairs_give_keys(p, pool);
    device_pool_give(pool, p->value[0]);
    p->value[0] = NULL;
}

enum status device_pairs_sort(struct array_pairs *p, int begin, int end,
                              const struct device_pool *pool, struct error *error)
{
    if (begin >= end || p->count < 2)
        return STATUS_OK;
    TRY(device_pairs_complete(p, 1, pool, error));
    cudaStream_t stream = pool->stream;
    size_t bytes = 0;
    cudaError_t code = arrays_sort(NULL, &bytes, p, begin, end, stream);
    if (code != cudaSuccess)
        return cuda_status(code, doing, error);
    void *temporary = device_pool_take(pool, bytes, 1, error);
    TRY(error->status);
    code = arrays_sort(temporary, &bytes, p, begin, end, stream);
    device_pool_give(pool, temporary);
    return cuda_status(code, doing, error);
}

enum status device_pairs_scan(uint64_t *count, uint64_t n, uint64_t *sum,
                              const struct device_pool *pool, struct error *error)
{
    static const char summing[] = "summing counts on the GPU";
    const cudaStream_t stream = pool->stream;
    size_t bytes = 0;
    TRY(cuda_status(cudaMemsetAsync(count + n, 0, sizeof *count, stream), summing, error));
    TRY(cuda_status(arrays_scan(NULL, &bytes, count, n + 1, stream), summing, error));
    void *temporary = device_pool_take(pool, bytes, 1, error);
    TRY(error->status);
    const cudaError_t code = arrays_scan(temporary, &bytes, count, n + 1, stream);
    if (cuda_status(code, summing, error) == STATUS_OK)
        device_fetch(sum, count + n, sizeof *sum, stream, summing, error);
    device_pool_give(pool, temporary);
    return error->status;
}

enum status device_pairs_select(const uint8_t *flag, uint64_t n, void *place, int place_size,
                                uint64_t *count, const struct device_pool *pool,
                                struct error *error)
{
    static const char selecting[] = "listing what is marked on the GPU";
    const cudaStream_t stream = pool->stream;
    size_t bytes = 0;
    cudaError_t code = arrays_select(NULL, &bytes, flag, place, place_size, NULL, n, stream);
    TRY(cuda_status(code, selecting, error));
    uint64_t *selected = device_pool_take(pool, 1, sizeof *selected, error);
    void *temporary = device_pool_take(pool, bytes, 1, error);
    TRY_OR(done, error->status);
    code = arrays_select(temporary, &bytes, flag, place, place_size, selected, n, stream);
    TRY_OR(done, cuda_status(code, selecting, error));
    device_fetch(count, selected, sizeof *count, stream, selecting, error);
done:
    device_pool_give(pool, selected, temporary);
    return error->status;
}

int device_pairs_position_size(uint64_t nnz)
{
    return nnz <= UINT32_MAX ? 4 : 8;
}

#define PIECES 8 /* about */

static const char piecewise[] = "sorting the nonzeros in pieces";

struct piecewise_sort {
    struct line_pieces_nonzeros x;
    const struct device_pool *pool;
    struct array_pairs *all;
    struct array_pairs room; /* for the fullest piece; owned                          */
    uint64_t *bin;           /* (LINE_PIECES_BINS), host: nonzeros of each; owned     */
    uint64_t *count;         /* (tiles + 1), device: nonzeros of the piece; owned     */
    uint64_t tiles;
    int begin, end; /* the bits that are sorted by                                    */
};

/* One more than the last bin of the piece that begins with bin `first`; *nnz = its nonzeros. */
static uint32_t piece_end(const struct piecewise_sort *s, uint32_t first, uint64_t *nnz)
{
    uint32_t bin = first;
    *nnz = 0;
    do
        *nnz += s->bin[bin++];
    while (bin < LINE_PIECES_BINS && *nnz + s->bin[bin] <= s->x.nnz / PIECES);
    return bin;
}

static void *value_at(const struct array_pairs *p, uint64_t i)
{
    return (char *)p->value[0] + i * (uint64_t)p->value_size;
}

/* Sorts the `nnz` pairs from `at` on, where they are. */
static enum status sort_piece(struct piecewise_sort *s, uint64_t at, uint64_t nnz,
                              struct error *error)
{
    uint64_t *key = (uint64_t *)s->all->key[0] + at;
    void *value = value_at(s->all, at);
    size_t value_bytes = nnz * (size_t)s->all->value_size;
    struct array_pairs piece = {
        nnz, {key, s->room.key[0]}, {value, s->room.value[0]}, sizeof *key, s->all->value_size};
    TRY(device_pairs_sort(&piece, s->begin, s->end, s->pool, error));
    if (piece.key[0] == key)
        return STATUS_OK;
    cudaStream_t stream = s->pool->stream;
    TRY(device_copy(key, piece.key[0], nnz * sizeof *key, stream, piecewise, error));
    return device_copy(value, piece.value[0], value_bytes, stream, piecewise, error);
}

enum status device_pairs_sort_pieces(struct array_pairs *p, const struct line_pieces_nonzeros *x,
                                     int begin, int end, const struct device_pool *pool,
                                     struct error *error)
{
    struct piecewise_sort s = {.x = *x, .pool = pool, .all = p, .begin = begin, .end = end};
    const int bin_bits = __builtin_ctz(LINE_PIECES_BINS);
    const cudaStream_t stream = pool->stream;
    uint64_t at = 0, nnz;
    s.x.shift = end > bin_bits ? end - bin_bits : 0;
    uint64_t *count = device_pool_take(pool, LINE_PIECES_BINS, sizeof *count, error);
    s.bin = memory_array(LINE_PIECES_BINS, sizeof *s.bin, error);
    TRY_OR(done, error->status);
    TRY_OR(done, cuda_status(line_pieces_bins(&s.x, count, stream), piecewise, error));
    TRY_OR(done,
           device_fetch(s.bin, count, LINE_PIECES_BINS * sizeof *s.bin, stream, piecewise, error));
    uint64_t most = 0; /* nonzeros of the fullest piece */
    for (uint32_t b = 0; b < LINE_PIECES_BINS;) {
        b = piece_end(&s, b, &nnz);
        most = nnz > most ? nnz : most;
    }
    s.tiles = select_tiles(x->nnz);
    TRY_OR(done, device_pairs_take(&s.room, most, p->value_size, pool, error));
    s.count = device_pool_take(pool, s.tiles + 1, sizeof *s.count, error);
    TRY_OR(done, error->status);
    for (uint32_t b = 0, last; b < LINE_PIECES_BINS; b = last) {
        last = piece_end(&s, b, &nnz);
        if (nnz == 0)
            continue;
        const struct select_target to = {.line = (uint64_t *)p->key[0] + at,
                                         .value = value_at(p, at)};
        cudaError_t code = line_pieces_select(&s.x, b, last, s.count, NULL, p->value_size, stream);
        TRY_OR(done, cuda_status(code, piecewise, error));
        TRY_OR(done, device_pairs_scan(s.count, s.tiles, &nnz, pool, error));
        code = line_pieces_select(&s.x, b, last, s.count, &to, p->value_size, stream);
        TRY_OR(done, cuda_status(code, piecewise, error));
        TRY_OR(done, sort_piece(&s, at, nnz, error));
        at += nnz;
    }
done:
    device_pool_give(pool, count, s.count);
    device_pairs_give(&s.room, pool);
    memory_free(s.bin);
    return error->status;
}
