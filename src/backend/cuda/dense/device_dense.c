#include "backend/cuda/dense/device_dense.h"

#include "backend/cuda/dense/device_dense_extrapolate.h"
#include "backend/cuda/dense/device_dense_nonneg.h"
#include "backend/cuda/dense/device_dense_inverse.h"
#include "backend/cuda/dense/device_dense_wide.h"
#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "base/memory.h"
#include "kernels/dense/dense_apply.h"
#include "kernels/dense/dense_sums.h"

#define PANEL_ROWS 65536 /* that are multiplied by the eigenvectors at a time */

#define MOST_RANK    32768 /* R x R matrices and cuSOLVER's int sizes */
#define INNER_BLOCKS 8     /* thread blocks of dense_inner for each multiprocessor */

struct device_dense {
    uint32_t rank;
    uint64_t ld;
    enum precision precision;

    /* used on the stream of passes */
    int wide;                         /* rows are too long for dense_apply */
    struct device_dense_wide by_blas; /* where wide                    */
    uint32_t solve_blocks, inner_blocks;
    double *partial;    /* results of solve_blocks or inner_blocks thread blocks; device, owned */
    double *inner;      /* (R): diagonal of M' A of the last solve; device, owned               */
    int products_known; /* whether `inner` holds that diagonal */
    cudaEvent_t passed[DEVICE_DENSE_PASSES]; /* recorded behind passes, by turns; owned; NULL until
                                              * it is used */
    int turn;                                /* the one recorded last */
    const void *solved_m, *solved_a;
    uint64_t solved_rows;

    struct device_dense_inverse weights;         /* used on the stream of R x R work */
    struct device_dense_nonneg nonneg;           /* likewise; its rows on the stream of passes */
    struct device_dense_extrapolate extrapolate; /* used on the stream of passes       */
};

/* The numbers of thread blocks in passes over a factor, and room for their partial results. */
static enum status passes_open(struct device_dense *d, int device, struct error *error)
{
    int multiprocessors;
    enum status status =
        device_attribute(device, cudaDevAttrMultiProcessorCount, &multiprocessors, error);
    if (status != STATUS_OK)
        return status;
    d->inner_blocks = (uint32_t)multiprocessors * INNER_BLOCKS;
    uint64_t partial = (uint64_t)d->inner_blocks * d->rank;
    if (d->wide) {
        status = device_dense_wide_open(&d->by_blas, d->rank, d->ld, d->precision, error);
    } else {
        status = cuda_status(dense_apply_blocks(device, d->ld, d->precision, &d->solve_blocks),
                             "the solve's kernel", error);
        if (status == STATUS_OK && d->solve_blocks * dense_apply_partial(d->ld) > partial)
            partial = d->solve_blocks * dense_apply_partial(d->ld);
    }
    if (status == STATUS_OK)
        status = device_array_into(&d->partial, partial, sizeof *d->partial, error);
    if (status == STATUS_OK)
        status = device_array_into(&d->inner, d->rank, sizeof *d->inner, error);
    return status;
}

enum status device_dense_open(struct device_dense **opened, int device, uint64_t rank, uint64_t ld,
                              enum precision precision, struct error *error)
{
    *opened = NULL;
    if (rank > MOST_RANK)
        return error_set(error, STATUS_INPUT, "rank %llu, expected at most %d on a GPU",
                         (unsigned long long)rank, MOST_RANK);
    struct device_dense *d = memory_zeros(1, sizeof *d, error);
    if (!d)
        return STATUS_MEMORY;
    d->rank = (uint32_t)rank;
    d->ld = ld;
    d->precision = precision;
    d->wide = ld > DENSE_SOLVE_LD;
    enum status status = passes_open(d, device, error);
    if (status == STATUS_OK)
        status = device_dense_inverse_open(&d->weights, d->rank, precision, error);
    if (status != STATUS_OK) {
        device_dense_close(d);
        return status;
    }
    *opened = d;
    return STATUS_OK;
}

void device_dense_close(struct device_dense *d)
{
    if (!d)
        return;
    device_dense_wide_close(&d->by_blas);
    device_dense_inverse_close(&d->weights);
    device_dense_nonneg_close(&d->nonneg);
    device_dense_extrapolate_close(&d->extrapolate);
    for (int i = 0; i < DEVICE_DENSE_PASSES; i++)
        device_event_destroy(d->passed[i]);
    device_free(d->partial);
    device_free(d->inner);
    memory_free(d);
}

static struct dense_modes modes_of(const struct device_dense *d, int order, int mode,
                                   const double *const *gram, const double *const *norm)
{
    struct dense_modes modes = {.order = order, .mode = mode, .rank = d->rank};
    for (int m = 0; m < order; m++) {
        modes.gram[m] = gram[m];
        modes.norm[m] = norm[m];
    }
    return modes;
}

bool device_dense_run_ahead(struct device_dense *d, int *halt)
{
    bool able = d->rank <= DENSE_WEIGHTS_SMALL && !d->wide;
    d->weights.halt = (struct dense_halt){able ? halt : NULL, 0};
    return able && halt;
}

bool device_dense_singular(const struct device_dense *d)
{
    return d->weights.by_eigenvectors;
}

enum status device_dense_inverse(struct device_dense *d, int order, int mode,
                                 const double *const *gram, const double *const *norm, double ridge,
                                 double *w, cudaStream_t stream, struct error *error)
{
    const struct dense_modes modes = modes_of(d, order, mode, gram, norm);
    return device_dense_inverse_compute(&d->weights, &modes, ridge, w, stream, error);
}

/* *streams = those of a pass on `stream` that begins now, with the event that is to stand behind
 * the pass. */
static enum status next_pass(struct device_dense *d, cudaStream_t stream, cudaStream_t sums,
                             struct dense_streams *streams, struct error *error)
{
    d->turn = (d->turn + 1) % DEVICE_DENSE_PASSES;
    cudaEvent_t *passed = &d->passed[d->turn];
    cudaError_t code = *passed ? cudaSuccess : device_event_create_timed(passed);
    *streams = (struct dense_streams){stream, sums, *passed};
    return cuda_status(code, "an event", error);
}

cudaEvent_t device_dense_passed(const struct device_dense *d)
{
    return d->passed[d->turn];
}

/* Later work on the stream of sums waits for the pass. */
static enum status join(const struct dense_streams *streams, struct error *error)
{
    return cuda_status(dense_streams_join(streams), "solve", error);
}

/* A (rows x ld) = M W and raw = A' A. */
static enum status multiply(struct device_dense *d, const void *m, const double *w, void *a,
                            uint64_t rows, double *raw, const struct dense_streams *streams,
                            struct error *error)
{
    if (d->wide) {
        enum status status =
            device_dense_wide_solve(&d->by_blas, m, w, a, rows, raw, streams->pass, error);
        return status == STATUS_OK ? join(streams, error) : status;
    }
    const struct dense_apply_args args = {.m = m,
                                          .w = w,
                                          .a = a,
                                          .rows = rows,
                                          .ld = (uint32_t)d->ld,
                                          .rank = d->rank,
                                          .partial = d->partial,
                                          .blocks = d->solve_blocks,
                                          .raw = raw,
                                          .inner = d->inner,
                                          .halt = d->weights.halt.halt};
    return cuda_status(dense_apply(&args, d->precision, streams), "solve", error);
}

/* A = (M W) Q', panel by panel of rows; Q' is the weights' `factor`. */
static enum status multiply_twice(struct device_dense *d, const void *m, const double *w, void *a,
                                  uint64_t rows, double *raw, const struct dense_streams *streams,
                                  struct error *error)
{
    const uint64_t row_bytes = d->ld * precision_bytes(d->precision);
    const cudaStream_t stream = streams->pass;
    const struct dense_streams alone = {stream, stream, NULL};
    void *panel;
    cudaError_t code = memory_hook_fails()
                           ? cudaErrorMemoryAllocation
                           : cudaMallocAsync(&panel, PANEL_ROWS * row_bytes, stream);
    enum status status = cuda_status(code, "solve", error);
    if (status != STATUS_OK)
        return status;
    for (uint64_t i = 0; i < rows && status == STATUS_OK; i += PANEL_ROWS) {
        const uint64_t count = rows - i < PANEL_ROWS ? rows - i : PANEL_ROWS;
        status = multiply(d, (const char *)m + i * row_bytes, w, panel, count, raw, &alone, error);
        if (status == STATUS_OK)
            status = multiply(d, panel, d->weights.factor, (char *)a + i * row_bytes, count, raw,
                              &alone, error);
    }
    cudaFreeAsync(panel, stream);
    if (status == STATUS_OK)
        status = device_dense_gram(d, a, rows, raw, stream, error);
    return status == STATUS_OK ? join(streams, error) : status;
}

enum status device_dense_apply(struct device_dense *d, const void *m, const double *w, void *a,
                               uint64_t rows, double *raw, cudaStream_t stream, cudaStream_t sums,
                               struct error *error)
{
    d->solved_m = m;
    d->solved_a = a;
    d->solved_rows = rows;
    d->products_known = !d->wide && !d->weights.by_eigenvectors;
    struct dense_streams streams;
    if (next_pass(d, stream, sums, &streams, error) != STATUS_OK)
        return error->status;
    return d->weights.by_eigenvectors ? multiply_twice(d, m, w, a, rows, raw, &streams, error)
                                      : multiply(d, m, w, a, rows, raw, &streams, error);
}

enum status device_dense_open_nonneg(struct device_dense *d, int device, struct error *error)
{
    return device_dense_nonneg_open(&d->nonneg, device, d->rank, d->ld, d->precision, error);
}

enum status device_dense_nonneg_weights(struct device_dense *d, int order, int mode,
                                        const double *const *gram, const double *const *norm,
                                        double ridge, const double *lambda, uint64_t rows,
                                        cudaStream_t stream, struct error *error)
{
    const struct dense_modes modes = modes_of(d, order, mode, gram, norm);
    d->weights.halt.code++;
    d->weights.by_eigenvectors = false;
    return device_dense_nonneg_prepare(&d->nonneg, &modes, ridge, lambda, rows,
                                       d->weights.halt.halt, stream, error);
}

enum status device_dense_apply_nonneg(struct device_dense *d, const void *m, void *a, uint64_t rows,
                                      bool fit_rows, double *raw, cudaStream_t stream,
                                      cudaStream_t sums, struct error *error)
{
    d->solved_m = m;
    d->solved_a = a;
    d->solved_rows = rows;
    d->products_known = dense_nonneg_sums(d->rank);
    struct dense_streams streams;
    if (next_pass(d, stream, sums, &streams, error) != STATUS_OK)
        return error->status;
    const struct dense_nonneg_args args = {.m = m,
                                           .a = a,
                                           .rows = rows,
                                           .fit_rows = fit_rows,
                                           .partial = d->partial,
                                           .blocks = d->solve_blocks,
                                           .raw = raw,
                                           .inner = d->inner,
                                           .halt = d->weights.halt.halt};
    enum status status = device_dense_nonneg_rows(&d->nonneg, &args, &streams, error);
    if (status != STATUS_OK || d->products_known)
        return status;
    if (device_dense_gram(d, a, rows, raw, stream, error) != STATUS_OK)
        return error->status;
    return join(&streams, error);
}

enum status device_dense_open_extrapolate(struct device_dense *d, int device, struct error *error)
{
    return device_dense_extrapolate_open(&d->extrapolate, device, d->ld, d->precision,
                                         d->wide ? &d->by_blas : NULL, error);
}

enum status device_dense_extrapolate(struct device_dense *d,
                                     const struct dense_extrapolate_args *asked, double *raw,
                                     cudaStream_t stream, cudaStream_t sums, struct error *error)
{
    struct dense_extrapolate_args args = *asked;
    struct dense_streams streams;
    args.ld = (uint32_t)d->ld;
    args.rank = d->rank;
    if (next_pass(d, stream, sums, &streams, error) != STATUS_OK)
        return error->status;
    return device_dense_extrapolate_rows(&d->extrapolate, &args, raw, &streams, error);
}

enum status device_dense_extrapolated(struct device_dense *d,
                                      const struct dense_extrapolate_args *asked, const double *raw,
                                      cudaStream_t stream, struct error *error)
{
    struct dense_extrapolate_args args = *asked;
    args.rank = d->rank;
    return cuda_status(dense_extrapolated_norms(&args, raw, stream), "extrapolation", error);
}

enum status device_dense_gram(struct device_dense *d, const void *a, uint64_t rows, double *raw,
                              cudaStream_t stream, struct error *error)
{
    if (d->wide)
        return device_dense_wide_gram(&d->by_blas, a, rows, raw, stream, error);
    const struct dense_apply_args args = {.m = a,
                                          .rows = rows,
                                          .ld = (uint32_t)d->ld,
                                          .rank = d->rank,
                                          .partial = d->partial,
                                          .blocks = d->solve_blocks,
                                          .raw = raw};
    const struct dense_streams streams = {stream, stream, NULL};
    return cuda_status(dense_apply(&args, d->precision, &streams), "Gram", error);
}

enum status device_dense_normalise(struct device_dense *d, const double *raw, double *norm,
                                   double *gram, int code, int *bad, cudaStream_t stream,
                                   struct error *error)
{
    return cuda_status(
        dense_normalise(raw, d->rank, norm, gram, code, bad, d->weights.halt.halt, stream),
        "normalise", error);
}

enum status device_dense_inner(struct device_dense *d, const double **inner, cudaStream_t stream,
                               cudaStream_t sums, struct error *error)
{
    *inner = d->inner;
    if (d->products_known)
        return STATUS_OK;
    struct dense_streams streams;
    if (next_pass(d, stream, sums, &streams, error) != STATUS_OK)
        return error->status;
    const cudaError_t code =
        dense_inner(d->solved_m, d->solved_a, d->solved_rows, d->ld, d->rank, d->precision,
                    d->partial, d->inner_blocks, d->inner, stream);
    return cuda_status(code, "fit", error) == STATUS_OK ? join(&streams, error) : error->status;
}

enum status device_dense_model(struct device_dense *d, int order, int mode, const double *inner,
                               const double *const *gram, const double *const *norm,
                               struct dense_fit_terms *terms, cudaStream_t stream,
                               struct error *error)
{
    const struct dense_modes modes = modes_of(d, order, mode, gram, norm);
    return cuda_status(dense_model(&modes, inner, terms, stream), "fit", error);
}
