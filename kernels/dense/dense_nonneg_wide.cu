/* Rows of more than 64 entries: LANES lanes have a row, each COLUMNS of its entries: pairs of
 * neighbouring columns, so that the lanes read and write a row together. The columns are taken in
 * turn: all lanes sum the terms of their columns for the next one, and the lane that has that
 * column changes it. The thread block brings W into shared memory in parts, for all of its rows.
 * Numbers are doubles for either precision of M and A. */
#include "kernels/dense/dense_nonneg.h"

#include "numerics/nonneg.h"
#include "numerics/unrolled.cuh"

namespace
{

constexpr int THREADS = 256;
constexpr int BLOCKS = 2; /* on a multiprocessor */

template <typename Real> struct alignas(2 * sizeof(Real)) pair {
    Real x, y;
};

template <int COLUMNS, int LANES> struct shape {
    static constexpr int PAIRS = COLUMNS / 2;     /* a lane's                              */
    static constexpr int WIDTH = COLUMNS * LANES; /* of a row                              */
    static constexpr int ROWS = THREADS / LANES;  /* that a thread block works on at once  */
    static constexpr int MOST = 2048 / WIDTH;     /* pairs of rows of a part: 32 KB of W   */
    static constexpr int PART = MOST < LANES ? MOST : LANES;
    static constexpr int PART_ROWS = 2 * PART;
    static constexpr int SHARED = (PART_ROWS + ROWS_BEHIND) * WIDTH * (int)sizeof(double);
    static_assert(PART >= 1 && LANES % PART == 0, "parts fill the rows of W");
};

extern __shared__ __align__(16) unsigned char shared_bytes[];

/* Copies `count` doubles, a multiple of 2, by the whole thread block. */
__device__ __forceinline__ void bring(double *to, const double *from, int count)
{
    for (int i = (int)threadIdx.x; i < count / 2; i += THREADS)
        ((double2 *)to)[i] = ((const double2 *)from)[i];
}

/* The lane's columns of a row, each multiplied by its scale; zero beyond the rank. */
template <typename Real, int COLUMNS, int LANES>
__device__ __forceinline__ void load_row(double (&x)[COLUMNS], const Real *row, bool inside,
                                         uint32_t rank, const double *scales, uint32_t lane)
{
    EACH_UNROLLED(k, COLUMNS / 2) {
        const uint32_t c = 2 * ((uint32_t)k * LANES + lane);
        pair<Real> p = {0, 0};
        if (inside && c < rank)
            p = *(const pair<Real> *)(row + c);
        x[2 * k] = (double)p.x * scales[c];
        x[2 * k + 1] = c + 1 < rank ? (double)p.y * scales[c + 1] : 0;
    }
}

/* The sum over the lanes of a row, which all of them get. */
template <int LANES> __device__ __forceinline__ double row_sum(double x)
{
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

/* The sum over s of w[s] b[s]. */
template <int COLUMNS, int LANES>
__device__ __forceinline__ double weighted_sum(const double *w, const double (&b)[COLUMNS],
                                               uint32_t lane)
{
    double sum[4] = {0, 0, 0, 0};
    EACH_UNROLLED(k, COLUMNS / 2) {
        const double2 v = ((const double2 *)w)[k * LANES + (int)lane];
        sum[2 * (k % 2)] = fma(v.x, b[2 * k], sum[2 * (k % 2)]);
        sum[2 * (k % 2) + 1] = fma(v.y, b[2 * k + 1], sum[2 * (k % 2) + 1]);
    }
    return row_sum<LANES>((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* The best multiple of a row is inner / square. */
struct row_fit {
    double inner, square; /* m b' and b V b' */
};

/* All columns in turn; or, if they are fitted, nothing changes but *fit. `w` and `behind` are in
 * shared memory. */
template <int COLUMNS, int LANES>
__device__ __forceinline__ void pass(double (&b)[COLUMNS], const double (&m)[COLUMNS], double *w,
                                     const double *behind, const dense_nonneg_args &args,
                                     uint32_t lane, bool fits, row_fit *fit)
{
    using S = shape<COLUMNS, LANES>;
    EACH_UNROLLED(k, S::PAIRS) {
#pragma unroll 1
        for (int first = 0; first < LANES; first += S::PART) {
            const int begin = 2 * (k * LANES + first); /* row of W */
            if ((uint32_t)begin >= args.rank)
                break;
            __syncthreads();
            bring(w, args.system + (uint64_t)begin * S::WIDTH, 2 * S::PART * S::WIDTH);
            __syncthreads();
#pragma unroll 1
            for (int l = 0; l < S::PART; l++)
                EACH_UNROLLED(e, 2) {
                    const int r = begin + 2 * l + e;
                    const double *row = w + (2 * l + e) * S::WIDTH;
                    const double sum = weighted_sum<COLUMNS, LANES>(row, b, lane);
                    if ((int)lane != first + l)
                        continue;
                    const double x = b[2 * k + e];
                    if (fits) {
                        const double weighted = x * behind[DIAGONAL * S::WIDTH + r];
                        fit->inner += weighted * m[2 * k + e];
                        fit->square += weighted * (sum + x);
                    } else {
                        const double next = m[2 * k + e] - sum;
                        const double least = behind[LEAST * S::WIDTH + r];
                        b[2 * k + e] = next < least ? least : next; /* a NaN stays */
                    }
                }
        }
    }
}

template <typename Real, int COLUMNS, int LANES>
__global__ void __launch_bounds__(THREADS, BLOCKS) nonneg_kernel(const dense_nonneg_args args)
{
    using S = shape<COLUMNS, LANES>;
    const uint32_t lane = threadIdx.x % LANES;
    const Real *m_rows = (const Real *)args.m;
    Real *a_rows = (Real *)args.a;
    double *behind = (double *)shared_bytes, *w = behind + ROWS_BEHIND * S::WIDTH;
    if (args.halt && *args.halt)
        return;
    bring(behind, args.system + (uint64_t)S::WIDTH * S::WIDTH, ROWS_BEHIND * S::WIDTH);
    __syncthreads();

    /* All threads of the block take as many turns, for they bring W together. */
    for (uint64_t first = (uint64_t)blockIdx.x * S::ROWS; first < args.rows;
         first += (uint64_t)gridDim.x * S::ROWS) {
        const uint64_t row = first + threadIdx.x / LANES;
        const bool inside = row < args.rows;
        double b[COLUMNS], m[COLUMNS];
        load_row<Real, COLUMNS, LANES>(m, m_rows + row * args.ld, inside, args.rank,
                                       behind + SCALE_OF_M * S::WIDTH, lane);
        load_row<Real, COLUMNS, LANES>(b, a_rows + row * args.ld, inside, args.rank,
                                       behind + SCALE_OF_A * S::WIDTH, lane);
        row_fit fit = {0, 0};
#pragma unroll
        for (int i = 0; args.fit_rows && i < COLUMNS; i++)
            b[i] = b[i] < 0 ? 0 : b[i]; /* a start of negative weights */
#pragma unroll 1
        for (int i = args.fit_rows ? -1 : 0; i < NONNEG_PASSES; i++) {
            pass<COLUMNS, LANES>(b, m, w, behind, args, lane, i < 0, &fit);
            if (i >= 0)
                continue;
            const double inner = row_sum<LANES>(fit.inner), square = row_sum<LANES>(fit.square);
            const double alpha = inner > 0 && square > 0 ? inner / square : 0;
            EACH_UNROLLED(k, COLUMNS)
                b[k] *= alpha;
        }
#pragma unroll
        for (int k = 0; inside && k < COLUMNS / 2; k++) {
            const uint32_t c = 2 * ((uint32_t)k * LANES + lane);
            if (c < args.ld)
                *(pair<Real> *)(a_rows + row * args.ld + c) = {(Real)b[2 * k], (Real)b[2 * k + 1]};
        }
    }
}

template <typename Real, int COLUMNS, int LANES>
cudaError_t launch(const struct dense_nonneg_args *args, cudaStream_t stream)
{
    using S = shape<COLUMNS, LANES>;
    const auto kernel = nonneg_kernel<Real, COLUMNS, LANES>;
    const uint64_t enough = (args->rows + S::ROWS - 1) / S::ROWS;
    const uint64_t most = (uint64_t)args->processors * BLOCKS;
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED);
    if (error != cudaSuccess || enough == 0)
        return error;
    kernel<<<(uint32_t)(enough < most ? enough : most), THREADS, S::SHARED, stream>>>(*args);
    return cudaGetLastError();
}

template <typename Real>
cudaError_t launch_width(const struct dense_nonneg_args *args, cudaStream_t stream)
{
    switch (nonneg_width(args->rank)) {
    case 128:
        return launch<Real, 16, 8>(args, stream);
    case 256:
        return launch<Real, 16, 16>(args, stream);
    case 512:
        return launch<Real, 16, 32>(args, stream);
    case 1024:
        return launch<Real, 32, 32>(args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

} // namespace

cudaError_t dense_nonneg_wide(const struct dense_nonneg_args *args, enum precision precision,
                              cudaStream_t stream)
{
    return IN_PRECISION(precision, launch_width)(args, stream);
}
