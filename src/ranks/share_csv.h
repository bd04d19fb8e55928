/* A rank's share of CSV. Rank 0 reads the file, because names are numbered in the order of the
 * whole file, and deals its entries out evenly. */
#ifndef BLCO_SHARE_CSV_H
#define BLCO_SHARE_CSV_H

#include "formats/csv/csv.h"
#include "ranks/share.h"

/* Reads this rank's share; every rank of c calls it. On rank 0 *names gets the names, which the
 * caller frees. The caller frees *s with share_free; it is empty on failure. Errors of csv_read, on
 * every rank. */
enum status share_read_csv(struct share *s, struct comm *c, const struct csv_source *source,
                           struct tensor_names *names, struct progress *progress,
                           struct error *error);

#endif
