/* The `.map` files beside a tensor's file: STEM.mode1.map has the names of mode 1, one on each text
 * line. STEM is the tensor's path without its ending. */
#ifndef BLCO_NAME_MAPS_H
#define BLCO_NAME_MAPS_H

#include "base/outfile.h"
#include "formats/csv/tensor_names.h"

struct name_maps {
    int count;
    struct outfile file[MAX_ORDER]; /* (count) */
};

/* The path of the map of mode n, from 0, of the tensor at `path`. The caller frees it with
 * memory_free. NULL and STATUS_MEMORY. */
char *name_maps_path(const char *path, int n, struct error *error);

/* Writes the maps of the tensor at `path` under hidden names. The caller ends with name_maps_commit
 * or name_maps_discard; *maps is empty on failure. STATUS_OUTPUT, STATUS_MEMORY. */
enum status name_maps_write(struct name_maps *maps, const char *path,
                            const struct tensor_names *names, struct error *error);

/* Gives the maps their names. STATUS_OUTPUT: maps without their names are gone. */
enum status name_maps_commit(struct name_maps *maps, struct error *error);

/* Deletes maps that were not committed. Accepts empty maps. */
void name_maps_discard(struct name_maps *maps);

#endif
