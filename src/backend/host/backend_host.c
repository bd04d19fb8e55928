/* The host backend: OpenMP for MTTKRP, OpenBLAS for R x R systems. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <omp.h>

#include "backend/backend_kind.h"
#include "backend/host/host_dense.h"
#include "backend/host/host_rates.h"
#include "backend/host/host_residual.h"
#include "backend/host/host_solver.h"
#include "backend/host/host_sweep.h"
#include "lapack/lapack_library.h"
#include "base/machine.h"
#include "base/memory.h"

#define FAR         256.0 /* the largest scale: those of 16 modes multiply to 2^128 at most */
#define FEW_ENTRIES 4096  /* of a factor matrix: scaling so few costs nothing              */

/* Factor matrix n is A_n = factor[n] diag(scale[n]). Normalising changes scale[n] and so takes no
 * pass over the rows. Gram n is that of A_n; M is made from factor[n] and lacks the scales, which
 * are multiplied into R x R matrices, or into M where M itself is asked for. The solve divides the
 * new columns by about the last lambda, which keeps the norms of factor[n]'s columns near 1. */
struct host {
    struct shape shape;                /* rows of each mode that are here                    */
    const struct backend_ranks *ranks; /* this rank's place among all; borrowed              */
    bool is_empty;                     /* no nonzero is here                                 */
    uint64_t rank, longest;
    struct mode_rules rules;
    double norm_sq;
    bool weights_fit; /* an update has made lambda since the model was loaded, or the run before */
    struct backend_built built;
    struct host_sweep sweep;
    double *factor[MAX_ORDER];     /* (I_n x R); owned, as all arrays below               */
    double *gram[MAX_ORDER];       /* (R x R); behind the Gram (R): of each column of the
                                    * factor, the inner product with the same column of M  */
    double *scale[MAX_ORDER];      /* (R): see above                                      */
    double *v;                     /* (R x R)                                             */
    double *m;                     /* (longest mode x R)                                  */
    double *lambda, *row, *column; /* (R); row and column are scratch                     */
    double inner, inner_size;      /* <X, model>; the sum of its terms' magnitudes        */
};

static enum status available(struct error *error)
{
    (void)error;
    return STATUS_OK;
}

static enum status make_request(struct plan_request *request, const struct plan_tensor *tensor,
                                const struct backend_options *options, struct error *error)
{
    if (options->precision != PRECISION_DOUBLE)
        return error_set(error, STATUS_INPUT, "the host backend computes in double precision only");
    *request =
        (struct plan_request){.tensor = *tensor,
                              .rank = options->rank,
                              .conflict = options->conflict,
                              .share = options->conflict == CONFLICT_AUTO && !options->no_sharing,
                              .iterations = options->iterations,
                              .row_bytes = options->rank * sizeof(double),
                              .budget = machine_memory_budget(options->host_memory),
                              .copies = (uint64_t)omp_get_max_threads()};
    /* Private copies of M pay while merging them costs less than the nonzeros themselves. */
    request->short_mode = tensor->nnz / request->copies;
    return STATUS_OK;
}

static void close_host(void *state)
{
    struct host *h = state;
    if (!h)
        return;
    for (int n = 0; n < MAX_ORDER; n++) {
        memory_free(h->factor[n]);
        memory_free(h->gram[n]);
        memory_free(h->scale[n]);
    }
    host_sweep_close(&h->sweep);
    memory_free(h->v);
    memory_free(h->m);
    memory_free(h->lambda);
    memory_free(h->row);
    memory_free(h->column);
    memory_free(h);
}

static enum status allocate_matrices(struct host *h, struct error *error)
{
    uint64_t row = h->rank * sizeof(double);
    for (int n = 0; n < h->shape.order; n++) {
        h->factor[n] = memory_array(h->shape.dims[n], row, error);
        h->gram[n] = memory_array(h->rank + 1, row, error);
        h->scale[n] = memory_array(1, row, error);
        if (!h->factor[n] || !h->gram[n] || !h->scale[n])
            return error->status;
    }
    h->v = memory_array(h->rank, row, error);
    h->m = memory_array(h->longest, row, error);
    h->lambda = memory_array(1, row, error);
    h->row = memory_array(1, row, error);
    h->column = memory_array(1, row, error);
    return error->status;
}

static enum status open_host(void **state, const struct tensor_source *source,
                             const struct plan *plan, const struct backend_options *options,
                             struct progress *progress, struct error *error)
{
    const struct coo *x = source->x;
    *state = NULL;
    struct host *h = lapack_library(error) ? memory_zeros(1, sizeof *h, error) : NULL;
    if (!h)
        return error->status;
    h->ranks = source->ranks;
    h->shape = h->ranks->part.here;
    h->is_empty = x->nnz == 0;
    h->longest = shape_longest(&h->shape);
    h->built.plan = *plan;
    h->built.nnz = x->nnz;
    h->rank = options->rank;
    h->rules = options->rules;
    h->norm_sq = source->norm_sq;

    enum status status =
        h->is_empty ? STATUS_OK : host_sweep_open(&h->sweep, x, plan, progress, error);
    if (status == STATUS_OK)
        status = allocate_matrices(h, error);
    if (status != STATUS_OK) {
        close_host(h);
        return status;
    }
    *state = h;
    return STATUS_OK;
}

/* to (rows x R) = from (rows x R) with column r multiplied by scale[r]. */
static void copy_rows(double *to, const double *from, uint64_t rows, uint64_t rank,
                      const double *scale)
{
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < rank; r++)
            to[i * rank + r] = from[i * rank + r] * scale[r];
}

static void fill(double *x, uint64_t n, double value)
{
    for (uint64_t i = 0; i < n; i++)
        x[i] = value;
}

static void factor_changed(struct host *h, int n)
{
    if (!h->is_empty)
        host_sweep_changed(&h->sweep, n);
}

/* G_n of the factor as it stands: what each rank has from its own rows, summed. */
static enum status make_gram(struct host *h, int n, struct error *error)
{
    const struct backend_rows *rows = &h->ranks->mode[n];
    const double *own = h->factor[n] + rows->first * h->rank;
    if (host_dense_gram(own, rows->count, h->rank, h->gram[n], error) != STATUS_OK)
        return error->status;
    return comm_sum(h->ranks->all, h->gram[n], h->rank * h->rank, error);
}

static enum status load(void *state, const struct ktensor *k, const struct carried *carried,
                        struct error *error)
{
    struct host *h = state;
    uint64_t row = h->rank, square = row * row;
    memcpy(h->lambda, k->lambda, row * sizeof *h->lambda);
    h->weights_fit = carried != NULL;
    for (int n = 0; n < h->shape.order && error->status == STATUS_OK; n++) {
        fill(h->scale[n], row, 1.0);
        factor_changed(h, n);
        copy_rows(h->factor[n], k->factor[n], h->shape.dims[n], row, h->scale[n]);
        if (!carried) {
            make_gram(h, n, error);
            continue;
        }
        memcpy(h->scale[n], carried->scale + (uint64_t)n * row, row * sizeof *h->scale[n]);
        memcpy(h->gram[n], carried->gram + (uint64_t)n * square, square * sizeof *h->gram[n]);
    }
    return error->status;
}

static enum status store(void *state, struct ktensor *k, struct carried *carried,
                         struct error *error)
{
    (void)error;
    struct host *h = state;
    uint64_t row = h->rank, square = row * row;
    memcpy(k->lambda, h->lambda, row * sizeof *h->lambda);
    fill(h->row, row, 1.0);
    for (int n = 0; n < h->shape.order; n++) {
        copy_rows(k->factor[n], h->factor[n], h->shape.dims[n], row,
                  carried ? h->row : h->scale[n]);
        if (carried) {
            memcpy(carried->scale + (uint64_t)n * row, h->scale[n], row * sizeof *h->scale[n]);
            memcpy(carried->gram + (uint64_t)n * square, h->gram[n], square * sizeof *h->gram[n]);
        }
    }
    return STATUS_OK;
}

/* h->row = what the columns of h->m lack: the product of the other modes' scales. */
static void scale_of_m(struct host *h, int mode)
{
    fill(h->row, h->rank, 1.0);
    for (int n = 0; n < h->shape.order; n++)
        for (uint64_t r = 0; n != mode && r < h->rank; r++)
            h->row[r] *= h->scale[n][r];
}

static enum status mttkrp(void *state, int mode, struct error *error)
{
    (void)error;
    struct host *h = state;
    if (h->is_empty)
        fill(h->m, h->shape.dims[mode] * h->rank, 0.0);
    else
        host_sweep_mttkrp(&h->sweep, mode, h->factor, h->m);
    return STATUS_OK;
}

static enum status fetch(void *state, int mode, double *m, struct error *error)
{
    (void)error;
    struct host *h = state;
    scale_of_m(h, mode);
    copy_rows(m, h->m, h->shape.dims[mode], h->rank, h->row);
    return STATUS_OK;
}

/* The last of the R entries becomes the first. */
static void rotate_row(double *row, uint64_t rank)
{
    double last = row[rank - 1];
    memmove(row + 1, row, (rank - 1) * sizeof *row);
    row[0] = last;
}

static enum status rotate(void *state, int mode, struct error *error)
{
    (void)error;
    struct host *h = state;
    uint64_t rank = h->rank, rows = h->shape.dims[mode];
    double *a = h->factor[mode];
#pragma omp parallel for schedule(static) if (rows * rank > 65536)
    for (uint64_t i = 0; i < rows; i++)
        rotate_row(a + i * rank, rank);
    rotate_row(h->scale[mode], rank);
    factor_changed(h, mode);
    return STATUS_OK;
}

/* h->v = the Hadamard product of the Grams of all modes but `mode` (-1: of all modes). */
static void hadamard(struct host *h, int mode)
{
    uint64_t rank = h->rank;
#pragma omp parallel for schedule(static) if (rank * rank > 65536)
    for (uint64_t i = 0; i < rank; i++) {
        double *v = h->v + i * rank;
        for (uint64_t j = 0; j < rank; j++)
            v[j] = 1.0;
        for (int n = 0; n < h->shape.order; n++)
            if (n != mode)
                for (uint64_t j = 0; j < rank; j++)
                    v[j] *= h->gram[n][i * rank + j];
    }
}

/* G_mode = diag(scale) G_mode diag(scale). */
static void scale_gram(struct host *h, int mode, const double *scale)
{
    for (uint64_t i = 0; i < h->rank; i++)
        for (uint64_t j = 0; j < h->rank; j++)
            h->gram[mode][i * h->rank + j] = h->gram[mode][i * h->rank + j] * scale[i] * scale[j];
}

/* column[r] = about 1 / lambda[r], in the expectation that the new norm is near the last one: a
 * power of two, which costs no digits; 1 where lambda[r] is too small or too large to be expected
 * again. */
static void expect_norms(struct host *h, double *column)
{
    for (uint64_t r = 0; r < h->rank; r++)
        column[r] =
            h->lambda[r] > 1e-100 && h->lambda[r] < 1e100 ? ldexp(1.0, -ilogb(h->lambda[r])) : 1.0;
}

/* From V in h->v, which is destroyed, with h->row and h->column as scales. */
static enum status create_solver(struct host *h, int mode, struct host_solver *s,
                                 struct error *error)
{
    const struct host_nonneg_start start = {.v = h->v,
                                            .m = h->row,
                                            .a = h->scale[mode],
                                            .lambda = h->lambda,
                                            .out = h->column,
                                            .rows = h->ranks->part.whole.dims[mode],
                                            .fit_rows = !h->weights_fit};
    return host_solver_create(s, h->rules.nonneg[mode], h->v, &start, h->rank, error);
}

/* a = what the solver makes of M, its Gram and, in h->gram[mode] behind the Gram, its columns'
 * products with M's: each rank solves some rows of the sum of all M, and gathers the others. */
static enum status solve_rows(struct host *h, int mode, const struct host_solver *s, double *a,
                              struct error *error)
{
    const struct backend_rows *rows = &h->ranks->mode[mode];
    uint64_t skip = rows->first * h->rank, square = h->rank * h->rank;
    double *gram = h->gram[mode], *inner = gram + square;
    if (backend_ranks_scatter(h->ranks, mode, h->m, h->rank, error) != STATUS_OK ||
        host_solver_rows(s, h->m + skip, a + skip, rows->count, gram, inner, error) != STATUS_OK ||
        comm_sum(h->ranks->all, gram, square + h->rank, error) != STATUS_OK)
        return error->status;
    return backend_ranks_gather(h->ranks, mode, a, h->rank, error);
}

/* From what solve_rows has left: scales, the Gram of the scaled columns, and <X, model>. */
static void take_solution(struct host *h, int mode)
{
    const double *inner = h->gram[mode] + h->rank * h->rank;
    h->inner = h->inner_size = 0.0;
    for (uint64_t r = 0; r < h->rank; r++) {
        h->scale[mode][r] = 1.0 / h->column[r];
        double term = inner[r] * h->row[r] * h->scale[mode][r];
        h->inner += term;
        h->inner_size += fabs(term);
    }
    scale_gram(h, mode, h->scale[mode]);
}

static enum status solve(struct host *h, int mode, struct error *error)
{
    struct host_solver s;
    hadamard(h, mode);
    for (uint64_t r = 0; r < h->rank; r++)
        h->v[r * h->rank + r] += h->rules.ridge[mode];
    scale_of_m(h, mode);
    expect_norms(h, h->column);
    if (create_solver(h, mode, &s, error) != STATUS_OK)
        return error_prefix(error, "mode %d: ", mode + 1);

    /* of the longest mode, factor and M are equally long and trade places */
    bool trade = !s.is_nonneg && h->shape.dims[mode] == h->longest;
    double *a = trade ? h->m : h->factor[mode];
    factor_changed(h, mode);
    if (solve_rows(h, mode, &s, a, error) == STATUS_OK) {
        if (trade) {
            h->m = h->factor[mode];
            h->factor[mode] = a;
        }
        take_solution(h, mode);
        h->weights_fit = true;
    }
    host_solver_free(&s);
    return error->status;
}

/* The squared norms stand on the diagonal of the Gram. Usually only the scales change. Where a norm
 * is so far from the expected one that products of scales could overflow, or the factor matrix is
 * small, the rows themselves are scaled. */
static enum status normalise(struct host *h, int mode, struct error *error)
{
    double *gram = h->gram[mode], *scale = h->scale[mode];
    bool near =
        h->ranks->part.whole.dims[mode] * h->rank > FEW_ENTRIES; /* the same on every rank */
    for (uint64_t r = 0; r < h->rank; r++) {
        double norm_sq = gram[r * h->rank + r];
        if (!isfinite(norm_sq))
            return error_set(error, STATUS_NUMERICAL,
                             "mode %d: the squared norm of column %llu is %g", mode + 1,
                             (unsigned long long)r + 1, norm_sq);
        h->lambda[r] = sqrt(norm_sq);
        h->row[r] = h->lambda[r] > 0.0 ? 1.0 / h->lambda[r] : 0.0;
        scale[r] *= h->row[r];
        near = near && scale[r] > 1.0 / FAR && scale[r] < FAR;
    }
    scale_gram(h, mode, h->row);
    if (!near) {
        factor_changed(h, mode);
        host_dense_scale_columns(h->factor[mode], h->shape.dims[mode], h->rank, scale);
        fill(scale, h->rank, 1.0);
    }
    return STATUS_OK;
}

/* The solve makes the Gram along with the factor; normalise scales both. */
static enum status update(void *state, int mode, struct error *error)
{
    enum status status = solve(state, mode, error);
    return status == STATUS_OK ? normalise(state, mode, error) : status;
}

/* h->inner = <X, model> = sum_ir M(i,r) A(i,r), for the A that solve made, before normalise. */
static enum status fit(void *state, int mode, struct backend_fit *value, struct error *error)
{
    struct host *h = state;
    struct backend_fit_terms terms = {.norm_sq = h->norm_sq,
                                      .inner = h->inner,
                                      .inner_size = h->inner_size,
                                      .epsilon = DBL_EPSILON};
    hadamard(h, -1);
    for (uint64_t i = 0; i < h->rank; i++)
        for (uint64_t j = 0; j < h->rank; j++) {
            double term = h->v[i * h->rank + j] * h->lambda[i] * h->lambda[j];
            terms.model_sq += term;
            terms.model_size += fabs(term);
        }
    return backend_fit_of(value, &terms, mode + 1, error);
}

static enum status residual(void *state, struct backend_residual *r, struct error *error)
{
    struct host *h = state;
    r->norm_sq = h->norm_sq;
    for (uint64_t i = 0; i < h->rank; i++) {
        r->weight[i] = h->lambda[i];
        for (int n = 0; n < h->shape.order; n++)
            r->weight[i] *= h->scale[n][i];
    }
    for (int n = 0; n < h->shape.order && error->status == STATUS_OK; n++) {
        const struct backend_rows *rows = &h->ranks->mode[n];
        host_residual_gram(h->factor[n] + rows->first * h->rank, rows->count, h->rank, r->gram[n],
                           error);
    }
    if (error->status == STATUS_OK && !h->is_empty)
        r->nonzeros = host_residual_nonzeros(&h->sweep, h->factor, r->weight);
    return error->status;
}

static enum status copy_gram(void *state, int mode, double *gram, struct error *error)
{
    (void)error;
    const struct host *h = state;
    memcpy(gram, h->gram[mode], h->rank * h->rank * sizeof *gram);
    return STATUS_OK;
}

static enum status copy_weights(void *state, double *lambda, struct error *error)
{
    (void)error;
    const struct host *h = state;
    memcpy(lambda, h->lambda, h->rank * sizeof *lambda);
    return STATUS_OK;
}

static void tell_built(void *state, struct backend_built *built)
{
    const struct host *h = state;
    *built = h->built;
    if (h->is_empty)
        mode_groups_none(&built->groups, h->shape.order);
    else
        built->groups = h->sweep.sweep.groups;
    built->seconds = h->sweep.seconds;
}

static enum status measure_rates(const struct shape *shape, const struct backend_options *options,
                                 struct backend_rates *rates, struct error *error)
{
    return host_rates(shape, options->rank, rates, error);
}

static const struct backend_ops operations = {.load = load,
                                              .mttkrp = mttkrp,
                                              .update = update,
                                              .fit = fit,
                                              .residual = residual,
                                              .gram = copy_gram,
                                              .weights = copy_weights,
                                              .store = store,
                                              .fetch = fetch,
                                              .rotate = rotate,
                                              .built = tell_built,
                                              .close = close_host};

const struct backend_kind backend_host = {.name = "host",
                                          .available = available,
                                          .request = make_request,
                                          .open = open_host,
                                          .ops = &operations,
                                          .rates = measure_rates};
