/* Finds what the user should know about options and a result (findings.h). Each function adds to
 * the list; the manual blco-cpd(1) explains every sentence. */
#ifndef BLCO_RESULT_FINDINGS_H
#define BLCO_RESULT_FINDINGS_H

#include "als/findings.h"
#include "als/split_half.h"
#include "als/starts.h"
#include "ranks/rank_tensor.h"

/* Whether a decomposition says little: one mode only, or a mode shorter than the rank. */
void find_in_shape(struct findings *f, const struct shape *shape, const struct problem *problem);

/* How many listed zeros the file of this name lacks, where listed zeros count. */
void find_dropped_zeros(struct findings *f, uint64_t dropped, const char *tensor);

/* Slices without a known entry, in modes that are not fixed, and, where unlisted entries are
 * unknown, whether the entries are too few for the model. Where unlisted entries have a weight,
 * they are known; then slices whose listed entries are all unknown are reported. label[n]: the
 * printable name of the first such slice of mode n, or NULL. */
void find_in_known(struct findings *f, const struct known_rows *known, const struct shape *shape,
                   const struct problem *problem, const char *const label[MAX_ORDER]);

/* Whether single precision does not resolve the tolerance. */
void find_in_tolerance(struct findings *f, const struct backend_options *options, double tolerance);

/* Whether a result has converged, how many digits of its fit can be trusted, whether the fit fell,
 * which components mean nothing, whether memory had room for momentum, and the core consistency. */
void find_in_result(struct findings *f, const struct cpals_result *result,
                    const struct backend_options *options, const struct cpals_options *als);

/* How far the starts agree, in a tensor with so many listed entries. If there was one start, and
 * others could be made (`others`), that this is not known. */
void find_in_starts(struct findings *f, const struct starts *starts, uint64_t entries, bool others);

/* Whether the halves of a tensor that is split lead to the same components. */
void find_in_halves(struct findings *f, const struct split_half *s);

#endif
