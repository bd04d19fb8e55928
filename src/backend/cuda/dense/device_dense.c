#include "backend/cuda/dense/device_dense.h"

#include "backend/cuda/dense/device_dense_extrapolate.h"
#include "backend/cuda/dense/device_dense_inverse.h"
#include "backend/cuda/dense/device_dense_wide.h"
#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "base/memory.h"
#include "kernels/dense/dense_apply.h"
#include "kernels/dense/dense_nonneg.h"
#include "kernels/dense/dense_sums.h"

#define PANEL_ROWS 65536 /* that are multiplied by the eigenvectors at a time */

#define MOST_RANK    32768 /* R x R matrices and cuSOLVER's int sizes */
#define INNER_BLOCKS 8     /* thread blocks of dense_inner for each multiprocessor */

struct device_dense {
    struct device_dense_place place;
    uint32_t rank;
    uint64_t ld;
    enum precision precision;

    /* used on the stream of passes */
    int wide;                         /* rows are too long for dense_apply */
    struct device_dense_wide by_blas; /* where wide                    */
    uint32_t processors;              /* multiprocessors of the device */
    uint32_t solve_blocks, inner_blocks;
    double *partial;    /* results of solve_blocks or inner_blocks thread blocks; device, owned */
    double *inner;      /* (R): diagonal of M' A of the last solve; device, owned               */
    int products_known; /* whether `inner` holds that diagonal */
    cudaEvent_t passed[DEVICE_DENSE_PASSES]; /* recorded after passes, by turns; owned; NULL until
                                              * it is used */
    int turn;                                /* the one recorded last */
    struct device_dense_rows solved;         /* those of the last solve; raw is not used */
    struct device_dense_extrapolate extrapolate;

    struct device_dense_inverse inverse; /* used on the side stream */
    double *system; /* of dense_nonneg_prepare; NULL where no mode is nonnegative; device, owned */
};

/* The numbers of thread blocks in passes over a factor matrix, and room for their results. */
static enum status open_passes(struct device_dense *d, struct error *error)
{
    const int device = d->place.device;
    int multiprocessors;
    TRY(device_attribute(device, cudaDevAttrMultiProcessorCount, &multiprocessors, error));
    d->processors = (uint32_t)multiprocessors;
    d->inner_blocks = d->processors * INNER_BLOCKS;
    if (d->wide) {
        TRY(device_dense_wide_open(&d->by_blas, d->rank, d->ld, d->precision, d->place.pass,
                                   error));
    } else {
        TRY(cuda_status(dense_apply_blocks(device, d->ld, d->precision, &d->solve_blocks),
                        "the solve's kernel", error));
    }
    const uint64_t of_inner = (uint64_t)d->inner_blocks * d->rank;
    const uint64_t of_solve = d->wide ? 0 : d->solve_blocks * dense_apply_partial(d->ld);
    TRY(device_array_into(&d->partial, of_inner > of_solve ? of_inner : of_solve,
                          sizeof *d->partial, error));
    return device_array_into(&d->inner, d->rank, sizeof *d->inner, error);
}

enum status device_dense_open(struct device_dense **opened, const struct device_dense_place *place,
                              uint64_t rank, uint64_t ld, enum precision precision,
                              struct error *error)
{
    *opened = NULL;
    if (rank > MOST_RANK)
        return error_set(error, STATUS_INPUT, "rank %llu, expected at most %d on a GPU",
                         (unsigned long long)rank, MOST_RANK);
    struct device_dense *d = memory_zeros(1, sizeof *d, error);
    if (!d)
        return error->status;
    d->place = *place;
    d->rank = (uint32_t)rank;
    d->ld = ld;
    d->precision = precision;
    d->wide = ld > DENSE_SOLVE_LD;
    TRY_OR(failed, open_passes(d, error));
    TRY_OR(failed, device_dense_inverse_open(&d->inverse, d->rank, precision, error));
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
    device_dense_wide_close(&d->by_blas);
    device_dense_inverse_close(&d->inverse);
    device_dense_extrapolate_close(&d->extrapolate);
    for (int i = 0; i < DEVICE_DENSE_PASSES; i++)
        device_event_destroy(d->passed[i]);
    device_free(d->partial);
    device_free(d->inner);
    device_free(d->system);
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

enum status device_dense_inverse(struct device_dense *d, const struct dense_modes *modes,
                                 double ridge, double *w, struct error *error)
{
    return device_dense_inverse_compute(&d->inverse, modes, ridge, w, d->place.side, error);
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

/* A = M W and raw = A' A. */
static enum status multiply(struct device_dense *d, const struct device_dense_rows *rows,
                            const double *w, const struct dense_streams *streams,
                            struct error *error)
{
    if (d->wide) {
        TRY(device_dense_wide_solve(&d->by_blas, rows, w, error));
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

/* The rows of A = (M W) Q', by way of `panel`, which has room for them; Q' is d->inverse.factor. */
static enum status multiply_panel(struct device_dense *d, const struct device_dense_rows *rows,
                                  const double *w, void *panel, struct error *error)
{
    const struct dense_streams alone = {d->place.pass, d->place.pass, NULL};
    const struct device_dense_rows first = {rows->m, panel, rows->count, rows->raw};
    const struct device_dense_rows second = {panel, rows->a, rows->count, rows->raw};
    TRY(multiply(d, &first, w, &alone, error));
    return multiply(d, &second, d->inverse.factor, &alone, error);
}

/* A = (M W) Q', panel by panel of rows. */
static enum status multiply_twice(struct device_dense *d, const struct device_dense_rows *rows,
                                  const double *w, const struct dense_streams *streams,
                                  struct error *error)
{
    const uint64_t row_bytes = d->ld * precision_bytes(d->precision);
    const cudaStream_t stream = d->place.pass;
    void *panel;
    cudaError_t code = memory_hook_fails()
                           ? cudaErrorMemoryAllocation
                           : cudaMallocAsync(&panel, PANEL_ROWS * row_bytes, stream);
    TRY(cuda_status(code, "solve", error));
    for (uint64_t i = 0; i < rows->count; i += PANEL_ROWS) {
        const uint64_t left = rows->count - i;
        const struct device_dense_rows some = {.m = (const char *)rows->m + i * row_bytes,
                                               .a = (char *)rows->a + i * row_bytes,
                                               .count = left < PANEL_ROWS ? left : PANEL_ROWS,
                                               .raw = rows->raw};
        if (multiply_panel(d, &some, w, panel, error) != STATUS_OK)
            break;
    }
    cudaFreeAsync(panel, stream);
    TRY(error->status);
    TRY(device_dense_gram(d, rows, error));
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

enum status device_dense_open_extrapolate(struct device_dense *d, struct error *error)
{
    return device_dense_extrapolate_open(&d->extrapolate, d->place.device, d->ld, d->precision,
                                         d->wide ? &d->by_blas : NULL, error);
}

enum status device_dense_extrapolate(struct device_dense *d,
                                     const struct dense_extrapolate_args *asked, double *raw,
                                     struct error *error)
{
    struct dense_extrapolate_args args = *asked;
    struct dense_streams streams;
    args.ld = (uint32_t)d->ld;
    args.rank = d->rank;
    TRY(next_pass(d, &streams, error));
    return device_dense_extrapolate_rows(&d->extrapolate, &args, raw, &streams, error);
}

enum status device_dense_extrapolated(struct device_dense *d,
                                      const struct dense_extrapolate_args *asked, const double *raw,
                                      struct error *error)
{
    struct dense_extrapolate_args args = *asked;
    args.rank = d->rank;
    return cuda_status(dense_extrapolated_norms(&args, raw, d->place.side), "extrapolation", error);
}

enum status device_dense_gram(struct device_dense *d, const struct device_dense_rows *rows,
                              struct error *error)
{
    if (d->wide)
        return device_dense_wide_gram(&d->by_blas, rows, error);
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

enum status device_dense_normalise(struct device_dense *d, const struct dense_norms *to, int code,
                                   int *bad, struct error *error)
{
    return cuda_status(dense_normalise(to, d->rank, code, bad, d->inverse.halt.halt, d->place.side),
                       "normalise", error);
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

enum status device_dense_model(struct device_dense *d, const struct dense_modes *modes,
                               const double *inner, struct dense_fit_terms *terms,
                               struct error *error)
{
    return cuda_status(dense_model(modes, inner, terms, d->place.side), "fit", error);
}
