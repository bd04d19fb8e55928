/* What all ranks must see alike: a failure. */
#ifndef BLCO_RANKS_AGREE_H
#define BLCO_RANKS_AGREE_H

#include "comm/comm.h"

/* Every rank calls this with the outcome of what it did alone, *error; if some rank has failed, the
 * lowest such rank's error becomes the error of all, word for word. So all ranks go on, or all
 * return the same error and nobody waits for anybody: no abort is needed. Returns the status of
 * *error. STATUS_MEMORY, and an abort, as of comm_agree. */
enum status ranks_agree(struct comm *c, struct error *error);

#endif
