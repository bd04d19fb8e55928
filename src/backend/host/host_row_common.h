/* New rows that several ranks have nonzeros of (ranks/row_deal.h): their systems are summed where a
 * row is solved. */
#ifndef BLCO_HOST_ROW_COMMON_H
#define BLCO_HOST_ROW_COMMON_H

#include "backend/host/host_row_pass.h"

/* The common rows of the mode (ranks/rank_rows.h) that this rank solves, into h->solve.m. Every
 * peer calls it. STATUS_MEMORY; failures of other ranks. */
enum status host_row_common_solve(struct host_row_pass *s, int mode, struct error *error);

#endif
