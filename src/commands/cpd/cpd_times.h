/* Where the time of a `blco cpd` went, in seconds. */
#ifndef BLCO_CPD_TIMES_H
#define BLCO_CPD_TIMES_H

#include "backend/backend.h"

struct cpd_times {
    double start;                          /* of the command, by clock_now()               */
    double read, exchange, clean, write;   /* exchange: of nonzeros among ranks            */
    double halves;                         /* all that --split-half takes                  */
    double communication;                  /* of iterations, in which rows and sums moved  */
    double operation[OP_COUNT][MAX_ORDER]; /* of each operation and mode                   */
};

struct cpd_stage {
    const char *name;
    double seconds;
    int operation; /* an enum operation; -1: the stage is no operation of the backend */
};

#define CPD_STAGES (OP_COUNT + 6)

/* stage[] = the stages in order, of which there are CPD_STAGES at most; returns how many. The last
 * one, "other", is the rest of `total`. The exchange, the residuals and the halves are stages only
 * where they took time. */
int cpd_stages(const struct cpd_times *times, int order, double total,
               struct cpd_stage stage[CPD_STAGES]);

#endif
