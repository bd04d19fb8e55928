#include <string.h>

#include "cuda_error.h"
#include "device_blco.h"
#include "device_sort.h"
#include "linearise.h"
#include "relayout.h"

#define SLICE 1024 /* lines that stay in the first cache while every mode adds its bits */

/* The modes that have bits on the line. */
struct packing {
    int modes;
    const uint32_t *index[MAX_ORDER];
    int shift[MAX_ORDER];
};

static struct packing packing_of(const struct coo *x, const struct ordering *line)
{
    struct packing p = {0};
    for (int n = 0; n < x->order; n++)
        if (line->mode_bits[n] > 0) {
            p.index[p.modes] = x->index[n];
            p.shift[p.modes++] = line->place[n][0];
        }
    return p;
}

/* Two modes at a time: each load and store of a line serves both. */
__attribute__((target_clones("avx512f", "avx2", "default"))) static void
add_pair(uint64_t *restrict line, const uint32_t *a, int a_shift, const uint32_t *b, int b_shift,
         uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        line[i] |= (uint64_t)a[i] << a_shift | (uint64_t)b[i] << b_shift;
}

static void pack_lines(const void *source, uint64_t first, uint64_t count, void *to)
{
    const struct packing *p = source;
    for (uint64_t done = 0; done < count; done += SLICE) {
        uint64_t n = count - done < SLICE ? count - done : SLICE;
        uint64_t *line = (uint64_t *)to + done;
        memset(line, 0, n * sizeof *line);
        for (int a = 0; a < p->modes; a += 2) {
            int b = a + 1 < p->modes ? a + 1 : a;
            add_pair(line, p->index[a] + first + done, p->shift[a], p->index[b] + first + done,
                     p->shift[b], n);
        }
    }
}

static void copy_indices(const void *source, uint64_t first, uint64_t count, void *to)
{
    memcpy(to, (const uint32_t *)source + first, count * sizeof(uint32_t));
}

static void copy_values(const void *source, uint64_t first, uint64_t count, void *to)
{
    memcpy(to, (const double *)source + first, count * sizeof(double));
}

static enum status send_lines(struct device_coo *d, const struct coo *x, struct staging *staging,
                              struct error *error)
{
    struct packing packing = packing_of(x, &d->line);
    d->packed = device_pool_take(d->pool, d->nnz, sizeof *d->packed, error);
    if (!d->packed)
        return error->status;
    return staging_send(staging, d->packed, d->nnz, sizeof *d->packed, pack_lines, &packing, error);
}

static enum status send_coordinates(struct device_coo *d, const struct coo *x,
                                    struct staging *staging, struct error *error)
{
    for (int n = 0; n < d->order; n++) {
        d->index[n] = device_pool_take(d->pool, d->nnz, sizeof *d->index[n], error);
        if (!d->index[n] || staging_send(staging, d->index[n], d->nnz, sizeof *d->index[n],
                                         copy_indices, x->index[n], error) != STATUS_OK)
            return error->status;
    }
    return STATUS_OK;
}

enum status device_coo_upload(struct device_coo *d, const struct coo *x, struct staging *staging,
                              const struct device_pool *pool, struct error *error)
{
    device_coo_init(d, x->order, x->dims, x->nnz, pool);
    d->value = device_pool_take(pool, d->nnz, sizeof *d->value, error);
    if (!d->value || staging_send(staging, d->value, d->nnz, sizeof *d->value, copy_values,
                                  x->value, error) != STATUS_OK)
        goto fail;
    if ((d->line.line_bits <= 64 ? send_lines : send_coordinates)(d, x, staging, error) !=
        STATUS_OK)
        goto fail;
    return STATUS_OK;

fail:
    device_coo_free(d);
    return error->status;
}

void device_coo_init(struct device_coo *d, int order, const uint64_t *dims, uint64_t nnz,
                     const struct device_pool *pool)
{
    *d = (struct device_coo){.order = order, .nnz = nnz, .pool = pool};
    memcpy(d->dims, dims, (size_t)order * sizeof *dims);
    relayout_common(&d->line, order, dims);
}

/* The lines themselves are the keys. */
static enum status sort_lines(struct device_coo *d, struct error *error)
{
    struct device_pairs pairs = {d->nnz, sizeof *d->value, {d->packed}, {d->value}};
    device_pairs_sort(&pairs, 0, d->line.line_bits, d->pool, error);
    d->packed = pairs.key[0];
    d->value = pairs.payload[0];
    pairs.key[0] = NULL;
    pairs.payload[0] = NULL;
    device_pairs_give(&pairs, d->pool);
    return error->status;
}

/* The arrays in the order of the positions, each into the room that the one before has left. */
static enum status permute(struct device_coo *d, const void *position, uint32_t *index,
                           double *value, struct error *error)
{
    cudaStream_t stream = d->pool->stream;
    int size = device_position_size(d->nnz);
    cudaError_t code = linearise_gather(d->value, sizeof *value, position, size, value,
                                        sizeof *value, d->nnz, stream);
    for (int n = 0; n < d->order && code == cudaSuccess; n++) {
        uint32_t *old = d->index[n];
        code = linearise_gather(old, sizeof *old, position, size, index, sizeof *index, d->nnz,
                                stream);
        d->index[n] = index;
        index = old;
    }
    device_pool_give(d->pool, index);
    device_pool_give(d->pool, d->value);
    d->value = value;
    return cuda_status(code, "reordering the nonzeros", error);
}

static enum status sort_coordinates(struct device_coo *d, struct error *error)
{
    struct device_pairs pairs;
    uint32_t *index = NULL;
    double *value = NULL;
    if (device_pairs_take(&pairs, d->nnz, device_position_size(d->nnz), d->pool, error) !=
            STATUS_OK ||
        device_pairs_sort_positions(&pairs, d, &d->line, error) != STATUS_OK)
        goto done;
    device_pairs_give_keys(&pairs, d->pool);
    index = device_pool_take(d->pool, d->nnz, sizeof *index, error);
    if (index)
        value = device_pool_take(d->pool, d->nnz, sizeof *value, error);
    if (value)
        permute(d, pairs.payload[0], index, value, error);
    else
        device_pool_give(d->pool, index);

done:
    device_pairs_give(&pairs, d->pool);
    return error->status;
}

enum status device_coo_sort(struct device_coo *d, struct error *error)
{
    if (!d->sorted && (d->packed ? sort_lines : sort_coordinates)(d, error) == STATUS_OK)
        d->sorted = true;
    return error->status;
}

void device_coo_free(struct device_coo *d)
{
    if (d->pool) {
        device_pool_give(d->pool, d->packed);
        for (int n = 0; n < MAX_ORDER; n++)
            device_pool_give(d->pool, d->index[n]);
        device_pool_give(d->pool, d->value);
    }
    memset(d, 0, sizeof *d);
}
