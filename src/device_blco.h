/* The BLCO tensor in device memory: the coordinates go over once, every ordering is encoded and
 * sorted there. */
#ifndef BLCO_DEVICE_BLCO_H
#define BLCO_DEVICE_BLCO_H

#include <cuda_runtime.h>

#include "blco.h"

/* The nonzeros on the device, in the order of the coordinate tensor. */
struct device_coo {
    int order;
    uint64_t nnz;
    uint64_t dims[MAX_ORDER];
    uint64_t
        *packed; /* (nnz): all coordinates of a nonzero side by side, mode 0 lowest, each in
                  * ordering_bits(I_n) bits; NULL where they need more than 64; device, owned */
    uint32_t *index[MAX_ORDER]; /* (nnz) each where packed is NULL; device, owned */
    double *value;              /* (nnz); device, owned */
};

/* Copies x to the device through pinned staging buffers: all threads pack the next piece while the
 * copy engine moves the present one. The first error wins; *d is empty on failure. */
enum status device_coo_upload(struct device_coo *d, const struct coo *x, cudaStream_t stream,
                              struct error *error);
void device_coo_free(struct device_coo *d);

struct device_blco {
    int order;
    uint64_t nnz;
    uint64_t dims[MAX_ORDER];
    struct ordering ordering;
    uint64_t *index[2]; /* (nnz) each; [1] NULL where ordering.words is 1; device, owned     */
    void *value;        /* (nnz), double or float; device, owned                             */
    uint64_t nblocks;
    struct blco_block *block; /* (nblocks), as in struct blco, without a limit on a block's size;
                               * host, owned */
};

/* Builds the ordering `kind` on the device with the same layout, nonzeros and blocks as blco_build
 * (max_block_nnz unlimited) gives on the host. real_size 8 or 4: bytes of a value. index_bits 0: as
 * in struct blco_options. Synchronous. Device memory beyond the result: at most 32 bytes a nonzero
 * while it runs. STATUS_MEMORY where the device has no room; *b is then empty. */
enum status device_blco_build(struct device_blco *b, const struct device_coo *x, int kind,
                              int index_bits, int real_size, cudaStream_t stream,
                              struct error *error);
void device_blco_free(struct device_blco *b);

#endif
