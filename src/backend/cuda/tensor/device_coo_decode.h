/* A .blco file's nonzeros on the device: its segments go over the bus as they are and are decoded
 * there, which takes no memory for coordinates on the host. */
#ifndef BLCO_DEVICE_COO_DECODE_H
#define BLCO_DEVICE_COO_DECODE_H

#include "backend/cuda/tensor/device_blco.h"
#include "formats/blco/blco_file.h"

/* As device_coo_upload, for a tensor whose coordinates fit into words (decoded_layout_create). The
 * segments are checked on their way. *norm_sq = ||X||^2. STATUS_INPUT where the file is damaged.
 * Device memory while it runs, beyond the result: the file's bytes, or 8 a nonzero where that is
 * more; and 64 MB where lines have more than 64 bits. */
enum status device_coo_decode(struct device_coo *d, const struct blco_file *f, double *norm_sq,
                              struct device_staging *staging, const struct device_pool *pool,
                              struct error *error);

#endif
