/* To cuBLAS a row-major matrix is its transpose: A = M W is computed as A\' = W\' M\'. */
#include "backend/cuda/dense/device_dense.h"

#include <float.h>
#include <math.h>

#include "backend/cuda/runtime/cuda_library.h"
#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "base/memory.h"
#include "kernels/dense/dense_apply.h"
#include "kernels/dense/dense_nonneg.h"
#include "kernels/dense/dense_sums.h"
#include "lapack/symmetric_eigen.h"

/* A = M W and A' A by cuBLAS, for rows that are too long for dense_apply. */
struct wide {
    const struct cublas_library *cublas;
    cublasHandle_t blas; /* owned */
    cudaStream_t stream;
    uint64_t rank, ld;
    enum precision precision;
    uint64_t parts; /* of a panel of rows: each has a Gram of its own, so that they fill the GPU  */
    uint64_t part_rows; /* rows of a part */
    double *padded_w;   /* (R x ld): W and zeros; device, owned                               */
    double *grams;      /* (parts x R x R); device, owned                                     */
    double *m, *a;      /* (parts * part_rows x ld) each: a panel of M, and of A as doubles, which
                         * is NULL in double precision; device, owned */
};

#define PANEL_BYTES                                                                                \
    ((uint64_t)32 << 20) /* of doubles: A's panel is still in the L2 cache for its Gram */
#define TILE       64    /* about what cuBLAS gives one thread block of C     */
#define GRAM_TILES 512   /* such thread blocks that fill any GPU              */
#define MOST_PARTS 128

/* For work on `stream`. The caller closes *w, also after a failure. STATUS_MEMORY; STATUS_INPUT
 * without cuBLAS. */
static enum status wide_open(struct wide *w, uint64_t rank, uint64_t ld, enum precision precision,
                             cudaStream_t stream, struct error *error)
{
    const uint64_t tiles = (rank + TILE - 1) / TILE;
    const uint64_t parts = GRAM_TILES / (tiles * tiles);
    *w = (struct wide){.stream = stream, .rank = rank, .ld = ld, .precision = precision};
    w->parts = parts < 1 ? 1 : parts > MOST_PARTS ? MOST_PARTS : parts;
    w->part_rows = PANEL_BYTES / (sizeof(double) * ld * w->parts) + 1;

    const uint64_t panel = w->parts * w->part_rows * ld;
    w->cublas = cublas_library(error);
    TRY(error->status);
    TRY(cublas_status(memory_hook_fails() ? CUBLAS_STATUS_ALLOC_FAILED
                                          : w->cublas->create(&w->blas),
                      "starting cuBLAS", error));
    TRY(device_array_into(&w->padded_w, rank * ld, sizeof *w->padded_w, error));
    TRY(cuda_status(cudaMemset(w->padded_w, 0, rank * ld * sizeof(double)), "room for W", error));
    TRY(cuda_status(cudaStreamSynchronize(NULL), "room for W", error));
    TRY(device_array_into(&w->grams, w->parts * rank * rank, sizeof *w->grams, error));
    TRY(device_array_into(&w->m, panel, sizeof *w->m, error));
    if (precision == PRECISION_DOUBLE)
        return STATUS_OK;
    return device_array_into(&w->a, panel, sizeof *w->a, error);
}

/* Grams += A' A of a panel of `rows` rows, the k-th part of it into the k-th Gram. */
static enum status add_grams(const struct wide *w, const double *a, uint64_t rows,
                             struct error *error)
{
    const double one = 1;
    const int rank = (int)w->rank, ld = (int)w->ld;
    const uint64_t full = rows / w->part_rows, rest = rows % w->part_rows;
    const long long step = (long long)(w->part_rows * w->ld);
    if (full)
        TRY(cublas_status(w->cublas->dgemm_strided_batched(
                              w->blas, CUBLAS_OP_N, CUBLAS_OP_T, rank, rank, (int)w->part_rows,
                              &one, a, ld, step, a, ld, step, &one, w->grams, rank,
                              (long long)(w->rank * w->rank), (int)full),
                          "Gram", error));
    if (!rest)
        return STATUS_OK;
    const double *last = a + full * w->part_rows * w->ld;
    return cublas_status(w->cublas->dgemm(w->blas, CUBLAS_OP_N, CUBLAS_OP_T, rank, rank, (int)rest,
                                          &one, last, ld, last, ld, &one,
                                          w->grams + full * w->rank * w->rank, rank),
                         "Gram", error);
}

/* Panel after panel of A as doubles, each with its Gram: rows of M times W, or with M NULL those of
 * A as they are. */
static enum status by_panels(const struct wide *w, const struct device_dense_rows *rows,
                             struct error *error)
{
    const bool single = w->precision == PRECISION_SINGLE;
    const double one = 1, zero = 0;
    const int ld = (int)w->ld;
    const uint64_t panel = w->parts * w->part_rows;
    const size_t bytes = w->parts * w->rank * w->rank * sizeof(double);
    TRY(cublas_status(w->cublas->set_stream(w->blas, w->stream), "cuBLAS", error));
    TRY(cuda_status(cudaMemsetAsync(w->grams, 0, bytes, w->stream), "Gram", error));
    for (uint64_t first = 0; first < rows->count; first += panel) {
        const uint64_t left = rows->count - first, n = left < panel ? left : panel;
        const uint64_t from = first * w->ld;
        const bool in_place = !single && rows->m == rows->a; /* which cuBLAS does not do */
        const double *m = single || in_place ? w->m : (const double *)rows->m + from;
        double *a = single ? w->a : (double *)rows->a + from;
        if (single && rows->m)
            TRY(cuda_status(dense_widen_rows((const float *)rows->m + from, w->ld, w->m, w->ld, n,
                                             w->rank, w->stream),
                            "widening M", error));
        if (in_place)
            TRY(device_copy(w->m, (const double *)rows->m + from, n * w->ld * sizeof *w->m,
                            w->stream, "solve", error));
        if (rows->m)
            TRY(cublas_status(w->cublas->dgemm(w->blas, CUBLAS_OP_N, CUBLAS_OP_N, ld, (int)n,
                                               (int)w->rank, &one, w->padded_w, ld, m, ld, &zero, a,
                                               ld),
                              "solve", error));
        if (single && rows->m)
            TRY(cuda_status(dense_narrow(w->a, (float *)rows->a + from, n * w->ld, w->stream),
                            "narrowing A", error));
        if (single && !rows->m)
            TRY(cuda_status(dense_widen_rows((const float *)rows->a + from, w->ld, w->a, w->ld, n,
                                             w->rank, w->stream),
                            "widening A", error));
        TRY(add_grams(w, a, n, error));
    }
    return cuda_status(
        dense_sum_grams(w->grams, (uint32_t)w->parts, (uint32_t)w->rank, rows->raw, w->stream),
        "Gram", error);
}

/* The R x R work of an update: V = the Hadamard product of the other modes' Grams, and W, by which
 * M is multiplied, by Cholesky, or where V is ill-conditioned by V's eigenvectors. All arrays are
 * in device memory, but for those named host; all are owned. */
struct inverse {
    uint32_t rank;
    enum precision precision; /* of factors and M                                */
    double *v, *factor;       /* (R x R) each                                    */
    double *values;           /* (R): eigenvalues                                */
    int *flags;               /* enum dense_inverse_status, cuSOLVER's info      */
    int *host_flags;          /* (2), pinned                                     */
    bool by_eigenvectors;     /* after W, M is multiplied by V's eigenvectors, in factor */
    double reciprocal;        /* then: of V's condition number; 0 where V was cut off */
    double *host_values;      /* (2 R): eigenvalues, and V's diagonal; host              */
    struct dense_halt halt;   /* stops later steps where nothing waits; code: of the last W */
    const struct cusolver_library *cusolver; /* NULL where R is small                    */
    cusolverDnHandle_t solver;               /* likewise                                 */
    double *work;                            /* (work_size) for cuSOLVER                 */
    int work_size;
    double *host_v; /* (R x R + R): V and its eigenvalues, for small R; host; NULL at first */
};

#define LOWER CUBLAS_FILL_MODE_LOWER

static const char inverting[] = "the inverse of V";

/* Where the flags are in their array. */
enum { FLAG_STATUS, FLAG_INFO, FLAG_COUNT };

/* The caller closes *d, also after a failure. STATUS_MEMORY; STATUS_INPUT where R is large and
 * there is no cuSOLVER. */
static enum status inverse_open(struct inverse *d, uint32_t rank, enum precision precision,
                                struct error *error)
{
    const uint64_t entries = (uint64_t)rank * rank;
    const int n = (int)rank;
    int cholesky = 0, inverse = 0, eigen = 0;
    *d = (struct inverse){.rank = rank, .precision = precision};
    TRY(device_array_into(&d->v, entries, sizeof *d->v, error));
    TRY(device_array_into(&d->factor, entries, sizeof *d->factor, error));
    TRY(device_array_into(&d->values, rank, sizeof *d->values, error));
    TRY(device_array_into(&d->flags, FLAG_COUNT, sizeof *d->flags, error));
    d->host_flags = device_pinned_array(FLAG_COUNT, sizeof *d->host_flags, error);
    TRY(error->status);
    d->host_values = memory_array(2 * (uint64_t)rank, sizeof *d->host_values, error);
    TRY(error->status);
    if (rank <= DENSE_INVERSE_SMALL)
        return STATUS_OK;
    /* cuSOLVER, which takes long to load */
    d->cusolver = cusolver_library(error);
    TRY(error->status);
    TRY(cusolver_status(memory_hook_fails() ? CUSOLVER_STATUS_ALLOC_FAILED
                                            : d->cusolver->create(&d->solver),
                        "starting cuSOLVER", error));
    TRY(cusolver_status(d->cusolver->dpotrf_room(d->solver, LOWER, n, d->factor, n, &cholesky),
                        "Cholesky", error));
    TRY(cusolver_status(d->cusolver->dpotri_room(d->solver, LOWER, n, d->factor, n, &inverse),
                        "inverse", error));
    TRY(cusolver_status(d->cusolver->dsyevd_room(d->solver, CUSOLVER_EIG_MODE_VECTOR, LOWER, n,
                                                 d->factor, n, d->values, &eigen),
                        "eigendecomposition", error));
    d->work_size = cholesky > inverse ? cholesky : inverse;
    if (eigen > d->work_size)
        d->work_size = eigen;
    return device_array_into(&d->work, (uint64_t)d->work_size + 1, sizeof *d->work, error);
}

/* V is inverted where that costs few digits of A V = M: multiplying M by an explicit inverse has a
 * relative error of cond(V) eps. Otherwise M is multiplied by V's eigenvectors, which keeps A V
 * close to M for any condition. */
static double least_pivot(const struct inverse *d)
{
    return d->precision == PRECISION_SINGLE ? 1e-4 : 1e-6;
}

/* Eigenvalues up to this times the largest are rounding errors: of V, or of M and A as floats. */
static double eigenvalue_tolerance(const struct inverse *d)
{
    return d->rank * (d->precision == PRECISION_SINGLE ? (double)FLT_EPSILON : DBL_EPSILON);
}

/* Copies the flags to the host; waits for the stream. */
static enum status fetch_flags(struct inverse *d, cudaStream_t stream, struct error *error)
{
    return device_fetch(d->host_flags, d->flags, FLAG_COUNT * sizeof(int), stream, inverting,
                        error);
}

/* W by cuSOLVER's Cholesky decomposition. */
static enum status invert_large(struct inverse *d, const struct dense_modes *modes, double ridge,
                                double *w, cudaStream_t stream, struct error *error)
{
    const int n = (int)d->rank;
    int *flag = d->flags + FLAG_STATUS, *info = d->flags + FLAG_INFO;
    TRY(cusolver_status(d->cusolver->set_stream(d->solver, stream), "cuSOLVER", error));
    TRY(cuda_status(dense_inverse_hadamard(modes, ridge, d->v, d->factor, stream),
                    "Hadamard product", error));
    TRY(cusolver_status(
        d->cusolver->dpotrf(d->solver, LOWER, n, d->factor, n, d->work, d->work_size, info),
        "Cholesky", error));
    TRY(cuda_status(
        dense_inverse_check(d->v, d->factor, d->rank, least_pivot(d), info, flag, stream),
        "Cholesky", error));
    TRY(cusolver_status(
        d->cusolver->dpotri(d->solver, LOWER, n, d->factor, n, d->work, d->work_size, info),
        "inverse", error));
    return cuda_status(dense_inverse_finish(modes, d->factor, flag, w, stream), inverting, error);
}

/* factor, values = eigenvectors and eigenvalues of factor, by cuSOLVER. Waits for the stream. */
static enum status decompose_large(struct inverse *d, cudaStream_t stream, struct error *error)
{
    const int n = (int)d->rank;
    TRY(cusolver_status(d->cusolver->set_stream(d->solver, stream), "cuSOLVER", error));
    TRY(cusolver_status(d->cusolver->dsyevd(d->solver, CUSOLVER_EIG_MODE_VECTOR, LOWER, n,
                                            d->factor, n, d->values, d->work, d->work_size,
                                            d->flags + FLAG_INFO),
                        "eigendecomposition", error));
    TRY(fetch_flags(d, stream, error));
    if (d->host_flags[FLAG_INFO] == 0)
        return STATUS_OK;
    return error_set(error, STATUS_NUMERICAL,
                     "the eigendecomposition of the Grams' product does not converge");
}

/* The same by LAPACK on the host: for a small V, loading cuSOLVER would take longer than the rest
 * of a short run. Waits for the stream. */
static enum status decompose_small(struct inverse *d, cudaStream_t stream, struct error *error)
{
    const uint64_t n = d->rank, bytes = n * n * sizeof(double);
    if (!d->host_v)
        d->host_v = memory_array(n * n + n, sizeof *d->host_v, error);
    TRY(error->status);
    double *values = d->host_v + n * n;
    TRY(device_fetch(d->host_v, d->factor, bytes, stream, inverting, error));
    TRY(symmetric_eigen(d->host_v, n, values, error));
    TRY(device_copy(d->factor, d->host_v, bytes, stream, inverting, error));
    return device_copy(d->values, values, n * sizeof *values, stream, inverting, error);
}

/* d->reciprocal, from the eigenvalues. A column that is zero cuts off nothing. Waits for the
 * stream. */
static enum status find_reciprocal(struct inverse *d, cudaStream_t stream, struct error *error)
{
    const uint64_t n = d->rank;
    double *values = d->host_values, *diagonal = values + n, largest = 0, least = INFINITY;
    uint64_t kept = 0, zeros = 0;
    cudaError_t code = cudaMemcpy2DAsync(diagonal, sizeof *diagonal, d->v, (n + 1) * sizeof *d->v,
                                         sizeof *d->v, n, cudaMemcpyDeviceToHost, stream);
    TRY(cuda_status(code, inverting, error));
    TRY(device_fetch(values, d->values, n * sizeof *values, stream, inverting, error));
    for (uint64_t r = 0; r < n; r++)
        largest = fmax(largest, values[r]);
    for (uint64_t r = 0; r < n; r++) {
        zeros += diagonal[r] == 0;
        if (values[r] > eigenvalue_tolerance(d) * largest) {
            kept++;
            least = fmin(least, values[r]);
        }
    }
    d->reciprocal = kept > 0 && kept + zeros >= n ? least / largest : 0;
    return STATUS_OK;
}

#define MOST_RANK    32768 /* R x R matrices and cuSOLVER's int sizes */
#define INNER_BLOCKS 8     /* thread blocks of dense_inner for each multiprocessor */

struct device_dense {
    struct device_dense_place place;
    uint32_t rank;
    uint64_t ld;
    enum precision precision;

    /* used on the stream of passes */
    int wide;            /* rows are too long for dense_apply */
    struct wide by_blas; /* where wide                    */
    uint32_t processors; /* multiprocessors of the device */
    uint32_t solve_blocks, inner_blocks;
    double *partial;    /* results of solve_blocks or inner_blocks thread blocks; device, owned */
    double *inner;      /* (R): diagonal of M' A of the last solve; device, owned               */
    int products_known; /* whether `inner` holds that diagonal */
    cudaEvent_t passed[DEVICE_DENSE_PASSES]; /* recorded after passes, by turns; owned; NULL until
                                              * it is used */
    int turn;                                /* the one recorded last */
    struct device_dense_rows solved;         /* those of the last solve; raw is not used */
    uint32_t extrapolate_blocks;             /* thread blocks of an extrapolation, where not wide */
    double
        *extrapolate_partial; /* their results; NULL until it is opened, or wide; device, owned */

    struct inverse inverse; /* used on the side stream */
    double *system; /* of dense_nonneg_prepare; NULL where no mode is nonnegative; device, owned */
};

enum status device_dense_open(struct device_dense **opened, const struct device_dense_place *place,
                              uint64_t rank, uint64_t ld, enum precision precision,
                              struct error *error)
{
    *opened = NULL;
    if (rank > MOST_RANK)
        return error_set(error, STATUS_INPUT, "rank %llu, expected at most %d on a GPU",
                         (unsigned long long)rank, MOST_RANK);
    struct device_dense *d = memory_zeros(1, sizeof *d, error);
    TRY(error->status);
    d->place = *place;
    d->rank = (uint32_t)rank;
    d->ld = ld;
    d->precision = precision;
    d->wide = ld > DENSE_SOLVE_LD;
    int processors = 0;
    TRY_OR(failed,
           device_attribute(place->device, cudaDevAttrMultiProcessorCount, &processors, error));
    d->processors = (uint32_t)processors;
    d->inner_blocks = d->processors * INNER_BLOCKS;
    if (d->wide)
        TRY_OR(failed, wide_open(&d->by_blas, rank, ld, precision, place->pass, error));
    else
        TRY_OR(failed, cuda_status(dense_apply_blocks(ld, precision, &d->solve_blocks),
                                   "the solve's kernel", error));
    const uint64_t of_inner = d->inner_blocks * rank;
    const uint64_t of_solve = d->wide ? 0 : d->solve_blocks * dense_apply_partial(ld);
    const uint64_t partials = of_inner > of_solve ? of_inner : of_solve;
    TRY_OR(failed, device_array_into(&d->partial, partials, sizeof *d->partial, error));
    TRY_OR(failed, device_array_into(&d->inner, rank, sizeof *d->inner, error));
    TRY_OR(failed, inverse_open(&d->inverse, d->rank, precision, error));
    *opened = d;
    return STATUS_OK;
failed:
    device_dense_close(d);
    return error->status;
}

void device_dense_close(struct device_dense *d)
{
    if (!d)
        return;
    struct wide *w = &d->by_blas;
    struct inverse *v = &d->inverse;
    if (w->blas)
        w->cublas->destroy(w->blas);
    device_free(w->padded_w, w->grams, w->m, w->a);
    if (v->solver)
        v->cusolver->destroy(v->solver);
    device_free(v->v, v->factor, v->values, v->flags, v->work);
    device_pinned_free(v->host_flags);
    memory_free(v->host_v, v->host_values);
    device_free(d->extrapolate_partial);
    for (int i = 0; i < DEVICE_DENSE_PASSES; i++)
        device_event_destroy(d->passed[i]);
    device_free(d->partial, d->inner, d->system);
    memory_free(d);
}

bool device_dense_run_ahead(struct device_dense *d, int *halt)
{
    bool able = d->rank <= DENSE_INVERSE_SMALL && !d->wide;
    d->inverse.halt = (struct dense_halt){able ? halt : NULL, 0};
    return able && halt;
}

bool device_dense_singular(const struct device_dense *d)
{
    return d->inverse.by_eigenvectors;
}

double device_dense_reciprocal(const struct device_dense *d)
{
    return d->inverse.by_eigenvectors ? d->inverse.reciprocal : 1;
}

enum status device_dense_inverse(struct device_dense *d, const struct dense_modes *modes,
                                 double ridge, double *w, struct error *error)
{
    struct inverse *v = &d->inverse;
    const cudaStream_t stream = d->place.side;
    const bool is_large = d->rank > DENSE_INVERSE_SMALL;
    v->halt.code++;
    v->by_eigenvectors = false;
    if (is_large)
        TRY(invert_large(v, modes, ridge, w, stream, error));
    else
        TRY(cuda_status(dense_inverse_small(modes, ridge, least_pivot(v), v->v, w,
                                            v->flags + FLAG_STATUS, v->halt, stream),
                        inverting, error));
    if (v->halt.halt)
        return STATUS_OK;
    TRY(fetch_flags(v, stream, error));
    v->by_eigenvectors = v->host_flags[FLAG_STATUS] == DENSE_INVERSE_SINGULAR;
    if (!v->by_eigenvectors)
        return STATUS_OK;
    TRY(cuda_status(dense_inverse_equilibrate(v->v, v->rank, v->factor, stream),
                    "eigendecomposition", error));
    TRY((is_large ? decompose_large : decompose_small)(v, stream, error));
    TRY(find_reciprocal(v, stream, error));
    return cuda_status(dense_inverse_eigenvectors(modes, v->v, v->factor, v->values,
                                                  eigenvalue_tolerance(v), w, stream),
                       "eigenvectors", error);
}

/* *streams = those of a pass that begins now, with the event that is recorded after it. */
static enum status next_pass(struct device_dense *d, struct dense_streams *streams,
                             struct error *error)
{
    d->turn = (d->turn + 1) % DEVICE_DENSE_PASSES;
    cudaEvent_t *passed = &d->passed[d->turn];
    cudaError_t code = *passed ? cudaSuccess : device_event_create_timed(passed);
    *streams = (struct dense_streams){d->place.pass, d->place.side, *passed};
    return cuda_status(code, "an event", error);
}

cudaEvent_t device_dense_passed(const struct device_dense *d)
{
    return d->passed[d->turn];
}

/* Later work on the side stream waits for the pass. */
static enum status join(const struct dense_streams *streams, struct error *error)
{
    return cuda_status(dense_streams_join(streams), "solve", error);
}

/* A = M W and raw = A' A; M may be A. */
static enum status multiply(struct device_dense *d, const struct device_dense_rows *rows,
                            const double *w, const struct dense_streams *streams,
                            struct error *error)
{
    if (d->wide) {
        const struct wide *b = &d->by_blas;
        const size_t row = b->rank * sizeof(double), padded = b->ld * sizeof(double);
        cudaError_t code = cudaMemcpy2DAsync(b->padded_w, padded, w, row, row, b->rank,
                                             cudaMemcpyDeviceToDevice, b->stream);
        TRY(cuda_status(code, "padding W", error));
        TRY(by_panels(b, rows, error));
        return join(streams, error);
    }
    const struct dense_apply_args args = {.m = rows->m,
                                          .w = w,
                                          .a = rows->a,
                                          .rows = rows->count,
                                          .ld = (uint32_t)d->ld,
                                          .rank = d->rank,
                                          .partial = d->partial,
                                          .blocks = d->solve_blocks,
                                          .raw = rows->raw,
                                          .inner = d->inner,
                                          .halt = d->inverse.halt.halt};
    return cuda_status(dense_apply(&args, d->precision, streams), "solve", error);
}

/* A = (M W) Q'; Q' is d->inverse.factor. Sums are made on the stream of the pass, where
 * device_dense_inner overwrites their parts. */
static enum status multiply_twice(struct device_dense *d, const struct device_dense_rows *rows,
                                  const double *w, const struct dense_streams *streams,
                                  struct error *error)
{
    const struct dense_streams alone = {d->place.pass, d->place.pass, NULL};
    const struct device_dense_rows in_place = {rows->a, rows->a, rows->count, rows->raw};
    TRY(multiply(d, rows, w, &alone, error));
    TRY(multiply(d, &in_place, d->inverse.factor, &alone, error));
    return join(streams, error);
}

enum status device_dense_apply(struct device_dense *d, const struct device_dense_rows *rows,
                               const double *w, struct error *error)
{
    struct dense_streams streams;
    d->solved = *rows;
    d->products_known = !d->wide && !d->inverse.by_eigenvectors;
    TRY(next_pass(d, &streams, error));
    return (d->inverse.by_eigenvectors ? multiply_twice : multiply)(d, rows, w, &streams, error);
}

enum status device_dense_open_nonneg(struct device_dense *d, struct error *error)
{
    if (d->rank > DENSE_NONNEG_RANK)
        return error_set(error, STATUS_INPUT,
                         "rank %u, expected at most %d on a GPU where a mode is nonnegative",
                         d->rank, DENSE_NONNEG_RANK);
    return device_array_into(&d->system, dense_nonneg_system_size(d->rank), sizeof *d->system,
                             error);
}

enum status device_dense_prepare_nonneg(struct device_dense *d, const struct dense_modes *modes,
                                        double ridge, const double *lambda, uint64_t rows,
                                        struct error *error)
{
    d->inverse.halt.code++;
    d->inverse.by_eigenvectors = false;
    return cuda_status(dense_nonneg_prepare(modes, ridge, lambda, rows, d->precision, d->system,
                                            d->inverse.halt.halt, d->place.side),
                       "V of nonnegative rows", error);
}

enum status device_dense_apply_nonneg(struct device_dense *d, const struct device_dense_rows *rows,
                                      bool fit_rows, struct error *error)
{
    struct dense_streams streams;
    d->solved = *rows;
    d->products_known = dense_nonneg_sums(d->rank);
    TRY(next_pass(d, &streams, error));
    const struct dense_nonneg_args args = {.m = rows->m,
                                           .a = rows->a,
                                           .rows = rows->count,
                                           .ld = (uint32_t)d->ld,
                                           .rank = d->rank,
                                           .fit_rows = fit_rows,
                                           .system = d->system,
                                           .processors = d->processors,
                                           .partial = d->partial,
                                           .blocks = d->solve_blocks,
                                           .raw = rows->raw,
                                           .inner = d->inner,
                                           .halt = d->inverse.halt.halt};
    TRY(cuda_status(dense_nonneg(&args, d->precision, &streams), "nonnegative rows", error));
    if (d->products_known)
        return STATUS_OK;
    TRY(device_dense_gram(d, rows, error));
    return join(&streams, error);
}

static const char extrapolating[] = "extrapolation";

enum status device_dense_open_extrapolate(struct device_dense *d, struct error *error)
{
    if (d->wide)
        return STATUS_OK;
    TRY(cuda_status(dense_extrapolate_blocks(d->ld, d->precision, &d->extrapolate_blocks),
                    extrapolating, error));
    const uint64_t most = d->extrapolate_blocks > MAX_ORDER ? d->extrapolate_blocks : MAX_ORDER;
    return device_array_into(&d->extrapolate_partial, most * dense_apply_partial(d->ld),
                             sizeof *d->extrapolate_partial, error);
}

enum status device_dense_extrapolate(struct device_dense *d,
                                     const struct dense_extrapolate_args *args, double *raw,
                                     struct error *error)
{
    struct dense_streams streams;
    TRY(next_pass(d, &streams, error));
    if (!d->wide)
        return cuda_status(dense_extrapolate_gram(args, d->precision, d->extrapolate_partial,
                                                  d->extrapolate_blocks, raw, &streams),
                           extrapolating, error);
    const uint64_t row_bytes = d->ld * precision_bytes(d->precision);
    TRY(cuda_status(dense_extrapolate(args, d->precision, streams.pass), extrapolating, error));
    for (int n = 0; n < args->modes; n++) {
        const struct dense_extrapolate_mode *mode = &args->mode[n];
        const struct device_dense_rows rows = {.a = (char *)mode->s + mode->first * row_bytes,
                                               .count = mode->count,
                                               .raw = raw + (uint64_t)n * d->rank * d->rank};
        TRY(by_panels(&d->by_blas, &rows, error));
    }
    return cuda_status(dense_streams_join(&streams), extrapolating, error);
}

enum status device_dense_gram(struct device_dense *d, const struct device_dense_rows *rows,
                              struct error *error)
{
    const struct device_dense_rows of_a = {.a = rows->a, .count = rows->count, .raw = rows->raw};
    if (d->wide)
        return by_panels(&d->by_blas, &of_a, error);
    const struct dense_apply_args args = {.m = rows->a,
                                          .rows = rows->count,
                                          .ld = (uint32_t)d->ld,
                                          .rank = d->rank,
                                          .partial = d->partial,
                                          .blocks = d->solve_blocks,
                                          .raw = rows->raw};
    const struct dense_streams alone = {d->place.pass, d->place.pass, NULL};
    return cuda_status(dense_apply(&args, d->precision, &alone), "Gram", error);
}

enum status device_dense_inner(struct device_dense *d, const double **inner, struct error *error)
{
    const struct device_dense_rows *rows = &d->solved;
    struct dense_streams streams;
    *inner = d->inner;
    if (d->products_known)
        return STATUS_OK;
    TRY(next_pass(d, &streams, error));
    TRY(cuda_status(dense_inner(rows->m, rows->a, rows->count, d->ld, d->rank, d->precision,
                                d->partial, d->inner_blocks, d->inner, d->place.pass),
                    "fit", error));
    return join(&streams, error);
}
