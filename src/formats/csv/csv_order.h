/* Numbers names anew after the last one is read: in the order of their bytes, or by number. */
#ifndef BLCO_CSV_ORDER_H
#define BLCO_CSV_ORDER_H

#include "formats/csv/csv_columns.h"
#include "tensor/coo.h"

/* Whether the names of some mode wait for their numbers. */
bool csv_order_waits(const struct csv_columns *c);

/* Numbers the names of modes that are sorted or ordered by number, and renumbers the entries of x.
 * Equal numbers are in the order of their bytes. From now on only these names are taken, as if they
 * were listed in a file. STATUS_MEMORY. */
enum status csv_order_names(struct csv_columns *c, struct coo *x, struct error *error);

#endif
