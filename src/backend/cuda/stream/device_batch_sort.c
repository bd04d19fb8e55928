#include "backend/cuda/stream/device_batch_sort.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"

enum status device_batch_sort_open(struct device_batch_sort *b, uint64_t nnz, uint64_t *used,
                                   struct error *error)
{
    struct row_sort *s = &b->arrays;
    memset(b, 0, sizeof *b);
    if (nnz > UINT32_MAX)
        return error_set(error, STATUS_MEMORY, "batches of more than 2^32 nonzeros are not sorted");
    cudaError_t code = row_sort_temporary((uint32_t)nnz, &s->temporary_bytes);
    TRY(cuda_status(code, "sorting", error));
    *used += 2 * nnz * (sizeof *s->row[0] + sizeof *s->position[0]) + s->temporary_bytes;
    for (int i = 0; i < 2; i++) {
        TRY(device_array_into(&s->row[i], nnz, sizeof *s->row[i], error));
        TRY(device_array_into(&s->position[i], nnz, sizeof *s->position[i], error));
    }
    return device_array_into(&s->temporary, s->temporary_bytes, 1, error);
}

void device_batch_sort_close(struct device_batch_sort *b)
{
    for (int i = 0; i < 2; i++) {
        device_free(b->arrays.row[i]);
        device_free(b->arrays.position[i]);
    }
    device_free(b->arrays.temporary);
    memset(b, 0, sizeof *b);
}

cudaError_t device_batch_sort_run(const struct device_batch_sort *b, struct mttkrp_args *args,
                                  uint64_t nnz, cudaStream_t stream)
{
    return row_sort_launch(&b->arrays, args, (uint32_t)nnz, stream);
}
