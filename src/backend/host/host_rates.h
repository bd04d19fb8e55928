/* What this machine's processors can do with the rows of a factorisation, measured. */
#ifndef BLCO_HOST_RATES_H
#define BLCO_HOST_RATES_H

#include "backend/backend_kind.h"

/* By all OpenMP threads, for factors of these lengths and `rank` doubles a row. */
enum status host_rates(const struct shape *shape, uint64_t rank, struct backend_rates *rates,
                       struct error *error);

#endif
