/* To cuBLAS a row-major matrix is its transpose: A = M W is computed as A' = W' M'. */
#include "backend/cuda/dense/device_dense_wide.h"

#include <stdbool.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/memory.h"
#include "kernels/dense/dense_sums.h"

#define PANEL_BYTES                                                                                \
    ((uint64_t)32 << 20) /* of doubles: A's panel is still in the L2 cache for its Gram */
#define TILE       64    /* about what cuBLAS gives one thread block of C     */
#define GRAM_TILES 512   /* such thread blocks that fill any GPU              */
#define MOST_PARTS 128

enum status device_dense_wide_open(struct device_dense_wide *w, uint64_t rank, uint64_t ld,
                                   enum precision precision, cudaStream_t stream,
                                   struct error *error)
{
    const uint64_t tiles = (rank + TILE - 1) / TILE;
    const uint64_t parts = GRAM_TILES / (tiles * tiles);
    *w = (struct device_dense_wide){
        .stream = stream, .rank = rank, .ld = ld, .precision = precision};
    w->parts = parts < 1 ? 1 : parts > MOST_PARTS ? MOST_PARTS : parts;
    w->part_rows = PANEL_BYTES / (sizeof(double) * ld * w->parts) + 1;

    const uint64_t panel = w->parts * w->part_rows * ld;
    w->cublas = cublas_library(error);
    if (!w->cublas)
        return error->status;
    TRY(cublas_status(memory_hook_fails() ? CUBLAS_STATUS_ALLOC_FAILED
                                          : w->cublas->create(&w->blas),
                      "starting cuBLAS", error));
    TRY(device_array_into(&w->padded_w, rank * ld, sizeof *w->padded_w, error));
    TRY(cuda_status(cudaMemset(w->padded_w, 0, rank * ld * sizeof(double)), "room for W", error));
    TRY(cuda_status(cudaStreamSynchronize(NULL), "room for W", error));
    TRY(device_array_into(&w->grams, w->parts * rank * rank, sizeof *w->grams, error));
    if (precision == PRECISION_DOUBLE)
        return STATUS_OK;
    TRY(device_array_into(&w->m, panel, sizeof *w->m, error));
    return device_array_into(&w->a, panel, sizeof *w->a, error);
}

void device_dense_wide_close(struct device_dense_wide *w)
{
    if (w->blas)
        w->cublas->destroy(w->blas);
    device_free(w->padded_w);
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

/* Rows [first, first + count) of A = those of M, times W. *a_panel = these rows of A as doubles. */
static enum status solve_panel(struct device_dense_wide *w, const struct device_dense_rows *rows,
                               uint64_t first, uint64_t count, const double **a_panel,
                               struct error *error)
{
    const bool single = w->precision == PRECISION_SINGLE;
    const double one = 1, zero = 0;
    const int ld = (int)w->ld;
    const uint64_t from = first * w->ld, entries = count * w->ld;
    const double *in = single ? w->m : (const double *)rows->m + from;
    double *out = single ? w->a : (double *)rows->a + from;
    *a_panel = out;
    if (single)
        TRY(cuda_status(dense_widen((const float *)rows->m + from, w->m, entries, w->stream),
                        "widening M", error));
    TRY(cublas_status(w->cublas->dgemm(w->blas, CUBLAS_OP_N, CUBLAS_OP_N, ld, (int)count,
                                       (int)w->rank, &one, w->padded_w, ld, in, ld, &zero, out, ld),
                      "solve", error));
    if (!single)
        return STATUS_OK;
    return cuda_status(dense_narrow(w->a, (float *)rows->a + from, entries, w->stream),
                       "narrowing A", error);
}

/* *a_panel = rows [first, first + count) of A as doubles. */
static enum status load_panel(struct device_dense_wide *w, const struct device_dense_rows *rows,
                              uint64_t first, uint64_t count, const double **a_panel,
                              struct error *error)
{
    const bool single = w->precision == PRECISION_SINGLE;
    const uint64_t from = first * w->ld;
    *a_panel = single ? w->a : (const double *)rows->a + from;
    if (!single)
        return STATUS_OK;
    return cuda_status(dense_widen((const float *)rows->a + from, w->a, count * w->ld, w->stream),
                       "widening A", error);
}

/* Panel after panel, each with its Gram: solved, or with M NULL only loaded. */
static enum status by_panels(struct device_dense_wide *w, const struct device_dense_rows *rows,
                             struct error *error)
{
    const uint64_t panel = w->parts * w->part_rows;
    const size_t bytes = w->parts * w->rank * w->rank * sizeof(double);
    TRY(cublas_status(w->cublas->set_stream(w->blas, w->stream), "cuBLAS", error));
    TRY(cuda_status(cudaMemsetAsync(w->grams, 0, bytes, w->stream), "Gram", error));
    for (uint64_t first = 0; first < rows->count; first += panel) {
        const uint64_t left = rows->count - first, n = left < panel ? left : panel;
        const double *a;
        if ((rows->m ? solve_panel : load_panel)(w, rows, first, n, &a, error) != STATUS_OK)
            return error->status;
        TRY(add_grams(w, a, n, error));
    }
    return cuda_status(
        dense_sum_grams(w->grams, (uint32_t)w->parts, (uint32_t)w->rank, rows->raw, w->stream),
        "Gram", error);
}

enum status device_dense_wide_solve(struct device_dense_wide *w,
                                    const struct device_dense_rows *rows, const double *matrix,
                                    struct error *error)
{
    const size_t row = w->rank * sizeof(double), padded = w->ld * sizeof(double);
    cudaError_t code = cudaMemcpy2DAsync(w->padded_w, padded, matrix, row, row, w->rank,
                                         cudaMemcpyDeviceToDevice, w->stream);
    TRY(cuda_status(code, "padding W", error));
    return by_panels(w, rows, error);
}

enum status device_dense_wide_gram(struct device_dense_wide *w,
                                   const struct device_dense_rows *rows, struct error *error)
{
    const struct device_dense_rows of_a = {.a = rows->a, .count = rows->count, .raw = rows->raw};
    return by_panels(w, &of_a, error);
}
