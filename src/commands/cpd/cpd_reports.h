/* What several ranks report to rank 0, for the table of -v and for the record. */
#ifndef BLCO_CPD_REPORTS_H
#define BLCO_CPD_REPORTS_H

#include "als/decompose.h"
#include "base/progress.h"
#include "commands/ranks_join.h"

struct cpd_report {
    struct rank_report rank;
    uint64_t peak; /* bytes of host memory */
};

struct cpd_reports {
    int count;                 /* 0: one rank worked alone                    */
    int parts[MAX_ORDER];      /* into how many ranges each mode was cut      */
    double imbalance;          /* nonzeros of the fullest rank / mean, less 1 */
    struct rank_place *place;  /* (count) owned                               */
    struct cpd_report *report; /* (count) owned                               */
};

/* Room for the reports of so many ranks, zeroed. The caller frees *r. STATUS_MEMORY. */
enum status cpd_reports_create(struct cpd_reports *r, int count, struct error *error);

/* Shows a table: where each rank worked, on how many nonzeros, how long. */
void cpd_reports_show(struct progress *to, const struct cpd_reports *r);

/* Accepts an empty one, and leaves one. */
void cpd_reports_free(struct cpd_reports *r);

#endif
