/* Writes a checkpoint of a model that is spread over the ranks: each has some rows. */
#ifndef BLCO_CHECKPOINT_TOGETHER_H
#define BLCO_CHECKPOINT_TOGETHER_H

#include "checkpoint/checkpoint.h"
#include "comm/comm.h"

/* Writes a checkpoint to `path`: every rank of c writes the rows of the factor matrices that model
 * (CHECKPOINT_MODELS) has, which are consecutive (checkpoint_write_rows); rank 0 also writes
 * *about, and lambda, scales and Grams, which all ranks have. Every rank calls it, and all hosts
 * see the folder. The file appears whole or not at all, in place of an older one. If one rank
 * fails, all do. STATUS_OUTPUT, STATUS_MEMORY. */
enum status checkpoint_write_together(const char *path, const struct checkpoint_about *about,
                                      const struct checkpoint_rows *model, struct comm *c,
                                      struct error *error);

/* Checks, before a long computation, that the file can be made and that every rank's host sees it;
 * every rank of c calls this. Fails as checkpoint_write_together. */
enum status checkpoint_writable_together(const char *path, struct comm *c, struct error *error);

#endif
