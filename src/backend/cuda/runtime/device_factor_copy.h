/* Factor matrices between host and device: the host's rows are packed doubles, the device's are
 * padded to whole vectors and may be floats. */
#ifndef BLCO_DEVICE_FACTOR_COPY_H
#define BLCO_DEVICE_FACTOR_COPY_H

#include "backend/cuda/runtime/device_staging.h"

/* The device's (rows x ld) doubles, or floats, from the host's (rows x columns) doubles; columns
 * from `columns` on become zero. Returns when the host's have been read; the staging's stream tells
 * when they are there. */
enum status device_factor_upload(struct device_staging *s, const double *host, void *a,
                                 uint64_t rows, uint64_t columns, uint64_t ld, int single,
                                 struct error *error);

/* And back, each column multiplied by its scale (columns) where that is not NULL. Returns when it
 * is done. */
enum status device_factor_download(struct device_staging *s, const void *a, double *host,
                                   uint64_t rows, uint64_t columns, uint64_t ld, int single,
                                   const double *scale, struct error *error);

#endif
