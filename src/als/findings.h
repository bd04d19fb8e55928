/* What a user should know about options and a result besides its fit: a list that terminal, record
 * and page show. The functions find_in_... and blco cpd add to it; the manual blco-cpd(1) explains
 * every sentence. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "als/replication.h"
#include "base/error.h"
#include "ranks/rank_tensor.h"

struct finding {
    const char *kind; /* its word in records, which data/schema/record.schema.json explains */
    bool warning;     /* something speaks against the result; otherwise good to know            */
    char *sentence;   /* what was found, without a full stop; owned                             */
    char *advice;     /* what helps, or NULL; owned                                             */
};

/* All zero is an empty list. */
struct findings {
    size_t count, room;
    struct finding *finding; /* (count); (room) of them owned                         */
    struct error error;      /* the first failure, STATUS_MEMORY; later ones are lost */
};

/* Adds a finding; `kind` is not copied. Format and arguments as for printf, here and below. A
 * failure stays in f->error.
 */
void findings_add(struct findings *f, const char *kind, bool warning, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds advice to the last finding. */
void findings_advise(struct findings *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define FINDING_TEXT 2048

/* text (FINDING_TEXT) = "warning: SENTENCE; ADVICE", the finding in one text line; returns text. */
const char *finding_text(const struct finding *finding, char *text);

/* Accepts an empty list, and leaves one. */
void findings_free(struct findings *f);

/* --- What is found --- */

/* Whether a decomposition says little: one mode only, or a mode shorter than the rank. */
void find_in_shape(struct findings *f, const struct shape *shape, const struct problem *problem);

/* A column of numbers of the CSV file `tensor`, whose rows are counted; NULL: none. */
void find_unused_column(struct findings *f, const char *tensor, const char *column);

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

/* Whether the means of slices, whose error is `slices`, predict held-out entries better than the
 * model. centring: how many modes could be centred; 0: some were. */
void find_in_baseline(struct findings *f, const struct holdout_error *holdout, double slices,
                      const struct problem *problem, int centring);

/* How far the starts agree, in a tensor with so many listed entries. If there was one start, and
 * others could be made (`others`), that this is not known. */
void find_in_starts(struct findings *f, const struct starts *starts, uint64_t entries, bool others);

/* Whether the replicates of the tensor lead to the same components. */
void find_in_replication(struct findings *f, const struct replication *s);
