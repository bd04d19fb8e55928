/* The record of a `blco cpd` (--record, --json): what was asked, the machine and the results, as
 * JSON for programs. The manual blco-record(5) describes it, data/schema/record.schema.json defines
 * it. */
#ifndef BLCO_CPD_RECORD_H
#define BLCO_CPD_RECORD_H

#include "commands/cpd/cpd_job.h"

/* Without --record and --json these functions do nothing. Rank 0 calls them. */

/* Writes and prints the record, after the model's files and the summary. STATUS_OUTPUT,
 * STATUS_MEMORY, and errors of run_record_machine. */
enum status cpd_record_write(const struct cpd_inputs *in, const struct cpd_results *results,
                             struct outfile *file, struct progress *progress, struct error *error);

/* STEM.ranks.json of a range of -r: the table of the ranks and the suggestion, for programs and for
 * the page of all ranks. The manual blco-record(5) describes it, data/schema/record.schema.json
 * defines it. */

/* Without a range of -r, and with --nowrite, these functions do nothing. Rank 0 calls them. */

/* The name of the file, which the caller frees; NULL where none is written, and on failure.
 * STATUS_MEMORY. */
char *cpd_ranks_file_name(const struct cpd_settings *s, struct error *error);

/* Writes the outcomes so far; nothing where no rank has a model. STATUS_OUTPUT, STATUS_MEMORY. */
enum status cpd_ranks_file_write(const struct cpd_inputs *in, const struct cpd_results *r,
                                 struct progress *progress, struct error *error);

#endif
