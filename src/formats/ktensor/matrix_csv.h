/* Writes a model as CSV (RFC 4180), for spreadsheets, pandas and R: a header, and in each row a
 * name and numbers with the fewest digits that read back to the same number. */
#ifndef BLCO_MATRIX_CSV_H
#define BLCO_MATRIX_CSV_H

#include "base/outfile.h"
#include "formats/names/labels.h"
#include "model/ktensor.h"

/* Writes factor matrix n to file[n]: the header has the name of the mode, or "mode1", and the
 * components, "component1", ...; the first column has the names of the indices, or their numbers
 * from 1. Names are as in `.map` files (name_list.h), quoted where they have to be. The file after
 * them has the components and their weights. `names` may be NULL. STATUS_OUTPUT, STATUS_MEMORY. */
enum status matrix_csv_write(struct outfile *file, const struct ktensor *k,
                             const struct labels *names, struct error *error);

#endif
