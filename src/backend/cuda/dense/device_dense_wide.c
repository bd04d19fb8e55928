/* A row-major matrix is its transpose in cuBLAS's eyes: A = M W is asked for as A' = W' M'. */
#include "backend/cuda/dense/device_dense_wide.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "kernels/dense/dense_sums.h"

#define SLICE_BYTES ((uint64_t)32 << 20) /* of doubles: A's slice is still in L2 for its Gram */
#define TILE        64                   /* about what cuBLAS gives one thread block of C     */
#define GRAM_TILES  512                  /* such thread blocks that fill any card             */
#define MOST_BATCH  128

enum status device_dense_wide_open(struct device_dense_wide *w, uint64_t rank, uint64_t ld,
                                   int single, struct error *error)
{
    const uint64_t tiles = (rank + TILE - 1) / TILE;
    const uint64_t batch = GRAM_TILES / (tiles * tiles);
    *w = (struct device_dense_wide){.rank = rank, .ld = ld, .single = single};
    w->batch = batch < 1 ? 1 : batch > MOST_BATCH ? MOST_BATCH : batch;
    w->batch_rows = SLICE_BYTES / (sizeof(double) * ld * w->batch) + 1;

    const uint64_t slice = w->batch * w->batch_rows * ld;
    enum status status = cublas_status(cublasCreate(&w->blas), "starting cuBLAS", error);
    if (status == STATUS_OK)
        status = device_array_into(&w->weights, rank * ld, sizeof *w->weights, error);
    if (status == STATUS_OK)
        status = cuda_status(cudaMemset(w->weights, 0, rank * ld * sizeof(double)),
                             "room for the weights", error);
    if (status == STATUS_OK)
        status = device_array_into(&w->grams, w->batch * rank * rank, sizeof *w->grams, error);
    if (status == STATUS_OK && single)
        status = device_array_into(&w->m, slice, sizeof *w->m, error);
    if (status == STATUS_OK && single)
        status = device_array_into(&w->a, slice, sizeof *w->a, error);
    return status;
}

void device_dense_wide_close(struct device_dense_wide *w)
{
    if (w->blas)
        cublasDestroy(w->blas);
    device_free(w->weights);
    device_free(w->grams);
    device_free(w->m);
    device_free(w->a);
    *w = (struct device_dense_wide){0};
}

/* Grams += A' A of a slice of `rows` rows, the b-th piece of it into the b-th Gram. */
static enum status add_grams(struct device_dense_wide *w, const double *a, uint64_t rows,
                             struct error *error)
{
    const double one = 1;
    const int rank = (int)w->rank, ld = (int)w->ld;
    const uint64_t full = rows / w->batch_rows, rest = rows % w->batch_rows;
    const long long step = (long long)(w->batch_rows * w->ld);
    enum status status = STATUS_OK;
    if (full)
        status = cublas_status(cublasDgemmStridedBatched(w->blas, CUBLAS_OP_N, CUBLAS_OP_T, rank,
                                                         rank, (int)w->batch_rows, &one, a, ld,
                                                         step, a, ld, step, &one, w->grams, rank,
                                                         (long long)(w->rank * w->rank), (int)full),
                               "Gram", error);
    if (status == STATUS_OK && rest) {
        const double *last = a + full * w->batch_rows * w->ld;
        status = cublas_status(cublasDgemm(w->blas, CUBLAS_OP_N, CUBLAS_OP_T, rank, rank, (int)rest,
                                           &one, last, ld, last, ld, &one,
                                           w->grams + full * w->rank * w->rank, rank),
                               "Gram", error);
    }
    return status;
}

/* Rows [first, first + rows) of M -> those of A. *a_slice are A's as doubles. */
static enum status solve_slice(struct device_dense_wide *w, const void *m, void *a, uint64_t first,
                               uint64_t rows, const double **a_slice, cudaStream_t stream,
                               struct error *error)
{
    const double one = 1, zero = 0;
    const uint64_t from = first * w->ld, entries = rows * w->ld;
    const double *in = w->single ? w->m : (const double *)m + from;
    double *out = w->single ? w->a : (double *)a + from;
    enum status status = STATUS_OK;
    if (w->single)
        status = cuda_status(dense_widen((const float *)m + from, w->m, entries, stream),
                             "widening M", error);
    if (status == STATUS_OK)
        status = cublas_status(cublasDgemm(w->blas, CUBLAS_OP_N, CUBLAS_OP_N, (int)w->ld, (int)rows,
                                           (int)w->rank, &one, w->weights, (int)w->ld, in,
                                           (int)w->ld, &zero, out, (int)w->ld),
                               "solve", error);
    if (status == STATUS_OK && w->single)
        status = cuda_status(dense_narrow(w->a, (float *)a + from, entries, stream), "narrowing A",
                             error);
    *a_slice = out;
    return status;
}

/* The same for a Gram alone: nothing to compute. */
static enum status load_slice(struct device_dense_wide *w, const void *a, uint64_t first,
                              uint64_t rows, const double **a_slice, cudaStream_t stream,
                              struct error *error)
{
    const uint64_t from = first * w->ld;
    *a_slice = w->single ? w->a : (const double *)a + from;
    if (!w->single)
        return STATUS_OK;
    return cuda_status(dense_widen((const float *)a + from, w->a, rows * w->ld, stream),
                       "widening A", error);
}

/* Slice after slice, each with its Gram. With m NULL A is there already. */
static enum status by_slices(struct device_dense_wide *w, const void *m, void *target,
                             const void *a, uint64_t rows, double *raw, cudaStream_t stream,
                             struct error *error)
{
    const uint64_t slice = w->batch * w->batch_rows;
    enum status status = cublas_status(cublasSetStream(w->blas, stream), "cuBLAS", error);
    if (status == STATUS_OK)
        status = cuda_status(
            cudaMemsetAsync(w->grams, 0, w->batch * w->rank * w->rank * sizeof(double), stream),
            "Gram", error);
    for (uint64_t first = 0; first < rows && status == STATUS_OK; first += slice) {
        const uint64_t n = rows - first < slice ? rows - first : slice;
        const double *a_slice;
        status = m ? solve_slice(w, m, target, first, n, &a_slice, stream, error)
                   : load_slice(w, a, first, n, &a_slice, stream, error);
        if (status == STATUS_OK)
            status = add_grams(w, a_slice, n, error);
    }
    if (status == STATUS_OK)
        status = cuda_status(
            dense_sum_grams(w->grams, (uint32_t)w->batch, (uint32_t)w->rank, raw, stream), "Gram",
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
    return by_slices(w, m, a, NULL, rows, raw, stream, error);
}

enum status device_dense_wide_gram(struct device_dense_wide *w, const void *a, uint64_t rows,
                                   double *raw, cudaStream_t stream, struct error *error)
{
    return by_slices(w, NULL, NULL, a, rows, raw, stream, error);
}
