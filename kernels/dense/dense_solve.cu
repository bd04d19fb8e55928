/* The fused solve: each warp takes tiles of rows of M and computes the transposed product
 * A' = W' M' by 16x8x8 matrix instructions. Transposed, A's entries end up in the lanes in which
 * the Gram's instructions want both their operands, so A' A moves no data at all.
 *
 * The lanes of a warp are eight quads of four. Where an instruction numbers columns or the inner
 * dimension, any permutation will do as long as both operands agree. These let lanes read M and
 * write A in whole vectors: inner dimension: lane q of a quad stages the q-th 16-byte vector of
 * every four of a row of M; output columns: rows g and g + 8 of an operand are columns 2g and 2g +
 * 1 of 16 columns; rows of the tile: the k-th and (k + 4)-th inner index of the Gram are rows 2k
 * and 2k + 1. */
#include "kernels/dense/dense_solve.h"

#include "kernels/dense/dense_sums.h"
#include "kernels/dense/dense_vector.cuh"
#include "kernels/dense/warp_matrix.cuh"

namespace
{

constexpr int WARPS = 4, THREADS = 32 * WARPS, STAGES = 2;
constexpr int TILES_PER_WARP = 4; /* at least: more thread blocks would cost more in their sums */

template <typename Real> struct solve_args {
    const Real *m;
    const double *w;
    Real *a;
    uint64_t rows;
    uint32_t ld, rank;
    double *partial;
    const int *halt;
};

template <typename Real> struct alignas(2 * sizeof(Real)) pair {
    Real x[2];
};

/* The sizes in the kernel for rows of up to WIDTH entries. */
template <typename Real, int WIDTH> struct shape {
    static constexpr int BLOCKS = WIDTH / 16;              /* of 16 columns          */
    static constexpr int OCTETS = WIDTH == 16 ? 2 : 1;     /* of rows in a tile      */
    static constexpr int ROWS = 8 * OCTETS;                /* in a tile              */
    static constexpr int LENGTH = vector<Real>::LENGTH;    /* entries in 16 bytes    */
    static constexpr int VECTORS = WIDTH / (4 * LENGTH);   /* a lane's, of a row     */
    static constexpr int STAGE = OCTETS * VECTORS * 32;    /* vectors of a tile      */
    static constexpr int GRAM_TILES = DENSE_TILES(BLOCKS); /* of 16 x 8, upper half  */
    static constexpr int GRAM = GRAM_TILES * 4 * 32;       /* entries of these       */
    static constexpr int PARTIAL = GRAM + WIDTH;           /* and the inner products */
    static constexpr int WEIGHTS = WIDTH * WIDTH / 2;      /* double2's              */
    static constexpr int SHARED = WEIGHTS * 16 + WARPS * STAGES * STAGE * 16;
    static constexpr int RESIDENT = WIDTH == 16 ? 6 : WIDTH == 32 ? 3 : 2; /* thread blocks     */
    static_assert(PARTIAL * 8 <= SHARED, "the thread block's sum reuses the tiles' memory");
};

/* Copies `bytes` of 16 to shared memory and sets the rest to zero; where the device can,
 * asynchronously, until stage_wait. */
template <typename Real>
__device__ __forceinline__ void stage_copy(vector<Real> *shared, const Real *global, int bytes)
{
#if __CUDA_ARCH__ >= 800
    const uint32_t address = (uint32_t)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16, %2;" ::"r"(address),
                 "l"(global), "r"(bytes)
                 : "memory");
#else
    for (int i = 0; i < vector<Real>::LENGTH; i++)
        shared->x[i] = i * (int)sizeof(Real) < bytes ? global[i] : Real(0);
#endif
}

__device__ __forceinline__ void stage_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits until all but this thread's latest `Pending` commits of copies are done. */
template <int Pending> __device__ __forceinline__ void stage_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

/* The place of a lane's vector among the 32 of a warp. It spreads over all banks both where lanes
 * read their own vectors and in add_inner, where a lane reads row 2q or 2q + 1 of other lanes. */
__device__ __forceinline__ uint32_t stage_slot(uint32_t lane)
{
    return lane ^ (lane >> 3 & 3) << 1;
}

/* Loads W in the order in which lanes want it as operands: [inner octet][16 columns][half][lane].
 */
template <typename Real, int WIDTH>
__device__ void load_weights(double2 *weights, const double *w, uint32_t rank)
{
    using S = shape<Real, WIDTH>;
    const auto entry = [=](uint32_t i, uint32_t j) {
        return i >= rank || j >= rank ? 0.0 : w ? w[(uint64_t)i * rank + j] : i == j ? 1.0 : 0.0;
    };
    for (int n = (int)threadIdx.x; n < S::WEIGHTS; n += THREADS) {
        const int lane = n % 32, half = n / 32 % 2, block = n / 64 % S::BLOCKS;
        const int inner = 2 * (n / 64 / S::BLOCKS) + half; /* entry of all that a lane stages */
        const uint32_t i =
            (uint32_t)((inner / S::LENGTH * 4 + lane % 4) * S::LENGTH + inner % S::LENGTH);
        const uint32_t j = (uint32_t)(16 * block + 2 * (lane / 4));
        weights[n] = make_double2(entry(i, j), entry(i, j + 1));
    }
}

/* Starts copying the lane's vectors of a tile of M; beyond M's end they become zeros. */
template <typename Real, int WIDTH>
__device__ __forceinline__ void fetch(const solve_args<Real> &args, vector<Real> *stage,
                                      uint64_t tile, uint32_t lane)
{
    using S = shape<Real, WIDTH>;
#pragma unroll
    for (int o = 0; o < S::OCTETS; o++) {
        const uint64_t row = tile * S::ROWS + 8 * o + lane / 4;
        const Real *from = args.m + row * args.ld + lane % 4 * S::LENGTH;
        const int bytes = row < args.rows
                              ? ((int)args.rank - (int)(lane % 4) * S::LENGTH) * (int)sizeof(Real)
                              : 0;
#pragma unroll
        for (int v = 0; v < S::VECTORS; v++)
            stage_copy(&stage[(o * S::VECTORS + v) * 32 + stage_slot(lane)],
                       from + 4 * v * S::LENGTH, min(max(bytes - 64 * v, 0), 16));
    }
}

/* c (A' of the tile) = W' M'. */
template <typename Real, int WIDTH>
__device__ __forceinline__ void
solve_tile(double (&c)[shape<Real, WIDTH>::OCTETS][shape<Real, WIDTH>::BLOCKS][4],
           const double2 *weights, const vector<Real> *stage, uint32_t lane)
{
    using S = shape<Real, WIDTH>;
#pragma unroll(WIDTH == 64 ? 1 : S::VECTORS) /* registers run out */
    for (int v = 0; v < S::VECTORS; v++) {
        vector<Real> m[S::OCTETS];
#pragma unroll
        for (int o = 0; o < S::OCTETS; o++)
            m[o] = stage[(o * S::VECTORS + v) * 32 + stage_slot(lane)];
#pragma unroll
        for (int e = 0; e < S::LENGTH; e += 2) {
#pragma unroll
            for (int b = 0; b < S::BLOCKS; b++) {
                const double2 *operand =
                    weights + ((v * S::LENGTH + e) / 2 * S::BLOCKS + b) * 64 + lane;
                const double2 low = operand[0], high = operand[32];
#pragma unroll
                for (int o = 0; o < S::OCTETS; o++)
                    multiply_add(c[o][b], low.x, low.y, high.x, high.y, (double)m[o].x[e],
                                 (double)m[o].x[e + 1]);
            }
        }
    }
}

/* inner (the lane's two columns of every 16) += the column-wise product of M and A. */
template <typename Real, int WIDTH>
__device__ __forceinline__ void
add_inner(double (&inner)[shape<Real, WIDTH>::BLOCKS][2],
          const double (&c)[shape<Real, WIDTH>::OCTETS][shape<Real, WIDTH>::BLOCKS][4],
          const vector<Real> *stage, uint32_t lane)
{
    using S = shape<Real, WIDTH>;
#pragma unroll
    for (int o = 0; o < S::OCTETS; o++)
#pragma unroll
        for (int b = 0; b < S::BLOCKS; b++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const uint32_t column = 16 * b + 2 * (lane / 4), row = 2 * (lane % 4) + i;
                const uint32_t n = column / S::LENGTH; /* which vector of its row */
                const vector<Real> *from =
                    stage + (o * S::VECTORS + n / 4) * 32 + stage_slot(4 * row + n % 4);
                const pair<Real> m = *(const pair<Real> *)&from->x[column % S::LENGTH];
                inner[b][0] += (double)m.x[0] * c[o][b][i];
                inner[b][1] += (double)m.x[1] * c[o][b][2 + i];
            }
}

template <typename Real, int WIDTH>
__device__ __forceinline__ void
store_tile(const solve_args<Real> &args,
           const double (&c)[shape<Real, WIDTH>::OCTETS][shape<Real, WIDTH>::BLOCKS][4],
           uint64_t tile, uint32_t lane)
{
    using S = shape<Real, WIDTH>;
#pragma unroll
    for (int o = 0; o < S::OCTETS; o++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const uint64_t row = tile * S::ROWS + 8 * o + 2 * (lane % 4) + i;
            if (row >= args.rows)
                continue;
            Real *to = args.a + row * args.ld;
#pragma unroll
            for (int b = 0; b < S::BLOCKS; b++) {
                const uint32_t column = 16 * b + 2 * (lane / 4);
                if (column < args.ld)
                    *(pair<Real> *)(to + column) = {column < args.rank ? (Real)c[o][b][i] : Real(0),
                                                    column + 1 < args.rank ? (Real)c[o][b][2 + i]
                                                                           : Real(0)};
            }
        }
}

/* gram (tiles of 16 x 8 from the diagonal on, row by row) += A' A of the tile. */
template <int OCTETS, int BLOCKS>
__device__ __forceinline__ void add_gram(double (&gram)[DENSE_TILES(BLOCKS)][4],
                                         const double (&c)[OCTETS][BLOCKS][4])
{
#pragma unroll
    for (int o = 0; o < OCTETS; o++) {
        int tile = 0;
#pragma unroll
        for (int p = 0; p < BLOCKS; p++)
#pragma unroll
            for (int q = p; q < BLOCKS; q++)
#pragma unroll
                for (int half = 0; half < 2; half++)
                    multiply_add(gram[tile++], c[o][p][0], c[o][p][2], c[o][p][1], c[o][p][3],
                                 c[o][q][2 * half], c[o][q][2 * half + 1]);
    }
}

/* Adds the thread block's sums, warp after warp, in `sum` (shared), and writes them to `partial`.
 */
template <typename Real, int WIDTH>
__device__ void leave_partial(double *sum, double *partial,
                              const double (&gram)[shape<Real, WIDTH>::GRAM_TILES][4],
                              double (&inner)[shape<Real, WIDTH>::BLOCKS][2])
{
    using S = shape<Real, WIDTH>;
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int b = 0; b < S::BLOCKS; b++)
        for (int h = 0; h < 2; h++) {
            inner[b][h] += __shfl_xor_sync(0xffffffffu, inner[b][h], 1);
            inner[b][h] += __shfl_xor_sync(0xffffffffu, inner[b][h], 2);
        }
    for (uint32_t w = 0; w < WARPS; w++) {
        __syncthreads();
        if (w != warp)
            continue;
        for (int t = 0; t < S::GRAM_TILES; t++)
            for (int i = 0; i < 4; i++) {
                double *to = &sum[(t * 4 + i) * 32 + lane];
                *to = gram[t][i] + (w ? *to : 0.0);
            }
        if (lane % 4 == 0)
            for (int b = 0; b < S::BLOCKS; b++)
                for (int h = 0; h < 2; h++) {
                    double *to = &sum[S::GRAM + 16 * b + 2 * (lane / 4) + h];
                    *to = inner[b][h] + (w ? *to : 0.0);
                }
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < S::PARTIAL; i += THREADS)
        partial[(uint64_t)blockIdx.x * S::PARTIAL + (uint64_t)i] = sum[i];
}

extern __shared__ __align__(16) unsigned char shared_bytes[];

template <typename Real, int WIDTH>
__global__ void __launch_bounds__(THREADS, (shape<Real, WIDTH>::RESIDENT))
    solve_kernel(const solve_args<Real> args)
{
    using S = shape<Real, WIDTH>;
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double2 *weights = (double2 *)shared_bytes;
    vector<Real> *stages = (vector<Real> *)(weights + S::WEIGHTS) + warp * STAGES * S::STAGE;
    const uint64_t tiles = (args.rows + S::ROWS - 1) / S::ROWS;
    const uint64_t step = (uint64_t)gridDim.x * WARPS;
    uint64_t tile = (uint64_t)blockIdx.x * WARPS + warp;
    if (args.halt && *args.halt)
        return;

    for (int s = 0; s < STAGES; s++) {
        fetch<Real, WIDTH>(args, stages + s * S::STAGE, tile + (uint64_t)s * step, lane);
        stage_commit();
    }
    load_weights<Real, WIDTH>(weights, args.w, args.rank);
    __syncthreads();

    double gram[S::GRAM_TILES][4] = {}, inner[S::BLOCKS][2] = {};
    for (int s = 0; tile < tiles; tile += step, s = s + 1 < STAGES ? s + 1 : 0) {
        vector<Real> *stage = stages + s * S::STAGE;
        double c[S::OCTETS][S::BLOCKS][4] = {};
        stage_wait<STAGES - 1>();
        __syncwarp(); /* add_inner reads other lanes' vectors */
        solve_tile<Real, WIDTH>(c, weights, stage, lane);
#pragma unroll
        for (int i = 0; i < S::OCTETS * S::BLOCKS * 4; i++)
            c[i / 4 / S::BLOCKS][i / 4 % S::BLOCKS][i % 4] =
                (double)(Real)c[i / 4 / S::BLOCKS][i / 4 % S::BLOCKS][i % 4];
        add_inner<Real, WIDTH>(inner, c, stage, lane);
        __syncwarp(); /* all lanes have read what is overwritten now */
        if (tile + STAGES * step < tiles)
            fetch<Real, WIDTH>(args, stage, tile + STAGES * step, lane);
        stage_commit();
        if (args.a)
            store_tile<Real, WIDTH>(args, c, tile, lane);
        add_gram(gram, c);
    }
    stage_wait<0>();
    leave_partial<Real, WIDTH>((double *)shared_bytes, args.partial, gram, inner);
}

template <typename Real> struct solve_kernel_choice {
    void (*kernel)(const solve_args<Real>);
    int shared, rows;
    uint32_t column_blocks;
};

template <typename Real, int WIDTH> solve_kernel_choice<Real> choice()
{
    using S = shape<Real, WIDTH>;
    return {solve_kernel<Real, WIDTH>, S::SHARED, S::ROWS, S::BLOCKS};
}

/* *chosen = the kernel for rows of ld entries; allows it the shared memory that it takes. */
template <typename Real> cudaError_t choose(uint64_t ld, solve_kernel_choice<Real> *chosen)
{
    switch ((ld + 15) / 16) {
    case 1:
        *chosen = choice<Real, 16>();
        break;
    case 2:
        *chosen = choice<Real, 32>();
        break;
    case 3:
        *chosen = choice<Real, 48>();
        break;
    case 4:
        *chosen = choice<Real, 64>();
        break;
    default:
        return cudaErrorInvalidValue;
    }
    return cudaFuncSetAttribute(chosen->kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                chosen->shared);
}

template <typename Real> cudaError_t solve_blocks(int device, uint64_t ld, uint32_t *blocks)
{
    solve_kernel_choice<Real> chosen;
    int multiprocessors, resident;
    cudaError_t error = choose(ld, &chosen);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, chosen.kernel, THREADS,
                                                              (size_t)chosen.shared);
    if (error == cudaSuccess)
        *blocks = (uint32_t)multiprocessors * (uint32_t)(resident > 0 ? resident : 1);
    return error;
}

template <typename Real>
cudaError_t solve_launch(const struct dense_solve_args *args, const struct dense_streams *streams)
{
    solve_kernel_choice<Real> chosen;
    cudaError_t error = choose(args->ld, &chosen);
    if (error != cudaSuccess)
        return error;
    const uint64_t tiles = (args->rows + (uint64_t)chosen.rows - 1) / (uint64_t)chosen.rows;
    const uint64_t enough = (tiles + WARPS * TILES_PER_WARP - 1) / (WARPS * TILES_PER_WARP);
    const uint32_t blocks = enough < 1              ? 1
                            : enough > args->blocks ? args->blocks
                                                    : (uint32_t)enough;
    const solve_args<Real> typed = {
        (const Real *)args->m, args->w,   (Real *)args->a, args->rows, args->ld, args->rank,
        args->partial,         args->halt};
    chosen.kernel<<<blocks, THREADS, (size_t)chosen.shared, streams->pass>>>(typed);
    error = cudaGetLastError();
    if (error == cudaSuccess && streams->sums != streams->pass) {
        error = cudaEventRecord(streams->passed, streams->pass);
        if (error == cudaSuccess)
            error = cudaStreamWaitEvent(streams->sums, streams->passed, 0);
    }
    if (error != cudaSuccess)
        return error;
    return dense_sum_tiles(args->partial, blocks, chosen.column_blocks, args->rank, args->raw,
                           args->inner, args->halt, streams->sums);
}

} // namespace

extern "C" {

uint64_t dense_solve_partial(uint64_t ld)
{
    return DENSE_TILES_PARTIAL((ld + 15) / 16);
}

cudaError_t dense_solve_blocks(int device, uint64_t ld, enum precision precision, uint32_t *blocks)
{
    return precision == PRECISION_SINGLE ? solve_blocks<float>(device, ld, blocks)
                                         : solve_blocks<double>(device, ld, blocks);
}

cudaError_t dense_solve(const struct dense_solve_args *args, enum precision precision,
                        const struct dense_streams *streams)
{
    return precision == PRECISION_SINGLE ? solve_launch<float>(args, streams)
                                         : solve_launch<double>(args, streams);
}
}
