#include "backend/cuda/dense/device_dense_nonneg.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "backend/cuda/runtime/device_memory.h"

enum status device_dense_nonneg_open(struct device_dense_nonneg *d, int device, uint32_t rank,
                                     uint64_t ld, enum precision precision, struct error *error)
{
    int processors;
    *d = (struct device_dense_nonneg){.rank = rank, .ld = ld, .precision = precision};
    if (rank > DENSE_NONNEG_RANK)
        return error_set(error, STATUS_INPUT,
                         "rank %u, expected at most %d on a GPU where a mode is nonnegative", rank,
                         DENSE_NONNEG_RANK);
    if (device_attribute(device, cudaDevAttrMultiProcessorCount, &processors, error) != STATUS_OK)
        return error->status;
    d->processors = (uint32_t)processors;
    return device_array_into(&d->system, dense_nonneg_system_size(rank), sizeof *d->system, error);
}

void device_dense_nonneg_close(struct device_dense_nonneg *d)
{
    device_free(d->system);
    *d = (struct device_dense_nonneg){0};
}

enum status device_dense_nonneg_rows(const struct device_dense_nonneg *d,
                                     const struct dense_nonneg_args *asked,
                                     const struct dense_streams *streams, struct error *error)
{
    struct dense_nonneg_args args = *asked;
    args.ld = (uint32_t)d->ld;
    args.rank = d->rank;
    args.system = d->system;
    args.processors = d->processors;
    return cuda_status(dense_nonneg(&args, d->precision, streams), "nonnegative rows", error);
}
