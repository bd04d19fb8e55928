/* STEM.ranks.json of a range of -r: the table of the ranks and the suggestion, for programs and for
 * the page of all ranks. The manual blco-record(5) describes it, data/schema/record.schema.json
 * defines it. */
#ifndef BLCO_CPD_RANKS_FILE_H
#define BLCO_CPD_RANKS_FILE_H

#include "commands/cpd/cpd_job.h"

/* Without a range of -r, and with --nowrite, these functions do nothing. Rank 0 calls them. */

/* The name of the file, which the caller frees; NULL where none is written, and on failure.
 * STATUS_MEMORY. */
char *cpd_ranks_file_name(const struct cpd_settings *s, struct error *error);

/* Refuses, before the work, a file that cannot be written. STATUS_OUTPUT, STATUS_MEMORY. */
enum status cpd_ranks_file_check(const struct cpd_settings *s, struct error *error);

/* Writes the outcomes so far; nothing where no rank has a model. STATUS_OUTPUT, STATUS_MEMORY. */
enum status cpd_ranks_file_write(const struct cpd_inputs *in, const struct cpd_results *r,
                                 struct progress *progress, struct error *error);

#endif
