/* Factor matrices between host and device through two pinned buffers: all threads convert one piece
 * while the copy engine moves the other. */
#ifndef BLCO_DEVICE_ROWS_H
#define BLCO_DEVICE_ROWS_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "error.h"

struct device_rows {
    void *buffer[2];      /* pinned */
    cudaEvent_t moved[2]; /* the last copy from or to each buffer */
};

/* All zeros before; on failure still to be closed. */
enum status device_rows_open(struct device_rows *s, struct error *error);
void device_rows_close(struct device_rows *s);

/* The device's (rows x ld) doubles, or floats, from the host's (rows x columns) doubles; columns
 * from `columns` on become zero. Waits until it is done. */
enum status device_rows_upload(struct device_rows *s, const double *host, void *a, uint64_t rows,
                               uint64_t columns, uint64_t ld, int single, cudaStream_t stream,
                               struct error *error);

/* And back, each column multiplied by its scale (columns) where that is not NULL. */
enum status device_rows_download(struct device_rows *s, const void *a, double *host, uint64_t rows,
                                 uint64_t columns, uint64_t ld, int single, const double *scale,
                                 cudaStream_t stream, struct error *error);

#endif
