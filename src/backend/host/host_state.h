/* The state of the host backend, and its operations. Implemented in backend_host.c (opening),
 * host_model.c (loading models), host_store.c (what leaves the backend), host_update.c (the steps
 * of an iteration), host_row_update.c (those where each row has its own system)
 * and host_momentum.c (extrapolation). */
#pragma once

#include <stdbool.h>

#include "backend/backend_kind.h"
#include "backend/host/host_sweep.h"
#include "backend/host/host_systems.h"

/* Factor matrix n is A_n = entries diag(scale). Normalising changes `scale` and so takes no pass
 * over the rows. The Gram is that of A_n; M is made from `entries` and lacks the scales, which are
 * multiplied into R x R matrices, or into M where M itself is asked for. The solve divides the new
 * columns by about the last lambda, which keeps the norms of the columns of `entries` near 1. */
struct host_factor {
    void *entries; /* (I_n x R); owned, as all arrays below             */
    double *gram;  /* (R x R); after the Gram (R): of each column of the
                    * factor, the inner product with the same column of M */
    double *scale; /* (R)                                               */
    double *sum;   /* (R): of rates, the sums of the columns; an update makes
                    * them 1, exactly, so that a run that resumes has the same bits */
};

struct host_model {
    struct shape shape; /* rows of each mode that are here */
    uint64_t rank;
    enum precision precision; /* of the entries of factor matrices and M; all else is double      */
    struct host_factor factor[MAX_ORDER];
    double *lambda;   /* (R); owned                                                             */
    bool weights_fit; /* an update has made lambda since the model was loaded, or the run before */
};

/* The model after the sweep before, with momentum (plan.h). */
struct host_momentum {
    struct host_factor previous[MAX_ORDER]; /* empty for modes of which none is kept; owned */
    double *lambda;                         /* (R); owned                                   */
};

/* Room of an update, and what the last one has found. */
struct host_solve {
    double *v;            /* (R x R); owned, as all arrays below                                */
    void *m;              /* (longest mode x R)                                                 */
    double *row, *column; /* (R): scratch                                                       */
    double *sent;         /* (longest mode x R): rows on their way to other ranks and back, as
                           * doubles; NULL where there are no other ranks, or the entries are
                           * doubles                                                            */
    double inner, inner_size; /* <X, model>; the sum of its terms' magnitudes                   */
    double reciprocal;        /* struct backend_fit, since the last fit                         */
};

/* What the systems of rows need (host_row_update.h), where each row has its own. Entry r of a row
 * is unit[r] times that of the factor matrix with its weights. */
struct host_row_systems {
    struct row_rules rules;        /* of the present pass                                      */
    uint64_t rank, ld;             /* rows of matrices have ld entries, the last ones 0        */
    double violation[MAX_ORDER];   /* of rates: as the last update of each mode found it       */
    double *v;                     /* (R x ld) h V, whole; owned, as all below                 */
    const double *common;          /* of squares: v; NULL where it is 0                        */
    double *now, *out_scale;       /* (R): by what the old rows are multiplied, and the new    */
    double *ridge, *cell;          /* (R) of squares: of each component; of row_whole          */
    double *unit, *linear;         /* (R) of rates: see above; h s                             */
    struct host_row_totals totals; /* of the last pass                                       */
};

/* While terms take the place of the values of a mode's ordering. */
struct host_terms {
    bool held;
    int mode;
    double *value; /* (nonzeros): the values; owned */
};

struct host_state {
    const struct rank_rows *ranks;         /* this rank's place among all; borrowed */
    const struct backend_problem *problem; /* borrowed                              */
    bool by_rows; /* each row has a system of its own; MTTKRP is only of terms      */
    bool rates;   /* the values are rates of counts: columns then have the 1-norm 1 */
    double norm_sq;
    struct backend_built built;
    struct host_sweep sweep; /* the tensor */
    struct host_model model;
    struct host_momentum momentum;
    struct host_solve solve;
    struct host_row_systems systems;
    struct host_terms terms;
};

/* x[0..n) = value. */
void host_state_fill(double *x, uint64_t n, double value);

/* Where row `row` of an array (rows x R) of the model's entries begins. */
void *host_model_row(const struct host_model *model, void *array, uint64_t row);

/* The entries of all factor matrices; borrowed. */
struct host_rows host_model_rows(const struct host_model *model);

/* G_n = diag(scale) G_n diag(scale). */
void host_model_scale_gram(struct host_model *model, int n, const double *scale);

/* row (R) = what the columns of M lack: the product of the other modes' scales. */
void host_model_scale_of_m(const struct host_model *model, int mode, double *row);

/* v (R x R) = the Hadamard product of the Grams of all modes but `mode` (-1: of all modes). */
void host_model_hadamard(const struct host_model *model, int mode, double *v);

/* column (R): column[r] = about 1 / lambda[r], in the expectation that the new norm is near the
 * last one: a power of two, which costs no digits; 1 where lambda[r] is too small or too large to
 * be expected again. */
void host_model_expected_norms(const struct host_model *model, double *column);

/* The sums of the columns of A_n, over all ranks. */
enum status host_state_make_sums(struct host_state *h, int n, struct error *error);

/* G_n of the entries as they stand: what each rank has from its own rows, summed. */
enum status host_state_make_gram(struct host_state *h, int n, struct error *error);

/* As rank_rows_reduce_scatter and rank_rows_allgather, of entries: rows of M and of a factor
 * matrix. Doubles are sent as they are; floats are converted to doubles in h->solve.sent first. */
enum status host_ranks_reduce_scatter(struct host_state *h, int mode, void *m, struct error *error);
enum status host_ranks_allgather(struct host_state *h, int mode, void *a, struct error *error);

/* The operations, on a struct host_state. */
#define HOST_OPERATION(result, name, parameters) result host_state_##name parameters;
BACKEND_OPERATIONS(HOST_OPERATION)
