/* Measures the rates that bound MTTKRP on the host: copying, gathering rows, adding rows. */
#pragma once

#include "backend/backend_kind.h"

/* By all OpenMP threads, for factors of shape->dims[n] rows of `rank` entries; what the host does
 * not have is 0. Floats are gathered as half as many doubles; additions are to `rank` doubles in
 * either case, since one takes as long as to a float. STATUS_MEMORY. */
enum status host_rates(const struct shape *shape, uint64_t rank, enum precision precision,
                       struct backend_rates *rates, struct error *error);
