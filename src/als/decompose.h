/* From this rank's part of a tensor to the models of all starts: opens the backend, makes the
 * starts one after the other, and brings each model together from the ranks. */
#ifndef BLCO_DECOMPOSE_H
#define BLCO_DECOMPOSE_H

#include "als/starts.h"

/* What the ranks decompose with; the same on all, but for the progress. */
struct decomposition {
    struct initial_guess guess; /* of the first start; the others are random                      */
    struct cpals_options als;   /* the trace counts on rank 0 alone                               */
    void (*opened)(void *context, struct backend *b); /* called as soon as the backend is open; may
                                                       * be NULL                                  */
    void *context;
    bool spread;               /* the model does not come together on rank 0                      */
    struct progress *progress; /* NULL where this rank shows nothing                              */
};

/* What a rank can tell of itself in the end. */
struct rank_report {
    uint64_t nnz; /* of the rank's part                                                           */
    double operation[OP_COUNT][MAX_ORDER]; /* seconds of each operation and mode, as booked       */
    double communication; /* seconds of iterations in which rows and sums moved, waiting included */
    char kernel[MAX_ORDER]
               [96]; /* [n]: the kernel of mode n's MTTKRP; empty where there is no choice */
};

/* Makes the starts of s on *b, which backend_prepare has left for *t; every rank of t calls it,
 * with an account of its own. Where b->options.spends, the nonzeros of t are freed as soon as the
 * backend is open; grid, part and rows stay. *b is closed in the end, after a failure too.
 *
 * s->model receives a model for each start that came to one, arranged (ktensor_arrange). Where
 * d->spread, each rank has models of its own: rank k of P gets the rows I_n * k / P to
 * I_n * (k + 1) / P - 1 of mode n, and no rank has a whole model. Otherwise models are whole: of
 * ranks that share memory (struct comm) in the one s->model that all of them have; else in that of
 * rank 0, while the models of the others get no rows. They are complete when all ranks that share
 * them have returned.
 *
 * Where no start came to a model, the failure is told once (comm_end_phase); any other failure has
 * ended the other ranks (comm_abort). Errors of backend_build, cpals_iterate, cpals_store,
 * nvecs_start and starts_check; a failure of another rank is returned as that rank's. */
enum status decompose(struct backend *b, struct rank_tensor *t, const struct decomposition *d,
                      struct starts *s, struct rank_report *report, struct error *error);

#endif
