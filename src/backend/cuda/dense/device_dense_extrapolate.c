#include "backend/cuda/dense/device_dense_extrapolate.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"

static const char doing[] = "extrapolation";

enum status device_dense_extrapolate_open(struct device_dense_extrapolate *d, int device,
                                          uint64_t ld, enum precision precision,
                                          struct device_dense_wide *wide, struct error *error)
{
    *d = (struct device_dense_extrapolate){.precision = precision, .wide = wide};
    if (wide)
        return STATUS_OK;
    TRY(cuda_status(dense_extrapolate_blocks(device, ld, precision, &d->blocks), doing, error));
    const uint64_t most = d->blocks > MAX_ORDER ? d->blocks : MAX_ORDER;
    return device_array_into(&d->partial, most * dense_apply_partial(ld), sizeof *d->partial,
                             error);
}

void device_dense_extrapolate_close(struct device_dense_extrapolate *d)
{
    device_free(d->partial);
    *d = (struct device_dense_extrapolate){0};
}

static enum status wide_rows(struct device_dense_extrapolate *d,
                             const struct dense_extrapolate_args *args, double *raw,
                             const struct dense_streams *streams, struct error *error)
{
    const uint64_t square = (uint64_t)args->rank * args->rank;
    const uint64_t row_bytes = args->ld * precision_bytes(d->precision);
    TRY(cuda_status(dense_extrapolate(args, d->precision, streams->pass), doing, error));
    for (int n = 0; n < args->modes; n++) {
        const struct dense_extrapolate_mode *mode = &args->mode[n];
        const struct device_dense_rows rows = {.a = (char *)mode->s + mode->first * row_bytes,
                                               .count = mode->count,
                                               .raw = raw + (uint64_t)n * square};
        TRY(device_dense_wide_gram(d->wide, &rows, error));
    }
    return cuda_status(dense_streams_join(streams), doing, error);
}

enum status device_dense_extrapolate_rows(struct device_dense_extrapolate *d,
                                          const struct dense_extrapolate_args *args, double *raw,
                                          const struct dense_streams *streams, struct error *error)
{
    if (d->wide)
        return wide_rows(d, args, raw, streams, error);
    return cuda_status(
        dense_extrapolate_gram(args, d->precision, d->partial, d->blocks, raw, streams), doing,
        error);
}
