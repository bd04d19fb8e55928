#include "device_tensor.h"

#include <stdbool.h>
#include <string.h>

#include "cuda_error.h"
#include "empty_rows.h"
#include "memory.h"

_Static_assert(MTTKRP_MAX_ORDER == MAX_ORDER, "a block's base has an entry for every mode");

/* Large tensors fill the card with chunks that are worth starting; small ones are cut finer. */
#define SMALLEST_CHUNK 512
#define SMALL_TENSOR   (UINT64_C(1) << 20)
#define FINEST_CHUNK   64

uint32_t device_tensor_chunk_size(const struct device_tensor *t, int table)
{
    return (uint32_t)(t->blco.nnz < SMALL_TENSOR ? FINEST_CHUNK : SMALLEST_CHUNK) << table;
}

static enum status to_device(void *device_pointer, const void *host, size_t bytes, const char *what,
                             struct error *error)
{
    void *device = NULL;
    enum status status = cuda_status(cudaMalloc(&device, bytes), what, error);
    if (status == STATUS_OK)
        status = cuda_status(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), what, error);
    memcpy(device_pointer, &device, sizeof device);
    return status;
}

/* Cuts every block into chunks of at most `size` nonzeros. */
static enum status build_table(struct chunk_table *table, const struct device_blco *b,
                               uint32_t size, struct error *error)
{
    uint64_t count = 0;
    for (uint64_t k = 0; k < b->nblocks; k++)
        count += (b->block[k].count + size - 1) / size;

    struct mttkrp_chunk *chunk = memory_array(count, sizeof *chunk, error);
    if (!chunk)
        return error->status;
    uint64_t c = 0;
    for (uint64_t k = 0; k < b->nblocks; k++)
        for (uint64_t i = 0; i < b->block[k].count; i += size) {
            uint64_t left = b->block[k].count - i;
            chunk[c++] = (struct mttkrp_chunk){.first = b->block[k].first + i,
                                               .count = (uint32_t)(left < size ? left : size),
                                               .block = (uint32_t)k};
        }
    table->count = count;
    enum status status =
        to_device(&table->chunk, chunk, count * sizeof *chunk, "the chunks", error);
    memory_free(chunk);
    return status;
}

static bool has_bases(const struct device_blco *b)
{
    for (uint64_t k = 0; k < b->nblocks; k++)
        for (int n = 0; n < b->order; n++)
            if (b->block[k].base[n])
                return true;
    return false;
}

static enum status build_bases(struct device_tensor *t, struct error *error)
{
    const struct device_blco *b = &t->blco;
    if (!has_bases(b))
        return STATUS_OK;
    uint32_t *base = memory_array(b->nblocks * MAX_ORDER, sizeof *base, error);
    if (!base)
        return error->status;
    for (uint64_t k = 0; k < b->nblocks; k++)
        memcpy(base + k * MAX_ORDER, b->block[k].base, MAX_ORDER * sizeof *base);
    enum status status = to_device(&t->base, base, b->nblocks * MAX_ORDER * sizeof *base,
                                   "the blocks' bases", error);
    memory_free(base);
    return status;
}

/* The shortest chunks have the most ends, and those of the longer ones are among them: one list of
 * rows serves every table. */
static enum status list_zero_rows(struct device_tensor *t, int mode, cudaStream_t stream,
                                  struct error *error)
{
    uint64_t rows = t->blco.dims[mode];
    struct mttkrp_args args;
    device_tensor_args(t, 0, mode, &args);

    size_t bytes;
    void *workspace = NULL;
    uint32_t *row = NULL;
    const char *what = "listing the rows without nonzeros";
    enum status status = cuda_status(empty_rows_workspace(rows, &bytes), what, error);
    if (status == STATUS_OK)
        status = cuda_status(cudaMalloc(&workspace, bytes), what, error);
    if (status == STATUS_OK)
        status = cuda_status(cudaMalloc((void **)&row, rows * sizeof *row), what, error);
    if (status == STATUS_OK)
        status =
            cuda_status(empty_rows_list(&args, rows, row, &t->zero_rows, workspace, bytes, stream),
                        what, error);
    if (status == STATUS_OK && t->zero_rows) /* kept at its true size */
        status =
            cuda_status(cudaMalloc((void **)&t->zero_row, t->zero_rows * sizeof *row), what, error);
    if (status == STATUS_OK && t->zero_rows)
        status = cuda_status(
            cudaMemcpy(t->zero_row, row, t->zero_rows * sizeof *row, cudaMemcpyDeviceToDevice),
            what, error);
    cudaFree(row);
    cudaFree(workspace);
    return status;
}

enum status device_tensor_build(struct device_tensor *t, const struct device_coo *x, int kind,
                                int real_size, cudaStream_t stream, struct error *error)
{
    memset(t, 0, sizeof *t);
    enum status status = device_blco_build(&t->blco, x, kind, 0, real_size, stream, error);
    if (status == STATUS_OK)
        status = build_bases(t, error);
    for (int i = 0; i < CHUNK_TABLES && status == STATUS_OK; i++)
        status = build_table(&t->table[i], &t->blco, device_tensor_chunk_size(t, i), error);
    if (status == STATUS_OK && kind != ORDERING_ALTO)
        status = list_zero_rows(t, kind, stream, error);
    if (status != STATUS_OK)
        device_tensor_free(t);
    return status;
}

void device_tensor_free(struct device_tensor *t)
{
    device_blco_free(&t->blco);
    cudaFree(t->base);
    for (int i = 0; i < CHUNK_TABLES; i++)
        cudaFree(t->table[i].chunk);
    cudaFree(t->zero_row);
    memset(t, 0, sizeof *t);
}

struct mttkrp_field device_tensor_field(const struct device_tensor *t, int n)
{
    const struct field *f = &t->blco.ordering.field[n];
    return (struct mttkrp_field){
        .word = f->word, .shift = f->shift, .mask = (uint32_t)f->mask, .mode = n};
}

void device_tensor_args(const struct device_tensor *t, int table, int mode,
                        struct mttkrp_args *args)
{
    *args = (struct mttkrp_args){.index = {t->blco.index[0], t->blco.index[1]},
                                 .value = t->blco.value,
                                 .chunk = t->table[table].chunk,
                                 .chunks = t->table[table].count,
                                 .base = t->base,
                                 .output = device_tensor_field(t, mode),
                                 .copies = 1,
                                 .owned = t->blco.ordering.kind == mode};
}
