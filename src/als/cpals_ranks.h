/* CP-ALS on one rank of several that work together. */
#ifndef BLCO_CPALS_RANKS_H
#define BLCO_CPALS_RANKS_H

#include "als/cpals.h"
#include "ranks/rank_tensor.h"

/* What the ranks decompose with; the same on all, but for the device and the progress. */
struct cpals_setting {
    const struct backend_kind *kind;
    struct backend_options options; /* host_memory and memory are those of this rank              */
    enum ktensor_init init;         /* the random start, where `start` is NULL                    */
    uint64_t seed;
    const struct ktensor *start; /* the whole model to start from; borrowed; may be NULL        */
    struct cpals_options als;
    struct progress *progress; /* NULL where this rank shows nothing                              */
};

/* What a rank can tell of itself in the end. */
struct rank_report {
    struct part part;
    uint64_t nnz;     /* of the part                                                              */
    uint64_t planned; /* bytes of the plan that was followed                                      */
    double operation[OP_COUNT][MAX_ORDER]; /* seconds of each operation and mode, as booked      */
    double communication; /* seconds of iterations in which rows and sums moved, waiting included */
};

/* Decomposes the tensor of which *t is this rank's part; every rank of c calls it. The nonzeros of
 * t are freed as soon as the backend is open; grid and part stay. On rank 0 *model receives the
 * whole model, arranged (ktensor_arrange); on the others *model stays empty. The caller frees
 * *model, after a failure too. A failure is settled (comm_settle), where a part does not fit into
 * memory, or has ended the other ranks (comm_abort). Errors as cpals_run; a failure of another rank
 * is returned as that rank's. */
enum status cpals_run_rank(struct comm *c, struct rank_tensor *t,
                           const struct cpals_setting *setting, struct ktensor *model,
                           struct cpals_result *result, struct rank_report *report,
                           struct error *error);

#endif
