/* Copying factor matrices between host and device: the host's rows are doubles without padding, the
 * device's rows are padded to whole vectors and may be floats. */
#ifndef BLCO_DEVICE_FACTOR_COPY_H
#define BLCO_DEVICE_FACTOR_COPY_H

#include "backend/column_form.h"
#include "backend/cuda/runtime/device_staging.h"
#include "numerics/precision.h"

/* a (rows x ld, device, of this precision) = host (rows x columns); columns from `columns` on
 * become zero. Returns when the host array has been read; a is there when the staging's stream gets
 * there. STATUS_INTERNAL. */
enum status device_factor_upload(struct device_staging *s, const double *host, void *a,
                                 uint64_t rows, uint64_t columns, uint64_t ld,
                                 enum precision precision, struct error *error);

/* host = a, each column multiplied by its scale (columns) where `scale` is not NULL. Returns when
 * it is done. STATUS_INTERNAL. */
enum status device_factor_download(struct device_staging *s, const void *a, double *host,
                                   uint64_t rows, uint64_t columns, uint64_t ld,
                                   enum precision precision, const double *scale,
                                   struct error *error);

/* host = a in this form. A row takes no more than DEVICE_STAGING_BYTES. Returns when it is done.
 * STATUS_INTERNAL. */
enum status device_factor_download_form(struct device_staging *s, const void *a, double *host,
                                        uint64_t rows, uint64_t columns, uint64_t ld,
                                        enum precision precision, const struct column_form *form,
                                        struct error *error);

#endif
