#include <string.h>

#include "cuda_error.h"
#include "device_blco.h"
#include "device_sort.h"
#include "device_staging.h"
#include "linearise.h"
#include "memory.h"
#include "relayout.h"

#define SLICE 1024 /* lines that stay in the first cache while every mode adds its bits */

struct packing {
    const struct coo *x;
    const struct ordering *line;
};

static void pack_lines(const void *source, uint64_t first, uint64_t count, void *to)
{
    const struct packing *p = source;
    for (uint64_t done = 0; done < count; done += SLICE) {
        uint64_t n = count - done < SLICE ? count - done : SLICE;
        uint64_t *line = (uint64_t *)to + done;
        memset(line, 0, n * sizeof *line);
        for (int mode = 0; mode < p->x->order; mode++) {
            if (p->line->mode_bits[mode] == 0)
                continue;
            const uint32_t *index = p->x->index[mode] + first + done;
            int shift = p->line->place[mode][0];
            for (uint64_t i = 0; i < n; i++)
                line[i] |= (uint64_t)index[i] << shift;
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
    struct packing packing = {x, &d->line};
    d->packed = device_array(d->nnz, sizeof *d->packed, error);
    if (!d->packed)
        return error->status;
    return staging_send(staging, d->packed, d->nnz, sizeof *d->packed, pack_lines, &packing, error);
}

static enum status send_coordinates(struct device_coo *d, const struct coo *x,
                                    struct staging *staging, struct error *error)
{
    for (int n = 0; n < d->order; n++) {
        d->index[n] = device_array(d->nnz, sizeof *d->index[n], error);
        if (!d->index[n] || staging_send(staging, d->index[n], d->nnz, sizeof *d->index[n],
                                         copy_indices, x->index[n], error) != STATUS_OK)
            return error->status;
    }
    return STATUS_OK;
}

enum status device_coo_upload(struct device_coo *d, const struct coo *x, cudaStream_t stream,
                              struct error *error)
{
    struct staging staging = {0};
    *d = (struct device_coo){.order = x->order, .nnz = x->nnz};
    memcpy(d->dims, x->dims, sizeof d->dims);
    relayout_common(&d->line, x->order, x->dims);
    d->spares = memory_zeros(1, sizeof *d->spares, error);
    if (!d->spares || staging_open(&staging, stream, error) != STATUS_OK)
        goto done;

    d->value = device_array(d->nnz, sizeof *d->value, error);
    if (!d->value || staging_send(&staging, d->value, d->nnz, sizeof *d->value, copy_values,
                                  x->value, error) != STATUS_OK)
        goto done;
    if ((d->line.line_bits <= 64 ? send_lines : send_coordinates)(d, x, &staging, error) !=
        STATUS_OK)
        goto done;
    cuda_status(cudaStreamSynchronize(stream), "copying the tensor to the GPU", error);

done:
    staging_close(&staging);
    if (error->status != STATUS_OK)
        device_coo_free(d);
    return error->status;
}

/* The lines themselves are the keys. */
static enum status sort_lines(struct device_coo *d, cudaStream_t stream, struct error *error)
{
    struct device_pairs pairs = {d->nnz, sizeof *d->value, {d->packed}, {d->value}};
    device_pairs_sort(&pairs, 0, d->line.line_bits, d->spares, stream, error);
    d->packed = pairs.key[0];
    d->value = pairs.payload[0];
    pairs.key[0] = NULL;
    pairs.payload[0] = NULL;
    device_pairs_give(&pairs, d->spares);
    return error->status;
}

/* The arrays in the order of the positions, each into the room that the one before has left. */
static enum status permute(struct device_coo *d, const void *position, uint32_t *index,
                           double *value, cudaStream_t stream, struct error *error)
{
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
    device_spares_give(d->spares, index, d->nnz, sizeof *index);
    device_spares_give(d->spares, d->value, d->nnz, sizeof *value);
    d->value = value;
    return cuda_status(code, "reordering the nonzeros", error);
}

static enum status sort_coordinates(struct device_coo *d, cudaStream_t stream, struct error *error)
{
    struct device_pairs pairs;
    uint32_t *index = NULL;
    double *value = NULL;
    if (device_pairs_take(&pairs, d->nnz, device_position_size(d->nnz), d->spares, error) !=
            STATUS_OK ||
        device_pairs_sort_positions(&pairs, d, &d->line, stream, error) != STATUS_OK)
        goto done;
    device_pairs_give_keys(&pairs, d->spares);
    index = device_spares_take(d->spares, d->nnz, sizeof *index, error);
    if (index)
        value = device_spares_take(d->spares, d->nnz, sizeof *value, error);
    if (value)
        permute(d, pairs.payload[0], index, value, stream, error);
    else
        device_spares_give(d->spares, index, d->nnz, sizeof *index);

done:
    device_pairs_give(&pairs, d->spares);
    return error->status;
}

enum status device_coo_sort(struct device_coo *d, cudaStream_t stream, struct error *error)
{
    if (d->sorted)
        return STATUS_OK;
    if ((d->packed ? sort_lines : sort_coordinates)(d, stream, error) != STATUS_OK)
        return error->status;
    d->sorted = true;
    return cuda_status(cudaStreamSynchronize(stream), "sorting the nonzeros", error);
}

void device_coo_free(struct device_coo *d)
{
    device_free(d->packed);
    for (int n = 0; n < MAX_ORDER; n++)
        device_free(d->index[n]);
    device_free(d->value);
    if (d->spares)
        device_spares_free(d->spares);
    memory_free(d->spares);
    memset(d, 0, sizeof *d);
}
