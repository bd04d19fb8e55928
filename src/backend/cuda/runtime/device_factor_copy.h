/* Copies factor matrices between host and device: the host's rows are doubles without padding, the
 * device's rows are padded to whole vectors and may be floats. */
#ifndef BLCO_DEVICE_FACTOR_COPY_H
#define BLCO_DEVICE_FACTOR_COPY_H

#include "backend/cuda/runtime/device_staging.h"
#include "numerics/precision.h"

/* A factor matrix on the device. */
struct device_rows {
    void *a;                  /* (rows x ld); borrowed                      */
    uint64_t rows, columns;   /* columns from `columns` on are padding      */
    uint64_t ld;              /* entries of a row, padding included         */
    enum precision precision; /* of the entries                             */
};

/* to = host (rows x columns), its padding zeros. Returns when the host array has been read; the rows
 * are there when the staging's stream gets there. STATUS_INTERNAL. */
enum status device_factor_upload(struct device_staging *s, const double *host,
                                 const struct device_rows *to, struct error *error);

/* host (rows x columns) = from, each column multiplied by its scale (columns) where `scale` is not
 * NULL. Returns when it is done. STATUS_INTERNAL. */
enum status device_factor_download(struct device_staging *s, const struct device_rows *from,
                                   double *host, const double *scale, struct error *error);

/* How the columns of `host` follow from those of the device's matrix. */
struct device_factor_columns {
    const uint64_t *from;         /* (columns): which column of the device's matrix         */
    const double *scale;          /* (columns): multiplies its entries ...                  */
    const double *weight, *bound; /* (columns): ... which become 0 where the product with
                                   * the weight is not above the bound; bound NULL: none does */
    const double *divisor;        /* (columns): divides them in the end                     */
};

/* host (rows x columns) = from, its columns by *how. A row takes at most DEVICE_STAGING_BYTES.
 * Returns when it is done. STATUS_INTERNAL. */
enum status device_factor_download_columns(struct device_staging *s, const struct device_rows *from,
                                           double *host, const struct device_factor_columns *how,
                                           struct error *error);

#endif
