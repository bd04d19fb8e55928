/* R x R work. The small inverse is the sweep operator (Goodnight 1979): R pivots, each with one
 * rank-one update of the whole symmetric matrix, leave -V^-1. Its pivots are the squares of
 * Cholesky's, so it finds a V that is not positive definite just as well. */
#include "kernels/dense/dense_inverse.h"

#include <cfloat>

#include "kernels/dense/column_norm.cuh"
#include "kernels/dense/dense_modes.cuh"
#include "kernels/dense/early_load.cuh"
#include "numerics/column_scale.h"
#include "numerics/unrolled.cuh"

namespace
{

constexpr int SIDE = 16; /* threads along each side of the small kernel's matrix */
constexpr int MODEL_THREADS = 1024;

/* Whether a pivot is too small against V's diagonal entry, or not a finite number. */
__device__ bool bad_pivot(double pivot, double diagonal, double least)
{
    return !(pivot > least * diagonal && pivot <= DBL_MAX);
}

/* Thread (y, x) of 16 x 16 holds entries (y + 16 u, x + 16 v) in a[u][v]. */
template <int TILE> struct tile {
    double a[TILE][TILE];
    uint32_t x, y, rank;

    __device__ __forceinline__ uint32_t i(int u) const
    {
        return y + SIDE * (uint32_t)u;
    }
    __device__ __forceinline__ uint32_t j(int v) const
    {
        return x + SIDE * (uint32_t)v;
    }
    __device__ __forceinline__ bool inside(int u, int v) const
    {
        return i(u) < rank && j(v) < rank;
    }

    /* The loads of some modes at a time do not wait for each other. */
    __device__ void hadamard(const dense_modes &modes, double ridge)
    {
        constexpr int AT_ONCE = TILE < 3 ? MODES_AT_ONCE : MODES_AT_ONCE / 2;
        EACH_UNROLLED(u, TILE)
            EACH_UNROLLED(v, TILE)
                a[u][v] = inside(u, v) ? 1 : 0;
        for (int first = 0; first < modes.order; first += AT_ONCE) {
            double x[AT_ONCE][TILE][TILE];
            EACH_UNROLLED(k, AT_ONCE)
                EACH_UNROLLED(u, TILE)
                    EACH_UNROLLED(v, TILE)
                        x[k][u][v] = counts(modes, first + k, false) && inside(u, v)
                                         ? __ldg(&modes.gram[first + k][i(u) * rank + j(v)])
                                         : 1;
            EACH_UNROLLED(k, AT_ONCE)
                EACH_UNROLLED(u, TILE)
                    EACH_UNROLLED(v, TILE)
                        a[u][v] *= x[k][u][v];
        }
        EACH_UNROLLED(u, TILE)
            EACH_UNROLLED(v, TILE)
                if (i(u) == j(v) && inside(u, v))
                    a[u][v] += ridge;
    }

    __device__ bool finite() const
    {
        bool all = true;
        EACH_UNROLLED(u, TILE)
            EACH_UNROLLED(v, TILE)
                all = all && isfinite(a[u][v]);
        return all;
    }

    __device__ void keep(double *kept, double *diagonal) const
    {
        EACH_UNROLLED(u, TILE)
            EACH_UNROLLED(v, TILE) {
                if (inside(u, v))
                    kept[i(u) * rank + j(v)] = a[u][v];
                if (i(u) == j(v))
                    diagonal[i(u)] = a[u][v];
            }
    }

    /* One pivot. `row` holds row k, which equals column k. */
    __device__ __forceinline__ void sweep(uint32_t k, const double *row, double inverse)
    {
        double row_i[TILE], row_j[TILE];
        EACH_UNROLLED(u, TILE) {
            row_i[u] = row[i(u)];
            row_j[u] = row[j(u)];
        }
        EACH_UNROLLED(u, TILE)
            EACH_UNROLLED(v, TILE)
                a[u][v] = fma(-(row_i[u] * row_j[v]), inverse, a[u][v]);
        EACH_UNROLLED(u, TILE) {
            if (i(u) == k)
                EACH_UNROLLED(v, TILE)
                    a[u][v] = row_j[v] * inverse;
            if (j(u) == k)
                EACH_UNROLLED(v, TILE)
                    a[v][u] = i(v) == k ? -inverse : row_i[v] * inverse;
        }
    }
};

template <int TILE>
__global__ void __launch_bounds__(SIDE *SIDE)
    small_kernel(const dense_modes modes, double ridge, double least, double *kept, double *w,
                 int *status, const dense_halt halt)
{
    __shared__ double scales[SIDE * TILE], diagonal[SIDE * TILE], row[2][SIDE * TILE];
    const uint32_t rank = modes.rank, thread = threadIdx.x;
    tile<TILE> v{{}, thread % SIDE, thread / SIDE, rank};
    v.hadamard(modes, ridge);
    v.keep(kept, diagonal);
    if (thread < rank)
        scales[thread] = scale(modes, thread);
    const bool finite = __syncthreads_and(v.finite());

    int result = finite ? DENSE_INVERSE_DONE : DENSE_INVERSE_NOT_FINITE;
    for (uint32_t k = 0; k < rank && result == DENSE_INVERSE_DONE; k++) {
        double *pivots = row[k % 2]; /* the other row may still be read */
        EACH_UNROLLED(i, TILE)
            if (v.i(i) == k)
                EACH_UNROLLED(j, TILE)
                    pivots[v.j(j)] = v.a[i][j];
        __syncthreads();
        if (bad_pivot(pivots[k], diagonal[k], least))
            result = DENSE_INVERSE_SINGULAR;
        else
            v.sweep(k, pivots, 1 / pivots[k]);
    }
    if (thread == 0) {
        *status = result;
        if (result == DENSE_INVERSE_SINGULAR && halt.halt)
            atomicCAS(halt.halt, 0, halt.code);
    }
    if (result == DENSE_INVERSE_SINGULAR)
        return;
    EACH_UNROLLED(i, TILE)
        EACH_UNROLLED(j, TILE)
            if (v.inside(i, j))
                w[v.i(i) * rank + v.j(j)] = finite ? -scales[v.i(i)] * v.a[i][j] : NAN;
}

__global__ void hadamard_kernel(const dense_modes modes, double ridge, double *v, double *factor)
{
    const uint64_t n = (uint64_t)modes.rank * modes.rank;
    const uint64_t e = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e < n) {
        const bool on_diagonal = e / modes.rank == e % modes.rank;
        factor[e] = v[e] = hadamard(modes, e, false) + (on_diagonal ? ridge : 0.0);
    }
}

/* One thread block. */
__global__ void check_kernel(const double *v, const double *factor, uint32_t rank, double least,
                             const int *info, int *status)
{
    const uint64_t n = (uint64_t)rank * rank;
    int finite = 1, definite = *info == 0;
    for (uint64_t e = threadIdx.x; e < n; e += blockDim.x)
        finite = finite && isfinite(v[e]);
    for (uint64_t k = threadIdx.x; k < rank; k += blockDim.x) {
        const double root = factor[k * rank + k];
        definite = definite && !bad_pivot(root * root, v[k * rank + k], least);
    }
    finite = __syncthreads_and(finite);
    definite = __syncthreads_and(definite);
    if (threadIdx.x == 0)
        *status = !finite    ? DENSE_INVERSE_NOT_FINITE
                  : definite ? DENSE_INVERSE_DONE
                             : DENSE_INVERSE_SINGULAR;
}

__global__ void finish_kernel(const dense_modes modes, const double *inverse, const int *status,
                              double *w)
{
    const uint64_t rank = modes.rank, e = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= rank * rank || *status == DENSE_INVERSE_SINGULAR)
        return;
    const uint64_t i = e / rank, j = e % rank;
    w[e] = *status == DENSE_INVERSE_DONE
               ? scale(modes, (uint32_t)i) * inverse[min(i, j) * rank + max(i, j)]
               : NAN;
}

__global__ void equilibrate_kernel(const double *v, uint32_t rank, double *scaled)
{
    const uint64_t n = rank, e = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e < n * n)
        scaled[e] = v[e] * column_unit_scale(v[e / n * n + e / n]) *
                    column_unit_scale(v[e % n * n + e % n]);
}

__global__ void eigenvectors_kernel(const dense_modes modes, const double *v, double *vectors,
                                    const double *values, double tolerance, double *w)
{
    const uint64_t rank = modes.rank, e = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= rank * rank)
        return;
    const uint64_t i = e / rank, k = e % rank;
    double largest = 0;
    for (uint64_t l = 0; l < rank; l++)
        largest = max(largest, values[l]);
    vectors[k * rank + i] *= column_unit_scale(v[i * rank + i]);
    w[e] = values[k] > tolerance * largest
               ? scale(modes, (uint32_t)i) * vectors[k * rank + i] / values[k]
               : 0.0;
}

__global__ void normalise_kernel(const dense_norms to, uint32_t rank, int code, int *bad,
                                 const int *halt)
{
    const uint32_t e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= rank * rank)
        return;
    const int halted = halt ? early_load(halt) : 0;
    const uint32_t i = e / rank, j = e % rank;
    const double entry = early_load(&to.raw[e]);
    const double norm_i = column_norm(to.sum, to.raw, rank, i);
    const double norm_j = column_norm(to.sum, to.raw, rank, j);
    if (halted)
        return;
    to.gram[e] = unit_gram(entry, i, j, norm_i, norm_j);
    if (i == j) {
        to.norm[i] = norm_i;
        if (!isfinite(norm_i))
            atomicCAS(bad, 0, code);
    }
}

/* One thread block. */
__global__ void __launch_bounds__(MODEL_THREADS)
    model_kernel(const dense_modes modes, const double *inner, dense_fit_terms *terms)
{
    enum { INNER, MODEL_SQ, INNER_SIZE, MODEL_SIZE, SUMS };
    __shared__ double of_warp[SUMS][MODEL_THREADS / 32], sum[SUMS];
    const uint32_t rank = modes.rank;
    const double *lambda = modes.norm[modes.mode];
    double x[SUMS] = {};
    for (uint32_t r = threadIdx.x; r < rank; r += MODEL_THREADS) {
        const double term = scale(modes, r) * inner[r];
        x[INNER] += term;
        x[INNER_SIZE] += fabs(term);
    }
    for (uint32_t e = threadIdx.x; e < rank * rank; e += MODEL_THREADS) {
        const double term = lambda[e / rank] * lambda[e % rank] * hadamard(modes, e, true);
        x[MODEL_SQ] += term;
        x[MODEL_SIZE] += fabs(term);
    }
    /* over the thread block, in a fixed order */
    static_assert(MODEL_THREADS / 32 == 32, "a lane for each warp");
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    EACH_UNROLLED(k, SUMS) {
        for (int step = 16; step > 0; step /= 2)
            x[k] += __shfl_down_sync(0xffffffffu, x[k], step);
        if (lane == 0)
            of_warp[k][warp] = x[k];
    }
    __syncthreads();
    if (warp < SUMS) {
        double y = of_warp[warp][lane];
        for (int step = 16; step > 0; step /= 2)
            y += __shfl_down_sync(0xffffffffu, y, step);
        if (lane == 0)
            sum[warp] = y;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        *terms = {sum[INNER], sum[MODEL_SQ], sum[INNER_SIZE], sum[MODEL_SIZE]};
}

} // namespace

cudaError_t dense_inverse_small(const struct dense_modes *modes, double ridge, double least,
                                double *v, double *w, int *status, struct dense_halt halt,
                                cudaStream_t stream)
{
    static_assert(DENSE_INVERSE_SMALL == 4 * SIDE, "the largest tile");
    const auto kernel = modes->rank <= SIDE       ? small_kernel<1>
                        : modes->rank <= 2 * SIDE ? small_kernel<2>
                        : modes->rank <= 3 * SIDE ? small_kernel<3>
                                                  : small_kernel<4>;
    return launch_kernel(kernel, 1, SIDE * SIDE, stream, *modes, ridge, least, v, w, status, halt);
}

cudaError_t dense_inverse_hadamard(const struct dense_modes *modes, double ridge, double *v,
                                   double *factor, cudaStream_t stream)
{
    return launch_kernel(hadamard_kernel, thread_blocks((uint64_t)modes->rank * modes->rank, 256),
                         256, stream, *modes, ridge, v, factor);
}

cudaError_t dense_inverse_check(const double *v, const double *factor, uint32_t rank, double least,
                                const int *info, int *status, cudaStream_t stream)
{
    return launch_kernel(check_kernel, 1, 1024, stream, v, factor, rank, least, info, status);
}

cudaError_t dense_inverse_finish(const struct dense_modes *modes, const double *inverse,
                                 const int *status, double *w, cudaStream_t stream)
{
    return launch_kernel(finish_kernel, thread_blocks((uint64_t)modes->rank * modes->rank, 256),
                         256, stream, *modes, inverse, status, w);
}

cudaError_t dense_inverse_equilibrate(const double *v, uint32_t rank, double *scaled,
                                      cudaStream_t stream)
{
    return launch_kernel(equilibrate_kernel, thread_blocks((uint64_t)rank * rank, 256), 256, stream,
                         v, rank, scaled);
}

cudaError_t dense_inverse_eigenvectors(const struct dense_modes *modes, const double *v,
                                       double *vectors, const double *values, double tolerance,
                                       double *w, cudaStream_t stream)
{
    return launch_kernel(eigenvectors_kernel,
                         thread_blocks((uint64_t)modes->rank * modes->rank, 256), 256, stream,
                         *modes, v, vectors, values, tolerance, w);
}

cudaError_t dense_normalise(const struct dense_norms *to, uint32_t rank, int code, int *bad,
                            const int *halt, cudaStream_t stream)
{
    return launch_kernel(normalise_kernel, thread_blocks((uint64_t)rank * rank, 256), 256, stream,
                         *to, rank, code, bad, halt);
}

cudaError_t dense_model(const struct dense_modes *modes, const double *inner,
                        struct dense_fit_terms *terms, cudaStream_t stream)
{
    return launch_kernel(model_kernel, 1, MODEL_THREADS, stream, *modes, inner, terms);
}
