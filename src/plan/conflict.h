/* Conflict resolution: how the additions of several threads to the same row of M are kept apart,
 * and which resolution each mode gets (BLCO paper, section 5). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/words.h"
#include "tensor/shape.h"

enum conflict {
    CONFLICT_AUTO,
    CONFLICT_ORDERED, /* `mode n` ordering: the nonzeros of a row are neighbours, summed once */
    CONFLICT_HIERARCHICAL, /* alto ordering: copies of M, merged at the end */
    CONFLICT_REGISTER, /* alto ordering: rows summed in registers; sums added one by one       */
    CONFLICT_ATOMIC,   /* one atomic for each nonzero: the baseline, never chosen              */
    CONFLICTS
};

/* What others than its kernels need to know of a conflict resolution; auto has none of these. */
struct conflict_traits {
    bool ordered; /* the mode has an ordering of its own, `mode n`; alto serves it otherwise */
    bool copied; /* workers add to copies of M, for which only short modes have room              */
    bool direct; /* sums of neighbours are added to rows of M one by one; on the host they wait   */
    bool each;   /* each nonzero is added by itself: M is rounded once for each                   */
};

extern const struct conflict_traits conflict_traits[CONFLICTS]; /* [enum conflict] */

/* The names that options, tables and records use ("ordered"). */
extern const struct word conflict_words[];
const char *conflict_name(enum conflict c);

/* How alto serves the mode until it has an ordering of its own. */
enum conflict conflict_on_alto(enum conflict c);

/* Decides conflict[n] for n < order: CONFLICT_ORDERED for the `replicas` longest modes (short modes
 * lose least without an ordering of their own), `on_alto` for the others. Where on_alto is
 * CONFLICT_AUTO, a mode shorter than `short_mode` gets CONFLICT_HIERARCHICAL and any other
 * CONFLICT_REGISTER. */
void conflict_assign(enum conflict *conflict, const struct shape *shape, int replicas,
                     enum conflict on_alto, uint64_t short_mode);
