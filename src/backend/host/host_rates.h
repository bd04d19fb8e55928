/* Measures the rates that bound MTTKRP on the host: copying, gathering rows, adding rows. */
#pragma once

#include "backend/backend_kind.h"

/* By all OpenMP threads, for factors of shape->dims[n] rows of the problem's rank, in the precision
 * in which a run begins; what the host does not have is 0. Floats are gathered as half as many
 * doubles; additions are to R doubles in either case, since one takes as long as to a float.
 * STATUS_MEMORY. */
enum status host_rates(const struct shape *shape, const struct backend_options *options,
                       struct backend_rates *rates, struct error *error);
