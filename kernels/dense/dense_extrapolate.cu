/* Y = now A + before S of all modes in one launch: each mode gets thread blocks in proportion to
 * its rows. Where rows are short, a warp reads A and S into the lanes that need them for the Gram
 * (row_tile.cuh), so that Y'Y takes no pass of its own. */
#include "kernels/dense/dense_extrapolate.h"

#include "kernels/dense/column_norm.cuh"
#include "kernels/dense/early_load.cuh"
#include "kernels/dense/row_tile.cuh"
#include "numerics/unrolled.cuh"

namespace
{

constexpr int WARPS = 4, THREADS = 32 * WARPS;
constexpr int WIDE_THREADS = 256, NORM_THREADS = 256;
constexpr int WIDE_ROWS = 4;           /* of a thread, at least, where there are enough  */
constexpr uint32_t WIDE_BLOCKS = 4096; /* thread blocks of a mode, at most               */

__device__ __forceinline__ double one_for_zero(double norm)
{
    return norm != 0 ? norm : 1;
}

/* What column c of A (x) and of S (y) is multiplied by; 0 beyond the rank. For the step (1, 0), A
 * is taken as it stands. */
__device__ __forceinline__ double2 column_factors(const dense_extrapolate_mode &mode,
                                                  const momentum_step &step, uint32_t rank,
                                                  uint32_t c)
{
    if (c >= rank)
        return make_double2(0, 0);
    const double of_a = early_load(&mode.norm_a[c]), of_s = early_load(&mode.norm_s[c]);
    const double square = early_load(&mode.gram_a[(uint64_t)c * rank + c]);
    if (step.before == 0)
        return make_double2(1, 0);
    if (square == 0)
        return make_double2(0, 0);
    return make_double2(step.now / one_for_zero(of_a), step.before / one_for_zero(of_s));
}

/* By which entries of Y are clipped. */
struct clipping {
    int clip;
    double keeps; /* of (1 + b) A */
};

__device__ __forceinline__ clipping clipping_of(const dense_extrapolate_mode &mode,
                                                const momentum_step &step)
{
    return {step.before != 0 && mode.clip, mode.keeps / step.now};
}

/* An entry of Y. */
template <typename Real>
__device__ __forceinline__ Real extrapolated(const double2 &factor, Real a, Real s,
                                             const clipping &c)
{
    const double of_a = factor.x * (double)a, y = fma(factor.x, (double)a, factor.y * (double)s);
    return (Real)(c.clip && y < c.keeps * of_a ? c.keeps * of_a : y);
}

/* Tiles of two octets of rows where rows are short. */
template <typename Real, int WIDTH>
struct extrapolate_tile : row_tile<Real, WIDTH, WIDTH <= 32 ? 2 : 1> {
    static constexpr int RESIDENT = WIDTH == 16 ? 5 : WIDTH == 32 ? 3 : 2; /* thread blocks */
};

/* A lane's pairs of entries of a tile, in the order of store_octet. */
template <typename T> struct lane_pairs {
    pair<typename T::Real> entry[T::OCTETS][T::BLOCKS][2];

    /* Beyond the end they are zeros. */
    __device__ __forceinline__ void load(const void *from, const matrix_shape &shape,
                                         uint64_t first, uint32_t lane)
    {
        EACH_UNROLLED(o, T::OCTETS)
            EACH_UNROLLED(i, 2) {
                const uint64_t row = first + 8 * (uint64_t)o + 2 * (lane % 4) + (uint64_t)i;
                const typename T::Real *entries =
                    (const typename T::Real *)from + row * shape.ld + 2 * (lane / 4);
                EACH_UNROLLED(b, T::BLOCKS)
                    entry[o][b][i] = row < shape.rows && 16 * b + 2 * (lane / 4) < shape.ld
                                         ? *(const pair<typename T::Real> *)(entries + 16 * b)
                                         : pair<typename T::Real>{};
            }
    }
};

/* c = Y' of a tile, of which `first` is the first row. */
template <typename T>
__device__ __forceinline__ void
extrapolate_tile_rows(double (&c)[T::OCTETS][T::BLOCKS][4], const dense_extrapolate_mode &mode,
                      const matrix_shape &shape, const momentum_step &step, const double2 *factors,
                      uint64_t first, uint32_t lane)
{
    lane_pairs<T> a, s = {};
    a.load(mode.a, shape, first, lane);
    if (step.before != 0)
        s.load(mode.s, shape, first, lane);
    const clipping clip = clipping_of(mode, step);
    EACH_UNROLLED(b, T::BLOCKS)
        EACH_UNROLLED(h, 2) {
            const uint32_t column = 16 * (uint32_t)b + 2 * (lane / 4) + (uint32_t)h;
            const double2 factor = factors[column];
            EACH_UNROLLED(o, T::OCTETS)
                EACH_UNROLLED(i, 2) {
                    const auto y =
                        extrapolated(factor, a.entry[o][b][i].x[h], s.entry[o][b][i].x[h], clip);
                    c[o][b][2 * h + i] = column < shape.rank ? (double)y : 0.0;
                }
        }
}

/* The rows of an octet that do not count become zero. */
template <typename T>
__device__ __forceinline__ void keep_counted(double (&c)[T::BLOCKS][4],
                                             const dense_extrapolate_mode &mode, uint64_t first,
                                             uint32_t lane)
{
    EACH_UNROLLED(i, 2) {
        const uint64_t row = first + 2 * (lane % 4) + (uint64_t)i;
        if (row - mode.first < mode.count)
            continue;
        EACH_UNROLLED(b, T::BLOCKS)
            c[b][i] = c[b][2 + i] = 0;
    }
}

template <typename Real, int WIDTH>
__global__ void __launch_bounds__(THREADS, (extrapolate_tile<Real, WIDTH>::RESIDENT))
    extrapolate_gram_kernel(const __grid_constant__ dense_extrapolate_args args,
                            const __grid_constant__ dense_parts parts, double *partial)
{
    using T = extrapolate_tile<Real, WIDTH>;
    __shared__ double sum[T::PARTIAL];
    __shared__ double2 factors[WIDTH];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const momentum_step step = {early_load(&args.step->now), early_load(&args.step->before)};
    if (early_load(args.halt) || step.now == 0)
        return;
    int n = 0;
    while (blockIdx.x >= parts.first[n + 1])
        n++;
    const dense_extrapolate_mode &mode = args.mode[n];
    const matrix_shape shape = {mode.rows, args.ld, args.rank};
    if (threadIdx.x < WIDTH)
        factors[threadIdx.x] = column_factors(mode, step, args.rank, threadIdx.x);
    __syncthreads();

    const uint64_t tiles = (mode.rows + T::ROWS - 1) / T::ROWS;
    const uint64_t stride = (uint64_t)(parts.first[n + 1] - parts.first[n]) * WARPS;
    double gram[T::GRAM_TILES][4] = {}, none[T::BLOCKS][2] = {};
    for (uint64_t tile = (uint64_t)(blockIdx.x - parts.first[n]) * WARPS + warp; tile < tiles;
         tile += stride) {
        double c[T::OCTETS][T::BLOCKS][4];
        extrapolate_tile_rows<T>(c, mode, shape, step, factors, tile * T::ROWS, lane);
        EACH_UNROLLED(o, T::OCTETS) {
            const uint64_t first = tile * T::ROWS + 8 * (uint64_t)o;
            store_octet<T>((Real *)mode.s, shape, c[o], first, lane);
            keep_counted<T>(c[o], mode, first, lane);
            add_gram<T::BLOCKS>(gram, c[o]);
        }
    }
    leave_partial<T>(sum, partial, gram, none);
}

/* A thread takes one vector of each row, or every 256th vector; blockIdx.y is the mode. */
template <typename Real>
__global__ void __launch_bounds__(WIDE_THREADS)
    extrapolate_kernel(const __grid_constant__ dense_extrapolate_args args)
{
    constexpr int LENGTH = vector<Real>::LENGTH;
    const dense_extrapolate_mode &mode = args.mode[blockIdx.y];
    const momentum_step step = *args.step;
    const uint32_t vectors = args.ld / LENGTH;
    const uint32_t width = min(vectors, (uint32_t)WIDE_THREADS), height = WIDE_THREADS / width;
    const uint32_t x = threadIdx.x % width, y = threadIdx.x / width;
    if (*args.halt || step.now == 0 || y >= height)
        return;
    const clipping clip = clipping_of(mode, step);
    for (uint32_t v = x; v < vectors; v += width) {
        double2 factors[LENGTH];
        EACH_UNROLLED(i, LENGTH)
            factors[i] = column_factors(mode, step, args.rank, v * LENGTH + (uint32_t)i);
        const vector<Real> *a = (const vector<Real> *)mode.a + v;
        vector<Real> *s = (vector<Real> *)mode.s + v;
        for (uint64_t row = (uint64_t)blockIdx.x * height + y; row < mode.rows;
             row += (uint64_t)gridDim.x * height) {
            vector<Real> to = a[row * vectors];
            if (step.before != 0) {
                const vector<Real> from = s[row * vectors];
                EACH_UNROLLED(i, LENGTH)
                    to.x[i] = v * LENGTH + (uint32_t)i < args.rank
                                  ? extrapolated(factors[i], to.x[i], from.x[i], clip)
                                  : Real(0);
            }
            s[row * vectors] = to;
        }
    }
}

/* blockIdx.y is the mode. */
__global__ void __launch_bounds__(NORM_THREADS)
    extrapolated_norms_kernel(const __grid_constant__ dense_extrapolate_args args,
                              const double *raw)
{
    const uint64_t e = (uint64_t)blockIdx.x * NORM_THREADS + threadIdx.x, rank = args.rank;
    const dense_extrapolate_mode &mode = args.mode[blockIdx.y];
    const momentum_step step = *args.step;
    if (e >= rank * rank || *args.halt || step.now == 0)
        return;
    const uint64_t i = e / rank, j = e % rank;
    if (step.before == 0) {
        mode.gram_s[e] = mode.gram_a[e];
        if (i == j)
            mode.norm_s[i] = mode.norm_a[i];
        return;
    }
    raw += blockIdx.y * rank * rank;
    const double entry = early_load(&raw[e]);
    const double norm_i = column_norm(mode.sum, raw, rank, i);
    const double norm_j = column_norm(mode.sum, raw, rank, j);
    mode.gram_s[e] = unit_gram(entry, i, j, norm_i, norm_j);
    if (i == j)
        mode.norm_s[i] = norm_i;
}

struct gram_kernel_choice {
    void (*kernel)(dense_extrapolate_args, dense_parts, double *);
    uint64_t rows; /* that a thread block takes at once */
    uint32_t column_blocks;
};

template <typename Real, int WIDTH> gram_kernel_choice choice()
{
    using T = extrapolate_tile<Real, WIDTH>;
    return {extrapolate_gram_kernel<Real, WIDTH>, (uint64_t)T::ROWS * WARPS, T::BLOCKS};
}

template <typename Real> gram_kernel_choice choose(uint64_t ld)
{
    return IN_WIDTH(ld, Real, choice);
}

/* One thread block for each mode; the others in proportion to the rows of the modes, as far as
 * there are rows. */
dense_parts deal(const struct dense_extrapolate_args *args, uint64_t rows_at_once, uint32_t blocks)
{
    dense_parts parts = {args->modes, {0}};
    const uint64_t others = blocks > (uint32_t)args->modes ? blocks - (uint32_t)args->modes : 0;
    double rows = 0;
    for (int n = 0; n < args->modes; n++)
        rows += (double)args->mode[n].rows;
    for (int n = 0; n < args->modes; n++) {
        const uint64_t of_mode = args->mode[n].rows;
        const uint64_t more = rows > 0 ? (uint64_t)((double)others * ((double)of_mode / rows)) : 0;
        const uint64_t enough = of_mode > 0 ? (of_mode - 1) / rows_at_once : 0;
        parts.first[n + 1] = parts.first[n] + 1 + (uint32_t)(more < enough ? more : enough);
    }
    return parts;
}

template <typename Real>
cudaError_t extrapolate_launch(const struct dense_extrapolate_args *args, cudaStream_t stream)
{
    const uint32_t vectors = args->ld / vector<Real>::LENGTH;
    const uint64_t height = vectors < WIDE_THREADS ? WIDE_THREADS / vectors : 1;
    uint64_t most = 1; /* thread blocks for the rows of the longest mode */
    for (int n = 0; n < args->modes; n++) {
        const uint64_t enough = (args->mode[n].rows + height * WIDE_ROWS - 1) / height / WIDE_ROWS;
        most = enough > most ? enough : most;
    }
    const dim3 grid((uint32_t)(most < WIDE_BLOCKS ? most : WIDE_BLOCKS), (unsigned)args->modes);
    return launch_kernel(extrapolate_kernel<Real>, grid, WIDE_THREADS, stream, *args);
}

} // namespace

cudaError_t dense_extrapolate(const struct dense_extrapolate_args *args, enum precision precision,
                              cudaStream_t stream)
{
    if (args->modes == 0)
        return cudaSuccess;
    return IN_PRECISION(precision, extrapolate_launch)(args, stream);
}

cudaError_t dense_extrapolate_blocks(uint64_t ld, enum precision precision, uint32_t *blocks)
{
    const gram_kernel_choice chosen = IN_PRECISION(precision, choose)(ld);
    return resident_blocks(chosen.kernel, THREADS, 0, blocks);
}

cudaError_t dense_extrapolate_gram(const struct dense_extrapolate_args *args,
                                   enum precision precision, double *partial, uint32_t blocks,
                                   double *raw, const struct dense_streams *streams)
{
    const gram_kernel_choice chosen = IN_PRECISION(precision, choose)(args->ld);
    if (args->modes == 0)
        return cudaSuccess;
    const dense_parts parts = deal(args, chosen.rows, blocks);
    CUDA_TRY(launch_kernel(chosen.kernel, parts.first[args->modes], THREADS, streams->pass, *args,
                           parts, partial));
    CUDA_TRY(dense_streams_join(streams));
    return dense_sum_tiles(&parts, partial, chosen.column_blocks, args->rank, raw, nullptr,
                           args->halt, streams->sums);
}

cudaError_t dense_extrapolated_norms(const struct dense_extrapolate_args *args, const double *raw,
                                     cudaStream_t stream)
{
    const dim3 grid(thread_blocks((uint64_t)args->rank * args->rank, NORM_THREADS),
                    (unsigned)args->modes);
    if (args->modes == 0)
        return cudaSuccess;
    return launch_kernel(extrapolated_norms_kernel, grid, NORM_THREADS, stream, *args, raw);
}
