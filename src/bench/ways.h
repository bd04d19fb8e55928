/* The ways of ALS that `blco bench --to-fit` compares. */
#ifndef BLCO_WAYS_H
#define BLCO_WAYS_H

#include "als/cpals.h"

struct way {
    const char *name; /* "plain, double" */
    enum precision_policy precision;
    enum acceleration acceleration;
};

/* The first way is the one that the others are compared with. A NULL name ends the table. */
extern const struct way ways[];

/* The options with which a backend is opened for this way: *options, changed as the way says. */
struct backend_options way_backend(const struct way *way, const struct backend_options *options);

/* Whether this kind of backend can go this way with these options. */
bool way_possible(const struct way *way, const struct backend_kind *kind,
                  const struct backend_options *options);

/* The options of a run that goes this way, for `iterations` iterations at most, or until one
 * changes the fit by less than `tolerance`. The last fit of the run is computed from the residual.
 * In single precision a tolerance below WAY_LEAST_TOLERANCE counts as 0: rounding is larger, and
 * each iteration would take a residual. `trace` may be NULL. */
#define WAY_LEAST_TOLERANCE 1e-5
struct cpals_options way_options(const struct way *way, int iterations, double tolerance,
                                 struct fit_trace *trace);

#endif
