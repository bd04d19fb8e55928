/* How alike the halves of a tensor are, in the table of a run, in records and for a range of -r. */
#ifndef BLCO_CPD_HALVES_H
#define BLCO_CPD_HALVES_H

#include "als/rank_choice.h"
#include "als/split_half.h"
#include "base/json.h"
#include "base/progress.h"

/* Shows for each component of the whole the score of its partners in both halves with each other,
 * its score with each of them, and the cosines of the modes of the first; nothing where the halves
 * were not compared. */
void cpd_halves_show(struct progress *to, const struct split_half *s);

/* "split_half" of a record; nothing without --split-half. */
void cpd_halves_put(struct json *j, const struct split_half *s);

struct halves_outcome cpd_halves_outcome(const struct split_half *s);

#endif
