/* The record of a `blco cpd` (--record, --json): what was run, on what, and what came of it, as
 * JSON for programs. The manual blco-record(5) describes it, data/schema/record.schema.json defines
 * it. */
#ifndef BLCO_CPD_RECORD_H
#define BLCO_CPD_RECORD_H

#include "commands/cpd/cpd_job.h"

/* The name of a stop in records: "iteration_limit". */
const char *cpd_record_stop(enum cpals_stop stop);

/* Without --record and --json these functions do nothing. One rank calls them, rank 0 or the only
 * one. */

/* Opens the file, before the work, so that what cannot be written is refused early. STATUS_OUTPUT,
 * STATUS_MEMORY. */
enum status cpd_record_open(struct cpd_job *job, struct error *error);

/* Ends the record of one rank of -r: discards a file that was not written. */
void cpd_record_close(struct cpd_job *job);

/* Writes and prints the record, after the model's files and the summary. STATUS_OUTPUT,
 * STATUS_MEMORY, and errors of run_record_machine. */
enum status cpd_record_write(struct cpd_job *job, struct error *error);

#endif
