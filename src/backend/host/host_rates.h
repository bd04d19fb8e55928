/* Measures the rates that bound MTTKRP on the host: copying, gathering rows, adding rows. */
#ifndef BLCO_HOST_RATES_H
#define BLCO_HOST_RATES_H

#include "backend/backend_kind.h"

/* By all OpenMP threads, for factors of shape->dims[n] rows of `rank` doubles; what the host does
 * not have is 0. STATUS_MEMORY. */
enum status host_rates(const struct shape *shape, uint64_t rank, struct backend_rates *rates,
                       struct error *error);

#endif
