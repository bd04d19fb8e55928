/* What comes out of `blco cpd`: files of the model, which are refused before the work where they
 * cannot be written, and rescued into another folder where they cannot be written after it; and
 * what the terminal shows at the end: outcome, where the time went, tables of the starts, of the
 * halves and of a range of -r. Implemented in cpd_output.c and cpd_summary.c. */
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

/* Sets *spread where the ranks of c are processes and the whole model does not fit into the host
 * memory that rank 0 may use, or that is there: it then stays with the ranks. Every rank of c calls
 * this as soon as *t is there. STATUS_MEMORY where the settings ask for what needs the whole model,
 * as a start from a model. All ranks fail alike. */
enum status cpd_output_choose_spread(bool *spread, const struct cpd_settings *s, struct comm *c,
                                     const struct rank_tensor *t, struct error *error);

/* Writes the model to results->files, with --nowrite nothing. Rank 0 calls this; with run->spread
 * every rank of run->world does, and the others send their rows. Where the files cannot be written,
 * the model goes to a new folder in the first of these in which there is room: --rescue, $TMPDIR,
 * /tmp; the error then says where the model is. STATUS_OUTPUT, STATUS_MEMORY. */
enum status cpd_output_write(const struct cpd_settings *s, struct cpd_run *run,
                             struct cpd_results *results, struct error *error);

/* text[0..size) = a note to those who write a large model as text:
 * .npy files are smaller; empty where the text is not large. */
void cpd_format_hint_text(uint64_t text_bytes, uint64_t npy_bytes, char *text, size_t size);

/* Shows the outcome, the times of the stages that took a hundredth of the total or more, the peak
 * memory and the files; with `all_times` the times of all stages, and of MTTKRP and update for each
 * mode. */
void cpd_summarise(struct progress *progress, const struct cpd_results *results, bool all_times);

/* Shows each start's seed, iterations, fit and score; nothing where one start was asked for. */
void cpd_starts_show(struct progress *to, const struct starts *starts);

/* Shows for each component of the whole the score of its partners in both halves with each other,
 * its score with each of them, and the cosines of the modes of the first; nothing where the halves
 * were not compared. */
void cpd_halves_show(struct progress *to, const struct split_half *s);

/* Shows each rank's fit and core consistency with bars, and the rank that they suggest; nothing
 * where no rank has a model. `more`: not all ranks that were asked for are in outcome (count). The
 * models have the stems `stem`.r8, ...; NULL: they were not written. */
void cpd_range_show(struct progress *to, const struct rank_outcome *outcome, int count, bool more,
                    const char *stem);

#endif
