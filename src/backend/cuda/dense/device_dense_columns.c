#include "backend/cuda/dense/device_dense_columns.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/memory.h"

#define BLOCKS_PER_PROCESSOR 8  /* of 256 threads: all that run at once */
#define BLOCK_ROWS           64 /* at least: fewer are done sooner than they are merged */
#define MOST_PARTIALS        (UINT64_C(1) << 18)

static const char doing[] = "measuring columns";

enum status device_columns_open(struct device_columns *c, int device, uint64_t rank,
                                cudaStream_t stream, struct error *error)
{
    int processors = 0;
    *c = (struct device_columns){.stream = stream, .rank = rank};
    TRY(device_attribute(device, cudaDevAttrMultiProcessorCount, &processors, error));
    uint64_t blocks = (uint64_t)processors * BLOCKS_PER_PROCESSOR, most = MOST_PARTIALS / rank;
    blocks = blocks < most ? blocks : most;
    c->blocks = blocks > 0 ? (uint32_t)blocks : 1;
    TRY(device_array_into(&c->entry, 3 * rank, sizeof *c->entry, error));
    TRY(device_array_into(&c->partial, c->blocks * rank, sizeof *c->partial, error));
    c->found = memory_array(c->blocks * rank, sizeof *c->found, error);
    return error->status;
}

void device_columns_close(struct device_columns *c)
{
    device_free(c->entry, c->partial);
    memory_free(c->found);
    *c = (struct device_columns){0};
}

enum status device_columns_measure(struct device_columns *c, const struct dense_columns_args *args,
                                   enum precision precision, const double *entry, uint32_t *parts,
                                   struct error *error)
{
    struct dense_columns_args pass = *args;
    const size_t bytes = 3 * c->rank * sizeof *entry;
    uint64_t blocks = args->rows / BLOCK_ROWS + 1;
    pass.rank = (uint32_t)c->rank;
    pass.blocks = blocks < c->blocks ? (uint32_t)blocks : c->blocks;
    pass.scale = c->entry;
    pass.weight = c->entry + c->rank;
    pass.bound = c->entry + 2 * c->rank;
    pass.partial = c->partial;
    *parts = pass.blocks;
    TRY(device_copy(c->entry, entry, bytes, c->stream, doing, error));
    TRY(cuda_status(dense_columns(&pass, precision, c->stream), doing, error));
    return device_fetch(c->found, c->partial, pass.blocks * c->rank * sizeof *c->found, c->stream,
                        doing, error);
}
