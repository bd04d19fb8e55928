/* What all ranks must see alike: a failure, and the file that they read. */
#ifndef BLCO_RANKS_AGREE_H
#define BLCO_RANKS_AGREE_H

#include "comm/comm.h"

/* Every rank calls this with the outcome of what it did alone, *error; if some rank has failed, the
 * lowest such rank's error becomes the error of all, word for word. So all ranks go on, or all
 * return the same error and nobody waits for anybody: no abort is needed. Returns the status of
 * *error. STATUS_MEMORY, and an abort, as of comm_agree. */
enum status ranks_agree(struct comm *c, struct error *error);

/* What tells files apart without reading them whole. */
struct file_identity {
    uint64_t bytes, mark; /* the size; some number of the beginning */
};

/* STATUS_INPUT where this rank's file is not rank 0's. Every rank calls this; only those where the
 * files differ fail, so that ranks_agree must follow. */
enum status ranks_same_file(struct comm *c, const char *path, const struct file_identity *mine,
                            struct error *error);

#endif
