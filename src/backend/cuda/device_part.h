/* A rank's part of a .blco file in device memory, with its rows divided among the ranks. */
#ifndef BLCO_DEVICE_PART_H
#define BLCO_DEVICE_PART_H

#include "backend/backend_kind.h"
#include "backend/cuda/tensor/device_coo.h"

/* Decodes the part of source->ranks from source->file, divides the rows among the ranks unless they
 * are divided already, and numbers the nonzeros by the rows that are here. *norm_sq = ||X||^2 of
 * all ranks. Otherwise as device_coo_decode. STATUS_INPUT, also where the parts of all ranks
 * together lack nonzeros; STATUS_MEMORY; and errors of other ranks. */
enum status device_part_read(struct device_coo *d, const struct tensor_source *source,
                             double *norm_sq, struct device_staging *staging,
                             const struct device_pool *pool, struct error *error);

#endif
