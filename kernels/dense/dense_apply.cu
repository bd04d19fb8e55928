/* Each warp multiplies tiles of rows of M by W (row_tile.cuh), transposed: A' = W' M'. So each
 * entry of A ends up in the lane that needs it for A' A, and no data moves between lanes. */
#include "kernels/dense/dense_apply.h"

#include "kernels/dense/early_load.cuh"
#include "kernels/dense/row_tile.cuh"
#include "numerics/unrolled.cuh"

namespace
{

constexpr int WARPS = 4, THREADS = 32 * WARPS, STAGES = 2;
/* At least this many tiles for each warp, once there are FEW_BLOCKS thread blocks: more of these
 * would cost more in their sums. */
constexpr int TILES_PER_WARP = 4;
constexpr uint64_t FEW_BLOCKS = 128;

/* Tiles of two octets of rows where rows are short. */
template <typename Real, int WIDTH>
struct solve_tile_of : row_tile<Real, WIDTH, WIDTH == 16 ? 2 : 1> {
    using T = row_tile<Real, WIDTH, WIDTH == 16 ? 2 : 1>;
    static constexpr int W_PAIRS = WIDTH * WIDTH / 2; /* double2's */
    static constexpr int SHARED = W_PAIRS * 16 + WARPS * STAGES * T::STAGE * 16;
    static constexpr int RESIDENT = WIDTH == 16 ? 6 : WIDTH == 32 ? 3 : 2; /* thread blocks */
    static_assert(T::PARTIAL * 8 <= SHARED, "the thread block's sum reuses the tiles' memory");
    static constexpr int EACH = W_PAIRS / THREADS; /* of a thread, and at once */
    static constexpr int AT_ONCE = EACH % 8 == 0 ? 8 : EACH;
    static_assert(W_PAIRS % THREADS == 0, "all threads load as many");
};

/* Entry (i, j) of W, or of the identity; zero beyond the rank. The load depends on no condition, so
 * that many of them are in flight. */
__device__ __forceinline__ double w_entry(const double *w, uint32_t rank, uint32_t i, uint32_t j)
{
    double x = i == j ? 1 : 0;
    if (w)
        x = __ldg(&w[min(i, rank - 1) * rank + min(j, rank - 1)]);
    return i < rank && j < rank ? x : 0;
}

/* Loads W in the order in which lanes want it as operands: [inner octet][16 columns][half][lane].
 */
template <typename S> __device__ void load_w(double2 *w_pairs, const double *w, uint32_t rank)
{
    for (int first = (int)threadIdx.x; first < S::W_PAIRS; first += S::AT_ONCE * THREADS) {
        double2 x[S::AT_ONCE];
        EACH_UNROLLED(k, S::AT_ONCE) {
            const int n = first + k * THREADS;
            const int lane = n % 32, half = n / 32 % 2, block = n / 64 % S::BLOCKS;
            const int inner = 2 * (n / 64 / S::BLOCKS) + half; /* entry of all that a lane stages */
            const uint32_t i =
                (uint32_t)((inner / S::LENGTH * 4 + lane % 4) * S::LENGTH + inner % S::LENGTH);
            const uint32_t j = (uint32_t)(16 * block + 2 * (lane / 4));
            x[k] = make_double2(w_entry(w, rank, i, j), w_entry(w, rank, i, j + 1));
        }
        EACH_UNROLLED(k, S::AT_ONCE)
            w_pairs[first + k * THREADS] = x[k];
    }
}

/* c (A' of the tile) = W' M'. */
template <typename S>
__device__ __forceinline__ void solve_tile(double (&c)[S::OCTETS][S::BLOCKS][4],
                                           const double2 *w_pairs,
                                           const vector<typename S::Real> *stage, uint32_t lane)
{
    using Real = typename S::Real;
#pragma unroll(S::WIDTH == 64 ? 1 : S::VECTORS) /* registers run out */
    for (int v = 0; v < S::VECTORS; v++) {
        vector<Real> m[S::OCTETS];
        EACH_UNROLLED(o, S::OCTETS)
            m[o] = stage[(o * S::VECTORS + v) * 32 + stage_slot(lane)];
#pragma unroll
        for (int e = 0; e < S::LENGTH; e += 2) {
            EACH_UNROLLED(b, S::BLOCKS) {
                const double2 *operand =
                    w_pairs + ((v * S::LENGTH + e) / 2 * S::BLOCKS + b) * 64 + lane;
                const double2 low = operand[0], high = operand[32];
                EACH_UNROLLED(o, S::OCTETS)
                    multiply_add(c[o][b], low.x, low.y, high.x, high.y, (double)m[o].x[e],
                                 (double)m[o].x[e + 1]);
            }
        }
    }
}

/* inner (the lane's two columns of every 16) += the column-wise product of M and A. */
template <typename S>
__device__ __forceinline__ void add_inner(double (&inner)[S::BLOCKS][2],
                                          const double (&c)[S::OCTETS][S::BLOCKS][4],
                                          vector<typename S::Real> *stage, uint32_t lane)
{
    EACH_UNROLLED(o, S::OCTETS)
        EACH_UNROLLED(b, S::BLOCKS)
            EACH_UNROLLED(i, 2) {
                const pair<typename S::Real> m = *staged_pair<S>(stage, o, 2 * (lane % 4) + i,
                                                                 16 * (uint32_t)b + 2 * (lane / 4));
                inner[b][0] += (double)m.x[0] * c[o][b][i];
                inner[b][1] += (double)m.x[1] * c[o][b][2 + i];
            }
}

extern __shared__ __align__(16) unsigned char shared_bytes[];

template <typename Real, int WIDTH>
__global__ void __launch_bounds__(THREADS, (solve_tile_of<Real, WIDTH>::RESIDENT))
    solve_kernel(const dense_apply_args args)
{
    using S = solve_tile_of<Real, WIDTH>;
    const matrix_shape shape = {args.rows, args.ld, args.rank};
    const Real *m = (const Real *)args.m;
    Real *a = (Real *)args.a;
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double2 *w_pairs = (double2 *)shared_bytes;
    vector<Real> *stages = (vector<Real> *)(w_pairs + S::W_PAIRS) + warp * STAGES * S::STAGE;
    const uint64_t tiles = (shape.rows + S::ROWS - 1) / S::ROWS;
    const uint64_t step = (uint64_t)gridDim.x * WARPS;
    uint64_t tile = (uint64_t)blockIdx.x * WARPS + warp;
    const int halted = args.halt ? early_load(args.halt) : 0;

    for (int s = 0; s < STAGES; s++) {
        fetch<S>(stages + s * S::STAGE, m, shape, tile + (uint64_t)s * step, lane);
        stage_commit();
    }
    load_w<S>(w_pairs, args.w, shape.rank);
    __syncthreads();
    if (halted) {
        stage_wait<0>();
        return;
    }

    double gram[S::GRAM_TILES][4] = {}, inner[S::BLOCKS][2] = {};
    for (int s = 0; tile < tiles; tile += step, s = s + 1 < STAGES ? s + 1 : 0) {
        vector<Real> *stage = stages + s * S::STAGE;
        double c[S::OCTETS][S::BLOCKS][4] = {};
        stage_wait<STAGES - 1>();
        __syncwarp(); /* add_inner reads other lanes' vectors */
        solve_tile<S>(c, w_pairs, stage, lane);
        EACH_UNROLLED(i, S::OCTETS * S::BLOCKS * 4)
            c[i / 4 / S::BLOCKS][i / 4 % S::BLOCKS][i % 4] =
                (double)(Real)c[i / 4 / S::BLOCKS][i / 4 % S::BLOCKS][i % 4];
        add_inner<S>(inner, c, stage, lane);
        __syncwarp(); /* all lanes have read what is overwritten now */
        if (tile + STAGES * step < tiles)
            fetch<S>(stage, m, shape, tile + STAGES * step, lane);
        stage_commit();
        EACH_UNROLLED(o, S::OCTETS) {
            if (a)
                store_octet<S>(a, shape, c[o], tile * S::ROWS + 8 * o, lane);
            add_gram<S::BLOCKS>(gram, c[o]);
        }
    }
    stage_wait<0>();
    leave_partial<S>((double *)shared_bytes, args.partial, gram, inner);
}

struct solve_kernel_choice {
    void (*kernel)(dense_apply_args);
    int shared, rows;
    uint32_t column_blocks;
};

template <typename Real, int WIDTH> solve_kernel_choice choice()
{
    using S = solve_tile_of<Real, WIDTH>;
    return {solve_kernel<Real, WIDTH>, S::SHARED, S::ROWS, S::BLOCKS};
}

template <typename Real> solve_kernel_choice choose(uint64_t ld)
{
    return IN_WIDTH(ld, Real, choice);
}

template <typename Real> cudaError_t solve_blocks(uint64_t ld, uint32_t *blocks)
{
    const solve_kernel_choice chosen = choose<Real>(ld);
    return resident_blocks(chosen.kernel, THREADS, (size_t)chosen.shared, blocks);
}

template <typename Real>
cudaError_t solve_launch(const struct dense_apply_args *args, const struct dense_streams *streams)
{
    const solve_kernel_choice chosen = choose<Real>(args->ld);
    const uint64_t tiles = (args->rows + (uint64_t)chosen.rows - 1) / (uint64_t)chosen.rows;
    const uint64_t most = (tiles + WARPS - 1) / WARPS, few = most < FEW_BLOCKS ? most : FEW_BLOCKS;
    const uint64_t shared = (most + TILES_PER_WARP - 1) / TILES_PER_WARP;
    const uint64_t enough = shared > few ? shared : few;
    const uint32_t blocks = enough < 1              ? 1
                            : enough > args->blocks ? args->blocks
                                                    : (uint32_t)enough;
    chosen.kernel<<<blocks, THREADS, (size_t)chosen.shared, streams->pass>>>(*args);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(dense_streams_join(streams));
    const dense_parts parts = {1, {0, blocks}};
    return dense_sum_tiles(&parts, args->partial, chosen.column_blocks, args->rank, args->raw,
                           args->inner, args->halt, streams->sums);
}

} // namespace

uint64_t dense_apply_partial(uint64_t ld)
{
    return DENSE_TILES_PARTIAL((ld + 15) / 16);
}

cudaError_t dense_apply_blocks(uint64_t ld, enum precision precision, uint32_t *blocks)
{
    return IN_PRECISION(precision, solve_blocks)(ld, blocks);
}

cudaError_t dense_apply(const struct dense_apply_args *args, enum precision precision,
                        const struct dense_streams *streams)
{
    return IN_PRECISION(precision, solve_launch)(args, streams);
}
