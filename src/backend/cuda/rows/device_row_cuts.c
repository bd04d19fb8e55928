#include "backend/cuda/rows/device_row_cuts.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/memory.h"
#include "kernels/rows/row_systems.h"

static const char doing[] = "systems of rows on the GPU";

/* *to = a copy of `count` numbers on the device. */
static enum status send(uint64_t **to, const uint64_t *from, uint64_t count, cudaStream_t stream,
                        struct error *error)
{
    TRY(device_array_into(to, count, sizeof **to, error));
    return device_send(*to, from, count * sizeof **to, stream, doing, error);
}

enum status device_row_cuts_find(const struct device_row_cuts *cuts,
                                 const struct device_tensor *tensor, int mode, uint64_t *first,
                                 cudaStream_t stream, struct error *error)
{
    const struct device_blco *b = &tensor->blco;
    struct row_search_args search = {.blocks = b->nblocks, .nnz = b->nnz, .count = cuts->count};
    uint64_t *block = NULL, *of_block = NULL, *row = NULL;
    first[0] = 0;
    first[cuts->count + 1] = b->nnz;
    if (cuts->count == 0)
        return STATUS_OK;
    block = memory_array(b->nblocks, sizeof *block, error);
    if (!block)
        return error->status;
    for (uint64_t k = 0; k < b->nblocks; k++)
        block[k] = b->block[k].first;
    device_tensor_args(tensor, 0, mode, &search.mttkrp);
    TRY_OR(done, send(&of_block, block, b->nblocks, stream, error));
    TRY_OR(done, send(&row, cuts->row, cuts->count, stream, error));
    TRY_OR(done, device_array_into(&search.first, cuts->count, sizeof *first, error));
    search.block = of_block;
    search.row = row;
    TRY_OR(done, cuda_status(row_first_nonzeros(&search, stream), doing, error));
    device_fetch(first + 1, search.first, cuts->count * sizeof *first, stream, doing, error);
done:
    memory_free(block);
    device_free(of_block);
    device_free(row);
    device_free(search.first);
    return error->status;
}

void device_row_cuts_free(struct device_row_cuts *cuts)
{
    memory_free(cuts->row);
    *cuts = (struct device_row_cuts){0};
}
