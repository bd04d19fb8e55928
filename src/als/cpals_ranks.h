/* CP-ALS on one rank of several that work together. */
#ifndef BLCO_CPALS_RANKS_H
#define BLCO_CPALS_RANKS_H

#include "als/starts.h"
#include "problem/ktensor_start.h"
#include "ranks/rank_tensor.h"

/* What the ranks decompose with; the same on all, but for the device and the progress. */
struct cpals_setting {
    const struct backend_kind *kind;
    struct backend_options options; /* host_memory and memory are those of this rank              */
    struct ktensor_start start;     /* of the first start; start.from: that of als.resume where the
                                     * ranks resume; borrowed                                      */
    bool nvecs; /* the first start begins with singular vectors (nvecs.h)      */
    int starts; /* random starts, of the seeds that follow, too (starts.h); 0 counts as 1      */
    struct cpals_options als;
    void (*opened)(void); /* called as soon as this rank's backend is open; may be NULL           */
    bool spread;          /* the model does not come together on rank 0                      */
    struct device_comm *devices; /* struct rank_rows                                         */
    struct progress *progress; /* NULL where this rank shows nothing                              */
};

/* What a rank can tell of itself in the end. */
struct rank_report {
    uint64_t nnz; /* of the rank's part                                                           */
    double operation[OP_COUNT][MAX_ORDER]; /* seconds of each operation and mode, as booked      */
    double communication; /* seconds of iterations in which rows and sums moved, waiting included */
};

/* Decomposes the tensor of which *t is this rank's part; every rank of c calls it. The nonzeros of
 * t are freed as soon as the backend is open; grid and part stay. model and result have a place for
 * each start: those that were made have another stop than CPALS_GOES_ON, and those that broke down
 * have no model. *model, empty at first, receives the model,
 * arranged (ktensor_arrange). Where setting->spread, *model is each rank's own: rank k
 * of P gets rows I_n * k / P to I_n * (k + 1) / P - 1 of mode n, and no rank has the whole.
 * Otherwise the model is whole: of ranks that share memory (struct comm) in the one *model that all
 * of them pass; else in that of rank 0, while the models of the others get no rows. The caller
 * frees the models when all ranks that share it have returned, after a failure too. A failure is
 * settled (comm_end_phase), where a part does not fit into memory or no start came to a model, or has
 * ended the other ranks (comm_abort). Errors as cpals_run; a failure of another rank is returned as
 * that rank's. */
enum status cpals_run_rank(struct comm *c, struct rank_tensor *t,
                           const struct cpals_setting *setting, struct ktensor *model,
                           struct cpals_result *result, struct rank_report *report,
                           struct error *error);

#endif
