/* A BLCO tensor in device memory, with the bases of its blocks and tables of chunks for the MTTKRP
 * kernels, each table with chunks of another size. */
#pragma once

#include "backend/cuda/tensor/device_blco.h"
#include "kernels/mttkrp/mttkrp.h"

#define DEVICE_CHUNK_TABLES 5 /* each has chunks twice as long as the table before */

struct device_chunk_table {
    struct mttkrp_chunk *chunk; /* (count); device */
    uint64_t count;
};

struct device_tensor {
    struct device_blco blco;
    uint32_t *base; /* (nblocks x MAX_ORDER); device, owned; NULL where all bits are zero */
    struct mttkrp_chunk *chunk; /* of all tables; device, owned */
    struct device_chunk_table table[DEVICE_CHUNK_TABLES];
    uint32_t *zero_row; /* (zero_rows): see chunks.h; `mode n` orderings only; device, owned */
    uint64_t zero_rows;
};

/* Most nonzeros of a chunk in table number `table` of t. */
uint32_t device_tensor_chunk_size(const struct device_tensor *t, int table);

/* Builds an ordering of x, its bases and its tables, from x's pool and on its stream. On failure *t
 * is empty. STATUS_MEMORY. */
enum status device_tensor_build(struct device_tensor *t, struct device_coo *x,
                                const struct device_blco_options *options, struct error *error);

/* No work on the device may use it any more. */
void device_tensor_free(struct device_tensor *t);

/* *args for the kernels: nonzeros, chunks, bases, and `mode` as the output; no gathers. */
void device_tensor_args(const struct device_tensor *t, int table, int mode,
                        struct mttkrp_args *args);

/* The place of mode n's row number in the index. */
struct mttkrp_field device_tensor_field(const struct device_tensor *t, int n);
