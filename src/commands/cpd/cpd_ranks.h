/* What rank 0 of several ranks knows of each of them, for the table of -v and for the record. */
#ifndef BLCO_CPD_RANKS_H
#define BLCO_CPD_RANKS_H

#include "als/decompose.h"
#include "base/progress.h"
#include "commands/rank_place.h"

/* What a rank tells rank 0 in the end. */
struct cpd_telling {
    struct rank_report report;
    uint64_t peak; /* bytes of host memory */
};

struct cpd_ranks {
    int count;                   /* 0: one rank worked alone                    */
    int parts[MAX_ORDER];        /* into how many ranges each mode was cut      */
    double imbalance;            /* nonzeros of the fullest rank / mean, less 1 */
    struct rank_place *place;    /* (count) owned                               */
    struct cpd_telling *telling; /* (count) owned                               */
};

/* Room for so many ranks, which know nothing yet. The caller frees *r. STATUS_MEMORY. */
enum status cpd_ranks_create(struct cpd_ranks *r, int count, struct error *error);

/* A table of the ranks: where they worked, how long and on how many nonzeros. */
void cpd_ranks_show(struct progress *to, const struct cpd_ranks *r);

/* Accepts an empty one, and leaves one. */
void cpd_ranks_free(struct cpd_ranks *r);

#endif
