/* The names of a tensor that a command converts: found with it, written to maps beside the output.
 */
#ifndef BLCO_TENSOR_MAPS_H
#define BLCO_TENSOR_MAPS_H

#include <stdbool.h>

#include "base/outfile.h"
#include "formats/csv/csv_options.h"
#include "formats/names/labels.h"
#include "formats/names/name_maps.h"

struct tensor_maps {
    const char *in, *out;          /* paths of the tensors; "-": no maps; borrowed */
    const struct csv_options *csv; /* of IN; NULL: IN is no CSV; borrowed       */
    bool force;                    /* what is there may be replaced             */
    struct labels names;           /* of the tensor, once they are found; owned */
    int count;
    struct outfile file[NAME_MAPS]; /* (count) under hidden names; owned */
};

/* Checks before the work that the maps of OUT can be made, and that no map is there that OUT would
 * take for its own. STATUS_INPUT, STATUS_OUTPUT, STATUS_MEMORY. */
enum status tensor_maps_check(const struct tensor_maps *m, struct error *error);

/* Finds the names of IN, which has this shape: those of CSV, *names, which is empty afterwards, or
 * with the names of modes that it has, from the maps beside IN. STATUS_INPUT, STATUS_MEMORY. */
enum status tensor_maps_find(struct tensor_maps *m, struct tensor_names *names,
                             const struct shape *shape, struct error *error);

/* Writes the maps of OUT under hidden names, but for those that are there with the same text, and
 * the names of modes if OUT itself has them. STATUS_OUTPUT, STATUS_MEMORY. */
enum status tensor_maps_write(struct tensor_maps *m, bool has_modes, struct error *error);

/* Gives the maps their names. STATUS_OUTPUT: maps without their names are gone. */
enum status tensor_maps_commit(struct tensor_maps *m, struct error *error);

/* Deletes what was not committed, and frees the names. Accepts zeros. */
void tensor_maps_free(struct tensor_maps *m);

#endif
