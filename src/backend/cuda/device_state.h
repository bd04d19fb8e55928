/* The state of the CUDA backend, and the operations of an iteration. Implemented in backend_cuda.c
 * (opening and closing), device_model.c (loading a model, widening and storing it), device_update.c
 * (the steps of an iteration), device_row_update.c (those where each row has its own system),
 * device_momentum.c (the start of the next one) and device_residual.c (the residual, values at
 * coordinates, terms of entries, and what components explain). */
#pragma once

#include "backend/backend_kind.h"
#include "backend/cuda/dense/device_dense.h"
#include "backend/cuda/dense/device_dense_columns.h"
#include "backend/cuda/device_ranks.h"
#include "backend/cuda/device_sweep.h"
#include "backend/cuda/rows/device_row_systems.h"
#include "backend/cuda/runtime/device_factor_copy.h"
#include "backend/cuda/runtime/device_staging.h"
#include "kernels/dense/dense_momentum.h"

/* The same of systems of rows. */
struct device_row_scalars {
    struct row_totals totals;
    double model; /* sum of a power of lambda, for the ridge; of counts, h times all rates */
    struct row_totals solved[MAX_ORDER]; /* of counts: of each mode's last update */
};

/* What the GPU sends to the host in an iteration. */
struct device_scalars {
    struct device_row_scalars rows;
    struct dense_fit_terms fit;
    struct dense_momentum momentum;
    int bad;  /* first mode (one-based) with a norm that is not finite, or 0 */
    int halt; /* number of the update, since the host last waited, that was not done, nor anything
               * after it; or 0 */
};

#define DEVICE_MOST_QUEUED 64 /* between two waits of the host */

/* What the host has queued since it last waited, in order to repeat it. */
struct device_ahead {
    struct device_queued {
        int mode;     /* of an MTTKRP                                         */
        bool updated; /* the update of the mode came after it                 */
        int before;   /* the mode that was updated last before that; -1: none */
    } queued[DEVICE_MOST_QUEUED];
    int count;    /* of these                                                          */
    bool running; /* the host does not wait for V                                      */
    int careful;  /* updates left to run one by one, each waiting for its V; 0: none */
};

/* The model without its factor matrices, which struct device_factors has; device, owned. */
struct device_model {
    double *lambda;   /* (R) of the model that was loaded, or of the last sweep that momentum has
                       * accepted; valid where last_mode is -1 */
    bool weights_fit; /* lambda comes from an update                                             */
    int last_mode;    /* the one updated last, whose norms are lambda; or -1                     */
    double *gram[MAX_ORDER]; /* (R x R), of unit columns                                         */
    double *norm[MAX_ORDER]; /* (R), of the columns of the factor matrix                         */
};

/* Results of the steps of an update. Arrays are in device memory, and owned. */
struct device_solve {
    double *inverse;   /* (R x R): A_n = M inverse                            */
    double *raw;       /* (R x R): A_n' A_n before normalisation              */
    double *inner;     /* (R): diagonal of M' A, of the rows of all ranks     */
    cudaEvent_t ready; /* on `side`: `inverse` is there                       */
    double reciprocal; /* struct backend_fit, since the last fit              */
};

/* Timed events on `stream`. */
struct device_events {
    cudaEvent_t own[OPERATION_EVENTS]; /* of struct event_ops; NULL until it is used; owned    */
    cudaEvent_t at[OPERATION_EVENTS];  /* that one, or another that was recorded there         */
    cudaEvent_t end; /* one after all work on `stream`, whoever has recorded it; NULL: more has been
                      * queued, or the host has waited */
    cudaEvent_t swept;    /* the one after the last sweep                                      */
    cudaEvent_t spare[2]; /* for `swept` where `end` is NULL, by turns; owned                  */
    int turn;             /* 0 or 1                                                            */
};

/* The step to the start of the next sweep. It is queued with the fit, before the host asks for it
 * (device_momentum.c). */
struct device_momentum {
    enum {
        STEP_NONE,  /* no step is prepared                                            */
        STEP_BEGUN, /* one is, and the factor matrices are its result                 */
        STEP_ASIDE  /* one is, but the model of the sweep is still the factor matrices */
    } prepared;
    struct device_previous { /* of modes that keep their previous factor matrix; device, owned */
        void *factor;
        double *gram, *norm;
        double *sum; /* of counts */
    } previous[MAX_ORDER];
    int last_mode;       /* of the model of the sweep, while a step is begun                */
    double *raw;         /* (modes x R x R): Y'Y of the modes that have one; device, owned  */
    cudaEvent_t decided; /* on `side` */
};

/* The systems of common rows (row_deal.h), which several GPUs sum: every GPU leaves its systems in
 * an array, these are summed, and each GPU solves those of its stripe. It sends all others,
 * (R (R + 1) / 2 + 2 R) doubles a row: common rows are few, or all rows of modes that are short
 * beside another one. */
struct device_common_rows {
    const struct rank_rows *ranks; /* borrowed                                               */
    double *sent; /* (ranks x rows x length) of the mode with most; device, owned             */
    uint64_t rows[MAX_ORDER]; /* [n]: of each stripe of mode n, at most                       */
    uint32_t length;          /* numbers of a system                                          */
    bool least;               /* each rank sends the least value of a row                     */
};

/* Where each row has a system of its own (device_row_update.h). */
struct device_row_update {
    bool on;
    struct device_row_systems systems;
    struct device_common_rows common; /* of several ranks */

    /* Where values are rates, and norms are those of sum: */
    bool rates;
    double *sum[MAX_ORDER]; /* (R): of the columns of the factor matrix; device, owned */
    double *made;           /* (R): of M's columns; device, owned                    */
    double *partial;        /* (DENSE_SUM_PARTS x R): room; device, owned            */
};

/* While terms take the place of the values of a mode's ordering (device_residual.c). Arrays are in
 * device memory, and owned. */
struct device_terms {
    bool held;
    int mode;
    void *value; /* in device memory: the ordering's values; it has the terms */

    /* Streamed: the terms of a batch are made when it is decoded, from a copy of the model, for
     * which fewer batches stay on the device. */
    uint64_t bytes; /* of the copy */
    void *factor[MAX_ORDER];
    double *weight; /* (R) */
    struct residual_args args;
};

struct device_state {
    int device; /* its number; every operation makes it the calling thread's (device_use) */
    int order;
    uint64_t rank;
    uint64_t ld;                           /* entries in a row of a factor, padded to 16 bytes */
    const struct backend_problem *problem; /* borrowed */
    cudaStream_t stream, side;
    struct device_staging staging; /* on `stream`                                             */
    struct device_ranks ranks;
    struct device_sweep sweep; /* tensor, factors and M                                       */
    int m_mode;                /* whose M is in sweep.factors.m; -1: none                     */
    bool m_early;              /* before it was asked for                                     */
    struct device_model model;
    struct device_momentum momentum;
    struct device_dense *dense;       /* of the present precision */
    struct device_dense *dense_of[2]; /* by precision; NULL where it is not needed; owned */
    struct device_solve solve;
    struct device_row_update rows;
    struct device_terms terms;
    struct device_columns columns;
    struct device_scalars *scalars; /* device                                                  */
    struct device_scalars *result;  /* host, pinned                                            */
    struct device_ahead ahead;
    struct device_events events;
};

/* On a struct device_state. */
#define DEVICE_OPERATION(result, name, parameters) result device_state_##name parameters;
BACKEND_OPERATIONS(DEVICE_OPERATION)

/* Where row `row` of an array (rows x ld) of entries in the present precision begins. */
static inline void *device_state_row(const struct device_state *s, void *array, uint64_t row)
{
    return (char *)array + row * s->ld * precision_bytes(s->sweep.factors.precision);
}

/* The matrix of the rows of mode n that are here, in an array of such entries. */
static inline struct device_matrix device_state_matrix(const struct device_state *s, int n,
                                                       void *entries)
{
    return (struct device_matrix){.entries = entries,
                                  .rows = s->ranks.ranks->part.here.dims[n],
                                  .columns = s->rank,
                                  .ld = s->ld,
                                  .precision = s->sweep.factors.precision};
}

/* The Grams and norms of the model, for the update of `mode`. */
static inline struct dense_modes device_state_modes(const struct device_state *s, int mode)
{
    struct dense_modes modes = {.order = s->order, .mode = mode, .rank = (uint32_t)s->rank};
    for (int n = 0; n < s->order; n++) {
        modes.gram[n] = s->model.gram[n];
        modes.norm[n] = s->model.norm[n];
    }
    return modes;
}

/* (R, device): the weights of the model. */
static inline const double *device_state_lambda(const struct device_state *s)
{
    return s->model.last_mode < 0 ? s->model.lambda : s->model.norm[s->model.last_mode];
}

/* *row (device) = the numbers of the rows of mode n that are here, written over M; NULL where rows
 * keep their order. Asynchronous. */
enum status device_state_send_rows(struct device_state *s, int n, const uint64_t **row,
                                   struct error *error);

/* Factor matrices, which become undefined, have this precision from now on. */
void device_state_set_precision(struct device_state *s, enum precision precision);

/* Frees what terms take; the ordering has its values again. No work on the device may use them. */
void device_terms_close(struct device_state *s);

/* Allocates the previous factor matrices that the plan asks for. STATUS_MEMORY. */
enum status device_momentum_open(struct device_state *s, struct error *error);

/* Accepts a half-opened one. */
void device_momentum_close(struct device_momentum *m);

/* Queues the decision on the next sweep, from *before, and its step, after the fit of `mode`, the
 * mode updated last; epsilon is the relative error of <X, Y>. */
enum status device_momentum_queue(struct device_state *s, int mode, const struct momentum *before,
                                  double epsilon, struct error *error);

/* Makes the model of the last sweep the factor matrices again while a step is prepared. */
void device_momentum_set_aside(struct device_state *s);

/* Drops the prepared step: the model of the last sweep stays; an early MTTKRP does not. */
void device_momentum_drop(struct device_state *s);

/* Takes the prepared step; false if there is none. */
bool device_momentum_take(struct device_state *s);

/* Makes *step. No step may be prepared, and nothing queued. */
enum status device_momentum_step(struct device_state *s, const struct momentum_step *step,
                                 struct error *error);

/* Forgets queued and prepared steps: the factor matrices are the model. */
void device_state_forget(struct device_state *s);

/* M was made from other factor matrices, and is no longer valid. */
static inline void device_state_drop_m(struct device_state *s)
{
    s->m_mode = -1;
    s->m_early = false;
}

/* Makes the device the calling thread's, and waits until all queued work is done; updates with a V
 * that could not be inverted are repeated. Then the factor matrices are those of the last sweep,
 * also where the next step is prepared. */
enum status device_state_wait(struct device_state *s, struct error *error);

/* Queues the MTTKRP of `mode`, into s->sweep.factors.m. */
enum status device_state_queue_mttkrp(struct device_state *s, int mode, struct error *error);
