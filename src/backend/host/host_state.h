/* What the host backend keeps, and the operations of an iteration. Implemented in backend_host.c
 * (what it keeps), host_model.c (models on their way in), host_store.c (and out), host_update.c
 * (the steps of an iteration) and host_momentum.c (what the next sweep begins with). */
#ifndef BLCO_HOST_STATE_H
#define BLCO_HOST_STATE_H

#include <stdbool.h>

#include "backend/backend_kind.h"
#include "backend/host/host_sweep.h"

/* Factor matrix n is A_n = factor[n] diag(scale[n]). Normalising changes scale[n] and so takes no
 * pass over the rows. Gram n is that of A_n; M is made from factor[n] and lacks the scales, which
 * are multiplied into R x R matrices, or into M where M itself is asked for. The solve divides the
 * new columns by about the last lambda, which keeps the norms of factor[n]'s columns near 1.
 * Entries of factor[n] and M have the precision of `sweep`; all others are doubles. */
struct host_state {
    struct shape shape;            /* rows of each mode that are here                    */
    const struct rank_rows *ranks; /* this rank's place among all; borrowed              */
    bool is_empty;                 /* no nonzero is here                                 */
    uint64_t rank, longest;
    struct mode_rules rules;
    double norm_sq;
    bool weights_fit; /* an update has made lambda since the model was loaded, or the run before */
    struct backend_built built;
    struct host_sweep sweep;
    void *factor[MAX_ORDER];  /* (I_n x R); owned, as all arrays below               */
    double *gram[MAX_ORDER];  /* (R x R); after the Gram (R): of each column of the
                               * factor, the inner product with the same column of M  */
    double *scale[MAX_ORDER]; /* (R): see above                                      */
    struct host_previous {    /* the same after the sweep before, with momentum (plan.h) */
        void *factor;
        double *gram, *scale;
    } previous[MAX_ORDER];
    double *previous_lambda;       /* (R), likewise                                       */
    double *v;                     /* (R x R)                                             */
    void *m;                       /* (longest mode x R)                                  */
    double *lambda, *row, *column; /* (R); row and column are scratch                     */
    double *sent; /* (longest mode x R): rows on their way to other ranks and back, as doubles; NULL
                   * where there are no other ranks, or the entries are doubles            */
    double inner, inner_size; /* <X, model>; the sum of its terms' magnitudes        */
};

/* x[0..n) = value. */
void host_state_fill(double *x, uint64_t n, double value);

/* Where row `row` of an array (rows x R) of factors' entries begins. */
void *host_state_row(const struct host_state *h, void *array, uint64_t row);

/* The factor matrix of mode n has changed. */
void host_state_changed(struct host_state *h, int n);

/* G_n of the factor as it stands: what each rank has from its own rows, summed. */
enum status host_state_make_gram(struct host_state *h, int n, struct error *error);

/* G_n = diag(scale) G_n diag(scale). */
void host_state_scale_gram(struct host_state *h, int n, const double *scale);

/* h->row = what the columns of h->m lack: the product of the other modes' scales. */
void host_state_scale_of_m(struct host_state *h, int mode);

/* The operations of struct backend_ops, on a struct host_state. */
enum status host_state_load(void *state, const struct model_source *from, struct error *error);
enum status host_state_save(void *state, struct ktensor *k, struct carried *carried,
                            struct error *error);
enum status host_state_store(void *state, const struct model_form *form, struct ktensor *k,
                             struct error *error);
enum status host_state_columns(void *state, int mode, const struct model_form *form,
                               struct column *column, struct error *error);
enum status host_state_fetch(void *state, int mode, double *m, struct error *error);
enum status host_state_widen(void *state, struct error *error);
enum status host_state_rotate(void *state, int mode, struct error *error);
enum status host_state_gram(void *state, int mode, double *gram, struct error *error);
enum status host_state_weights(void *state, double *lambda, struct error *error);
enum status host_state_mttkrp(void *state, int mode, struct error *error);
enum status host_state_update(void *state, int mode, struct error *error);
enum status host_state_fit(void *state, int mode, const struct momentum *m, struct backend_fit *fit,
                           struct error *error);
enum status host_state_extrapolate(void *state, const struct momentum_step *step,
                                   struct error *error);
void host_state_swap(void *state);
enum status host_state_residual(void *state, struct backend_residual *r, struct error *error);

#endif
