/* The names of the tensor, which the model keeps: those of CSV, or from the maps beside the tensor.
 */
#ifndef BLCO_CPD_NAMES_H
#define BLCO_CPD_NAMES_H

#include "formats/names/labels.h"
#include "ranks/rank_tensor.h"

/* Finds the names of the tensor at `path`, which *t has opened and whose names of CSV it gives up.
 * With a range of -r, the first rank finds them. Rank 0 calls this; the caller calls labels_free,
 * after a failure too. STATUS_INPUT where maps are not those of this tensor, STATUS_MEMORY. */
enum status cpd_names_find(struct labels *names, struct rank_tensor *t, const char *path,
                           struct error *error);

#endif
