/* The files of the model that `blco cpd` writes: refused before the work where they cannot be
 * written, and rescued into another folder where they cannot be written after it. */
#ifndef BLCO_CPD_OUTPUT_H
#define BLCO_CPD_OUTPUT_H

#include "commands/cpd/cpd_job.h"

/* Refuses an output of the run, model, checkpoint or record, that is one of its inputs or another
 * output (file_roles_check). Rank 0 calls this. STATUS_INPUT,
 * STATUS_MEMORY. */
enum status cpd_output_check(const struct cpd_settings *s, struct error *error);

/* Locks the stem, and checks what can be checked without the tensor. Rank 0 calls this and the
 * next; nothing happens with --nowrite. STATUS_OUTPUT, STATUS_MEMORY. */
enum status cpd_output_open(const struct cpd_settings *s, struct stem_lock *lock,
                            struct error *error);

/* Checks that all files of a model of this order can be open at the same time, as when they are
 * written, and that its names replace none of a tensor of the same stem (ktensor_check_maps);
 * nothing happens with --nowrite. STATUS_OUTPUT, STATUS_MEMORY. */
enum status cpd_output_try(const struct cpd_settings *s, int order, const struct labels *names,
                           struct error *error);

/* Writes the model to results->files, with --nowrite nothing. Rank 0 calls this; with run->together
 * every rank of run->world does. Where the files cannot be written, the model goes to a new folder
 * in the first of these in which there is room: --rescue, $TMPDIR, /tmp; the error then says where
 * the model is. STATUS_OUTPUT, STATUS_MEMORY. */
enum status cpd_output_write(const struct cpd_settings *s, struct cpd_run *run,
                             struct cpd_results *results, struct error *error);

/* text[0..size) = a note to those who write a large model as text:
 * .npy files are smaller; empty where the text is not large. */
void cpd_format_hint_text(uint64_t text_bytes, uint64_t npy_bytes, char *text, size_t size);

#endif
