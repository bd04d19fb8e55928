/* What the functions of the seam keep of an open backend, for src/backend/backend*.c alone. */
#pragma once

#include "backend/backend_kind.h"
#include "backend/operation_times.h"

/* The last operation: after OP_MTTKRP the backend has M of `mode`, after OP_UPDATE the new factor
 * matrix of `mode`, otherwise neither. */
struct last_operation {
    enum operation op;
    int mode;
    bool rotated; /* since the last load: the Grams are those of other columns */
};

/* In which modes entries may be at the floor of an update (numerics/nonneg.h), and the precision of
 * that update. */
struct floors {
    bool may[MAX_ORDER];
    enum precision precision[MAX_ORDER];
};

struct seam {
    const struct backend_ops *ops;
    void *state; /* made by `open` of the kind; owned */
    struct backend_problem problem;
    struct operation_clock clock;
    struct last_operation last;
    struct floors floors;
};
