/* Whether ranks on several hosts read the same file. */
#ifndef BLCO_FILE_IDENTITY_H
#define BLCO_FILE_IDENTITY_H

#include "comm/comm.h"

/* What tells files apart without reading them whole. */
struct file_identity {
    uint64_t bytes, mark; /* the size; some number of the beginning */
};

/* STATUS_INPUT where this rank's file is not rank 0's. Every rank calls this; only those where the
 * files differ fail, so that comm_allreduce_error must follow. */
enum status ranks_same_file(struct comm *c, const char *path, const struct file_identity *mine,
                            struct error *error);

#endif
