/* Writes the files of a model that is spread over the ranks: each has some rows. */
#ifndef BLCO_MODEL_WRITE_H
#define BLCO_MODEL_WRITE_H

#include "comm/comm.h"
#include "model/ktensor_arrange.h"
#include "formats/ktensor/ktensor_io.h"

/* A rank's rows of a model. */
struct model_rows {
    const struct ktensor *part;     /* with lambda, the same on all ranks            */
    const struct ktensor_rows *own; /* the rows of *part that this rank writes       */
    const struct shape *whole;      /* of the model                                  */
    const struct labels *names;     /* of the model, on rank 0; NULL: there are none */
};

/* Writes the files that ktensor_write(KTENSOR_NPY) writes for the whole model, byte for byte; every
 * rank of c calls this, and all hosts see the files' folder. Rank 0 also writes lambda, and has the
 * lock of the stem; the others give NULL. Files appear all or not at all: if a rank fails, all do,
 * with that rank's error, no new file is left, and older files are untouched.
 * *files receives the names; the caller frees *files with ktensor_files_free, after a failure too.
 * STATUS_OUTPUT, STATUS_MEMORY. */
enum status model_write_together(const struct model_rows *m, struct comm *c, const char *stem,
                                 struct stem_lock *lock, struct ktensor_files *files,
                                 struct error *error);

/* Checks, before a long computation, that the files of a model of this order can be made and that
 * every rank's host sees them; every rank of c calls this. Fails as model_write_together. */
enum status model_writable_together(int order, const char *stem, struct comm *c,
                                    struct error *error);

#endif
