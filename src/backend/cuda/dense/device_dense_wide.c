/* A row-major matrix is its transpose in cuBLAS's eyes: A = M W is asked for as A' = W' M'. */
#include "backend/cuda/dense/device_dense_wide.h"

#include <stdbool.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/memory.h"
#include "kernels/dense/dense_sums.h"

#define PANEL_BYTES                                                                                \
    ((uint64_t)32 << 20) /* of doubles: A's panel is still in the L2 cache for its Gram */
#define TILE       64    /* about what cuBLAS gives one thread block of C     */
#define GRAM_TILES 512   /* such thread blocks that fill any card             */
#define MOST_PARTS 128

enum status device_dense_wide_open(struct device_dense_wide *w, uint64_t rank, uint64_t ld,
                                   enum precision precision, struct error *error)
{
    const uint64_t tiles = (rank + TILE - 1) / TILE;
    const uint64_t parts = GRAM_TILES / (tiles * tiles);
    *w = (struct device_dense_wide){.rank = rank, .ld = ld, .precision = precision};
    w->parts = parts < 1 ? 1 : parts > MOST_PARTS ? MOST_PARTS : parts;
    w->part_rows = PANEL_BYTES / (sizeof(double) * ld * w->parts) + 1;

    const uint64_t panel = w->parts * w->part_rows * ld;
    w->cublas = cublas_library(error);
    if (!w->cublas)
        return error->status;
    enum status status = cublas_status(memory_hook_fails() ? CUBLAS_STATUS_ALLOC_FAILED
                                                           : w->cublas->create(&w->blas),
                                       "starting cuBLAS", error);
    if (status == STATUS_OK)
        status = device_array_into(&w->weights, rank * ld, sizeof *w->weights, error);
    if (status == STATUS_OK)
        status = cuda_status(cudaMemset(w->weights, 0, rank * ld * sizeof(double)),
                             "room for the weights", error);
    if (status == STATUS_OK)
        status = device_array_into(&w->grams, w->parts * rank * rank, sizeof *w->grams, error);
    if (status == STATUS_OK && precision == PRECISION_SINGLE)
        status = device_array_into(&w->m, panel, sizeof *w->m, error);
    if (status == STATUS_OK && precision == PRECISION_SINGLE)
        status = device_array_into(&w->a, panel, sizeof *w->a, error);
    return status;
}

void device_dense_wide_close(struct device_dense_wide *w)
{
    if (w->blas)
        w->cublas->destroy(w->blas);
    device_free(w->weights);
    device_free(w->grams);
    device_free(w->m);
    device_free(w->a);
    *w = (struct device_dense_wide){0};
}

/* Grams += A' A of a panel of `rows` rows, the k-th part of it into the k-th Gram. */
static enum status add_grams(struct device_dense_wide *w, const double *a, uint64_t rows,
                             struct error *error)
{
    const double one = 1;
    const int rank = (int)w->rank, ld = (int)w->ld;
    const uint64_t full = rows / w->part_rows, rest = rows % w->part_rows;
    const long long step = (long long)(w->part_rows * w->ld);
    enum status status = STATUS_OK;
    if (full)
        status = cublas_status(w->cublas->dgemm_strided_batched(
                                   w->blas, CUBLAS_OP_N, CUBLAS_OP_T, rank, rank, (int)w->part_rows,
                                   &one, a, ld, step, a, ld, step, &one, w->grams, rank,
                                   (long long)(w->rank * w->rank), (int)full),
                               "Gram", error);
    if (status == STATUS_OK && rest) {
        const double *last = a + full * w->part_rows * w->ld;
        status = cublas_status(w->cublas->dgemm(w->blas, CUBLAS_OP_N, CUBLAS_OP_T, rank, rank,
                                                (int)rest, &one, last, ld, last, ld, &one,
                                                w->grams + full * w->rank * w->rank, rank),
                               "Gram", error);
    }
    return status;
}

/* Rows [first, first + rows) of A = those of M, times W. *a_panel = these rows of A as doubles. */
static enum status solve_panel(struct device_dense_wide *w, const void *m, void *a, uint64_t first,
                               uint64_t rows, const double **a_panel, cudaStream_t stream,
                               struct error *error)
{
    const bool single = w->precision == PRECISION_SINGLE;
    const double one = 1, zero = 0;
    const uint64_t from = first * w->ld, entries = rows * w->ld;
    const double *in = single ? w->m : (const double *)m + from;
    double *out = single ? w->a : (double *)a + from;
    enum status status = STATUS_OK;
    if (single)
        status = cuda_status(dense_widen((const float *)m + from, w->m, entries, stream),
                             "widening M", error);
    if (status == STATUS_OK)
        status = cublas_status(w->cublas->dgemm(w->blas, CUBLAS_OP_N, CUBLAS_OP_N, (int)w->ld,
                                                (int)rows, (int)w->rank, &one, w->weights,
                                                (int)w->ld, in, (int)w->ld, &zero, out, (int)w->ld),
                               "solve", error);
    if (status == STATUS_OK && single)
        status = cuda_status(dense_narrow(w->a, (float *)a + from, entries, stream), "narrowing A",
                             error);
    *a_panel = out;
    return status;
}

/* *a_panel = rows [first, first + rows) of A as doubles. */
static enum status load_panel(struct device_dense_wide *w, const void *a, uint64_t first,
                              uint64_t rows, const double **a_panel, cudaStream_t stream,
                              struct error *error)
{
    const bool single = w->precision == PRECISION_SINGLE;
    const uint64_t from = first * w->ld;
    *a_panel = single ? w->a : (const double *)a + from;
    if (!single)
        return STATUS_OK;
    return cuda_status(dense_widen((const float *)a + from, w->a, rows * w->ld, stream),
                       "widening A", error);
}

/* Panel after panel, each with its Gram. With m NULL, only the Gram of A. */
static enum status by_panels(struct device_dense_wide *w, const void *m, void *target,
                             const void *a, uint64_t rows, double *raw, cudaStream_t stream,
                             struct error *error)
{
    const uint64_t panel = w->parts * w->part_rows;
    enum status status = cublas_status(w->cublas->set_stream(w->blas, stream), "cuBLAS", error);
    if (status == STATUS_OK)
        status = cuda_status(
            cudaMemsetAsync(w->grams, 0, w->parts * w->rank * w->rank * sizeof(double), stream),
            "Gram", error);
    for (uint64_t first = 0; first < rows && status == STATUS_OK; first += panel) {
        const uint64_t n = rows - first < panel ? rows - first : panel;
        const double *a_panel;
        status = m ? solve_panel(w, m, target, first, n, &a_panel, stream, error)
                   : load_panel(w, a, first, n, &a_panel, stream, error);
        if (status == STATUS_OK)
            status = add_grams(w, a_panel, n, error);
    }
    if (status == STATUS_OK)
        status = cuda_status(
            dense_sum_grams(w->grams, (uint32_t)w->parts, (uint32_t)w->rank, raw, stream), "Gram",
            error);
    return status;
}

enum status device_dense_wide_solve(struct device_dense_wide *w, const void *m,
                                    const double *weights, void *a, uint64_t rows, double *raw,
                                    cudaStream_t stream, struct error *error)
{
    const size_t row = w->rank * sizeof(double);
    enum status status =
        cuda_status(cudaMemcpy2DAsync(w->weights, w->ld * sizeof(double), weights, row, row,
                                      w->rank, cudaMemcpyDeviceToDevice, stream),
                    "padding the weights", error);
    if (status != STATUS_OK)
        return status;
    return by_panels(w, m, a, NULL, rows, raw, stream, error);
}

enum status device_dense_wide_gram(struct device_dense_wide *w, const void *a, uint64_t rows,
                                   double *raw, cudaStream_t stream, struct error *error)
{
    return by_panels(w, NULL, NULL, a, rows, raw, stream, error);
}
