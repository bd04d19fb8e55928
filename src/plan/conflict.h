/* Conflict resolution: how the additions of different threads to one row of M are kept apart, and
 * which way each mode gets (BLCO paper, section 5). */
#ifndef BLCO_CONFLICT_H
#define BLCO_CONFLICT_H

#include <stdint.h>

#include "tensor/shape.h"

enum conflict {
    CONFLICT_AUTO,
    CONFLICT_ORDERED,      /* `mode n` ordering: the owner of a row sums it                 */
    CONFLICT_HIERARCHICAL, /* alto ordering: copies of M, one merge                         */
    CONFLICT_REGISTER,     /* alto ordering: rows summed in registers, one atomic for a sum */
    CONFLICT_ATOMIC        /* one atomic for a nonzero: the baseline, never chosen          */
};

const char *conflict_name(enum conflict c);

/* The conflict resolution of this name, or -1. */
int conflict_by_name(const char *name);

/* Fills conflict[0..order): CONFLICT_ORDERED for the `replicas` longest modes (short ones lose
 * least without an ordering of their own), `on_alto` for the others. Where on_alto is
 * CONFLICT_AUTO, a mode shorter than `short_mode` gets CONFLICT_HIERARCHICAL and a longer one
 * CONFLICT_REGISTER. */
void conflict_assign(enum conflict *conflict, const struct shape *shape, int replicas,
                     enum conflict on_alto, uint64_t short_mode);

#endif
