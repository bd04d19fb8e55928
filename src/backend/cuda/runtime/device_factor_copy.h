/* Copies factor matrices between host and device: the host's rows are doubles without padding, the
 * device's rows are padded to whole vectors and may be floats. A row takes at most
 * DEVICE_STAGING_BYTES. */
#pragma once

#include "backend/column_form.h"
#include "backend/cuda/runtime/device_staging.h"
#include "numerics/precision.h"

/* A matrix on the device. */
struct device_matrix {
    void *entries;          /* (rows x ld), of this precision; borrowed */
    uint64_t rows, columns; /* the columns from `columns` on are zero   */
    uint64_t ld;
    enum precision precision;
};

/* *a = host (rows x columns). Returns when the host array has been read; the matrix is there when
 * the staging's stream gets there. STATUS_INTERNAL. */
enum status device_factor_upload(struct device_staging *s, const double *host,
                                 const struct device_matrix *a, struct error *error);

/* The host's rows; what is NULL does not count. */
struct host_rows_form {
    const struct column_form *form; /* the form that they get                                    */
    const double *scale;            /* (columns), by which the columns are multiplied            */
    const uint64_t *number; /* (rows): row i of the matrix becomes row number[i] of the host, or
                             * none where that is UINT64_MAX */
};

/* host (rows x columns) = *a, in this form. Returns when it is done. STATUS_INTERNAL. */
enum status device_factor_download(struct device_staging *s, const struct device_matrix *a,
                                   double *host, const struct host_rows_form *form,
                                   struct error *error);
