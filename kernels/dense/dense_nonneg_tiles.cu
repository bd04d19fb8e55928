/* Rows of up to 64 entries. Each warp takes tiles of rows of M and A (row_tile.cuh), and their
 * columns in groups of 8. Matrix instructions of 16x8x8 compute T = M - B W' for a group and leave
 * a row's 8 entries in the four lanes of a quad, two each. These lanes change their columns in turn
 * and tell each other the new entries. After the last pass the rows go through shared memory to the
 * lanes that need them for the Gram. Numbers are doubles for either precision of M and A. */
#include "kernels/dense/dense_nonneg.h"

#include "kernels/dense/row_tile.cuh"
#include "numerics/nonneg.h"
#include "numerics/unrolled.cuh"

namespace
{

constexpr int MOST_WARPS = 4; /* in a thread block */

template <typename Real, int WIDTH>
struct nonneg_tile_of : row_tile<Real, WIDTH, WIDTH <= 32 ? 4 : 2> {
    using T = row_tile<Real, WIDTH, WIDTH <= 32 ? 4 : 2>;
    static constexpr int GROUPS = WIDTH / 8; /* of 8 columns                       */
    static constexpr bool SUMS = WIDTH <= NONNEG_SUMS_WIDTH; /* registers have room for the Gram */
    static constexpr int M_STAGES = WIDTH <= 48 ? 2 : 1;  /* tiles of M in shared memory        */
    static constexpr int OPERANDS = GROUPS * GROUPS * 32; /* double2's of W as operands,        */
    static constexpr int TURNS = GROUPS * 4 * 2 * 4; /* and for changing a group by one column */
    static constexpr int FIXED = (OPERANDS + TURNS) * 16 + ROWS_BEHIND * WIDTH * 8;
    static constexpr int OF_A_WARP = (M_STAGES + 1) * T::STAGE * 16;
    static constexpr int RESIDENT = WIDTH == 16 ? 4 : 2; /* thread blocks on a multiprocessor */
};

/* Shared memory of a thread block. */
template <typename S> struct nonneg_shared {
    double2 *operands; /* [group][inner group][lane]: -W, for T = M + B (-W)'. Within a group only
                        * later columns are in T: earlier ones are added in turn */
    double2 *turns;    /* [group][turn][column of the lane's two][lane of a quad]: -W, by which a
                        * lane's column changes with the two columns of lane `turn`          */
    double *behind;    /* ROWS_BEHIND rows                                                   */
};

template <typename S> __device__ void load_system(const nonneg_shared<S> &to, const double *system)
{
    constexpr int W = S::WIDTH;
    for (int n = (int)threadIdx.x; n < S::OPERANDS; n += (int)blockDim.x) {
        const int lane = n % 32, inner = n / 32 % S::GROUPS, group = n / 32 / S::GROUPS;
        const int row = lane / 4, column = 2 * (lane % 4);
        const double *w = system + (8 * group + row) * W + 8 * inner + column;
        to.operands[n] = make_double2(inner == group && column < row ? 0 : -w[0],
                                      inner == group && column + 1 < row ? 0 : -w[1]);
    }
    for (int n = (int)threadIdx.x; n < S::TURNS; n += (int)blockDim.x) {
        const int quad = n % 4, half = n / 4 % 2, turn = n / 8 % 4, group = n / 32;
        const double *w = system + (8 * group + 2 * quad + half) * W + 8 * group + 2 * turn;
        to.turns[n] = make_double2(-w[0], -w[1]);
    }
    for (int n = (int)threadIdx.x; n < ROWS_BEHIND * W; n += (int)blockDim.x)
        to.behind[n] = system[W * W + n];
}

/* The lane's two entries of a row after W, of a group of columns. */
template <typename S>
__device__ __forceinline__ double2 behind(const nonneg_shared<S> &shared, int row, int group,
                                          uint32_t lane)
{
    return *(const double2 *)&shared.behind[row * S::WIDTH + 8 * group + 2 * (lane % 4)];
}

/* The lane's two entries of a staged row, each multiplied by its scale. */
template <typename S>
__device__ __forceinline__ double2 scaled(vector<typename S::Real> *stage, int octet, int group,
                                          uint32_t lane, double2 scale)
{
    const pair<typename S::Real> p =
        *staged_pair<S>(stage, octet, lane / 4, 8 * (uint32_t)group + 2 * (lane % 4));
    return make_double2((double)p.x[0] * scale.x, (double)p.x[1] * scale.y);
}

/* t, of a group of columns, += the terms of the columns of group k. */
template <typename S>
__device__ __forceinline__ void
add_group(double (&t)[S::OCTETS][2], const double (&b)[S::OCTETS][S::GROUPS][2],
          const nonneg_shared<S> &shared, int group, int k, uint32_t lane)
{
    const double2 w = shared.operands[(group * S::GROUPS + k) * 32 + (int)lane];
#pragma unroll
    for (int o = 0; o < S::OCTETS; o += 2) {
        double c[4] = {t[o][0], t[o][1], t[o + 1][0], t[o + 1][1]};
        multiply_add(c, b[o][k][0], b[o + 1][k][0], b[o][k][1], b[o + 1][k][1], w.x, w.y);
        t[o][0] = c[0];
        t[o][1] = c[1];
        t[o + 1][0] = c[2];
        t[o + 1][1] = c[3];
    }
}

/* Changes the eight columns of a group in turn. t: their entries without floor, made of the terms
 * of all columns but the earlier ones of the group. */
template <typename S>
__device__ __forceinline__ void take_turns(double (&b)[S::OCTETS][S::GROUPS][2],
                                           double (&t)[S::OCTETS][2],
                                           const nonneg_shared<S> &shared, int group, uint32_t lane)
{
    const double2 least = behind(shared, LEAST, group, lane);
    EACH_UNROLLED(turn, 4) {
        const double2 *w = shared.turns + (group * 4 + turn) * 8 + lane % 4;
        const double2 first = w[0], second = w[4];
        const bool own = lane % 4 == turn;
        EACH_UNROLLED(o, S::OCTETS) {
            double x = t[o][0] < least.x ? least.x : t[o][0]; /* a NaN stays */
            const double told = fma(second.x, x, t[o][1]);
            double y = told < least.y ? least.y : told;
            if (own) {
                b[o][group][0] = x;
                b[o][group][1] = y;
            }
            if (turn == 3)
                continue;
            x = __shfl_sync(0xffffffffu, x, turn, 4);
            y = __shfl_sync(0xffffffffu, y, turn, 4);
            t[o][0] = fma(first.x, x, fma(first.y, y, t[o][0]));
            t[o][1] = fma(second.x, x, fma(second.y, y, t[o][1]));
        }
    }
}

template <typename S>
__device__ __forceinline__ void pass(double (&b)[S::OCTETS][S::GROUPS][2],
                                     vector<typename S::Real> *m, const nonneg_shared<S> &shared,
                                     uint32_t lane)
{
    EACH_UNROLLED(j, S::GROUPS) {
        const double2 scale = behind(shared, SCALE_OF_M, j, lane);
        double t[S::OCTETS][2];
        EACH_UNROLLED(o, S::OCTETS) {
            const double2 x = scaled<S>(m, o, j, lane, scale);
            t[o][0] = x.x;
            t[o][1] = x.y;
        }
        EACH_UNROLLED(k, S::GROUPS)
            add_group<S>(t, b, shared, j, k, lane);
        take_turns<S>(b, t, shared, j, lane);
    }
}

/* The sum over a quad, which all of its lanes get. */
__device__ __forceinline__ double quad_sum(double x)
{
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/* Multiplies each row b by m b' / (b V b'), or by 0. */
template <typename S>
__device__ __forceinline__ void fit_rows(double (&b)[S::OCTETS][S::GROUPS][2],
                                         vector<typename S::Real> *m,
                                         const nonneg_shared<S> &shared, uint32_t lane)
{
    double inner[S::OCTETS] = {}, square[S::OCTETS] = {};
    EACH_UNROLLED(o, S::OCTETS)
        EACH_UNROLLED(k, S::GROUPS)
            EACH_UNROLLED(e, 2) /* a start of negative weights */
                b[o][k][e] = b[o][k][e] < 0 ? 0 : b[o][k][e];
    EACH_UNROLLED(j, S::GROUPS) {
        const double2 scale = behind(shared, SCALE_OF_M, j, lane);
        const double2 diagonal = behind(shared, DIAGONAL, j, lane);
        double t[S::OCTETS][2] = {};
        EACH_UNROLLED(k, S::GROUPS)
            add_group<S>(t, b, shared, j, k, lane);
        add_group<S>(t, b, shared, j, j, lane); /* of which only half has been added */
        EACH_UNROLLED(o, S::OCTETS) {
            const double2 x = scaled<S>(m, o, j, lane, scale);
            const double v = b[o][j][0] * diagonal.x, w = b[o][j][1] * diagonal.y;
            inner[o] += v * x.x + w * x.y;
            square[o] += v * (b[o][j][0] - t[o][0]) + w * (b[o][j][1] - t[o][1]);
        }
    }
    EACH_UNROLLED(o, S::OCTETS) {
        const double i = quad_sum(inner[o]), s = quad_sum(square[o]);
        const double alpha = i > 0 && s > 0 ? i / s : 0;
        EACH_UNROLLED(k, S::GROUPS)
            EACH_UNROLLED(e, 2)
                b[o][k][e] *= alpha;
    }
}

/* Puts the rows where M's were; rows beyond the end become zero. inner += the product of both. */
template <typename S>
__device__ __forceinline__ void
put_rows(const double (&b)[S::OCTETS][S::GROUPS][2], vector<typename S::Real> *stage,
         double (&inner)[S::GROUPS][2], uint64_t first, uint64_t rows, uint32_t lane)
{
    using Real = typename S::Real;
    EACH_UNROLLED(o, S::OCTETS) {
        const bool inside = first + 8 * o + lane / 4 < rows;
        EACH_UNROLLED(k, S::GROUPS) {
            pair<Real> *at = staged_pair<S>(stage, o, lane / 4, 8 * (uint32_t)k + 2 * (lane % 4));
            const pair<Real> m = *at;
            const pair<Real> x = {
                {inside ? (Real)b[o][k][0] : Real(0), inside ? (Real)b[o][k][1] : Real(0)}};
            inner[k][0] += (double)m.x[0] * (double)x.x[0];
            inner[k][1] += (double)m.x[1] * (double)x.x[1];
            *at = x;
        }
    }
}

/* What a warp sums over its rows. */
template <typename S> struct row_sums {
    double gram[S::SUMS ? S::GRAM_TILES : 1][4];
    double inner[S::GROUPS][2];
};

/* One tile of rows, of which `first` is the first. */
template <typename S>
__device__ __forceinline__ void
update_tile(const dense_nonneg_args &args, const matrix_shape &shape,
            double (&b)[S::OCTETS][S::GROUPS][2], vector<typename S::Real> *m,
            const nonneg_shared<S> &shared, row_sums<S> &sums, uint64_t first, uint32_t lane)
{
    if (args.fit_rows)
        fit_rows<S>(b, m, shared, lane);
#pragma unroll 1
    for (int i = 0; i < NONNEG_PASSES; i++)
        pass<S>(b, m, shared, lane);
    put_rows<S>(b, m, sums.inner, first, shape.rows, lane);
    __syncwarp();
    EACH_UNROLLED(o, S::OCTETS) {
        double c[S::BLOCKS][4]; /* A' of the staged octet, in the lanes that store_octet wants */
        EACH_UNROLLED(k, S::BLOCKS)
            EACH_UNROLLED(i, 2) {
                const pair<typename S::Real> p = *staged_pair<S>(m, o, 2 * (lane % 4) + (uint32_t)i,
                                                                 16 * (uint32_t)k + 2 * (lane / 4));
                c[k][i] = (double)p.x[0];
                c[k][2 + i] = (double)p.x[1];
            }
        store_octet<S>((typename S::Real *)args.a, shape, c, first + 8 * o, lane);
        if constexpr (S::SUMS)
            add_gram<S::BLOCKS>(sums.gram, c);
    }
    __syncwarp(); /* all lanes have read what is overwritten next */
}

extern __shared__ __align__(16) unsigned char shared_bytes[];

template <typename Real, int WIDTH>
__global__ void __launch_bounds__(32 * MOST_WARPS, (nonneg_tile_of<Real, WIDTH>::RESIDENT))
    nonneg_kernel(const dense_nonneg_args args)
{
    using S = nonneg_tile_of<Real, WIDTH>;
    const matrix_shape shape = {args.rows, args.ld, args.rank};
    const Real *a_rows = (const Real *)args.a, *m_rows = (const Real *)args.m;
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    nonneg_shared<S> shared;
    shared.operands = (double2 *)shared_bytes;
    shared.turns = shared.operands + S::OPERANDS;
    shared.behind = (double *)(shared.turns + S::TURNS);
    vector<Real> *a_stage = (vector<Real> *)(shared_bytes + S::FIXED + warp * S::OF_A_WARP);
    vector<Real> *m_stages = a_stage + S::STAGE;
    const uint64_t tiles = (shape.rows + S::ROWS - 1) / S::ROWS;
    const uint64_t step = (uint64_t)gridDim.x * warps;
    uint64_t tile = (uint64_t)blockIdx.x * warps + warp;
    if (args.halt && *args.halt)
        return;

    for (int s = 0; s < S::M_STAGES; s++) {
        if (s == 0)
            fetch<S>(a_stage, a_rows, shape, tile, lane);
        fetch<S>(m_stages + s * S::STAGE, m_rows, shape, tile + (uint64_t)s * step, lane);
        stage_commit();
    }
    load_system<S>(shared, args.system);
    __syncthreads();

    row_sums<S> sums = {};
    for (int s = 0; tile < tiles; tile += step, s = s + 1 < S::M_STAGES ? s + 1 : 0) {
        vector<Real> *m = m_stages + s * S::STAGE;
        double b[S::OCTETS][S::GROUPS][2];
        stage_wait<S::M_STAGES - 1>();
        __syncwarp();
        EACH_UNROLLED(k, S::GROUPS) {
            const double2 scale = behind(shared, SCALE_OF_A, k, lane);
            EACH_UNROLLED(o, S::OCTETS) {
                const double2 x = scaled<S>(a_stage, o, k, lane, scale);
                b[o][k][0] = x.x;
                b[o][k][1] = x.y;
            }
        }
        __syncwarp();
        fetch<S>(a_stage, a_rows, shape, tile + step, lane);
        if (S::M_STAGES > 1)
            stage_commit();
        update_tile<S>(args, shape, b, m, shared, sums, tile * S::ROWS, lane);
        fetch<S>(m, m_rows, shape, tile + S::M_STAGES * step, lane);
        stage_commit();
    }
    stage_wait<0>();
    if constexpr (S::SUMS) {
        double inner[S::BLOCKS][2]; /* of the lane's columns as leave_partial wants them */
        for (int k = 0; k < S::GROUPS; k++)
            for (int e = 0; e < 2; e++)
                for (int step = 4; step < 32; step *= 2)
                    sums.inner[k][e] += __shfl_xor_sync(0xffffffffu, sums.inner[k][e], step);
        for (int b = 0; b < S::BLOCKS; b++)
            for (int e = 0; e < 2; e++) {
                const int from = (int)(lane / 4 % 4);
                const double low = __shfl_sync(0xffffffffu, sums.inner[2 * b][e], from);
                const double high = __shfl_sync(0xffffffffu, sums.inner[2 * b + 1][e], from);
                inner[b][e] = lane % 4 ? 0 : lane < 16 ? low : high;
            }
        leave_partial<S>((double *)shared_bytes, args.partial, sums.gram, inner);
    }
}

struct nonneg_kernel_choice {
    void (*kernel)(dense_nonneg_args);
    int fixed, of_a_warp, rows, resident; /* bytes; rows in a tile; thread blocks               */
    uint32_t column_blocks;               /* 0: the kernel leaves no sums                       */
};

template <typename Real, int WIDTH> nonneg_kernel_choice choice()
{
    using S = nonneg_tile_of<Real, WIDTH>;
    static_assert(!S::SUMS || S::PARTIAL * 8 <= S::FIXED + S::OF_A_WARP,
                  "the thread block's sum reuses the memory");
    return {nonneg_kernel<Real, WIDTH>,       S::FIXED, S::OF_A_WARP, S::ROWS, S::RESIDENT,
            S::SUMS ? (uint32_t)S::BLOCKS : 0};
}

template <typename Real>
cudaError_t launch(const struct dense_nonneg_args *args, const struct dense_streams *streams)
{
    const auto chosen = IN_WIDTH(args->rank, Real, choice);
    int device, most, warps = MOST_WARPS; /* as many as the shared memory has room for */
    CUDA_TRY(cudaGetDevice(&device));
    CUDA_TRY(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    while (warps > 1 && chosen.fixed + warps * chosen.of_a_warp > most)
        warps--;
    CUDA_TRY(cudaFuncSetAttribute(chosen.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  chosen.fixed + warps * chosen.of_a_warp));
    const uint64_t in_block = (uint64_t)chosen.rows * (uint64_t)warps;
    const uint64_t enough = args->rows ? (args->rows + in_block - 1) / in_block : 1;
    uint64_t blocks = (uint64_t)args->processors * (uint64_t)chosen.resident;
    blocks = blocks < args->blocks ? blocks : args->blocks;
    blocks = blocks < enough ? blocks : enough;
    chosen.kernel<<<(uint32_t)blocks, (uint32_t)warps * 32,
                    (size_t)(chosen.fixed + warps * chosen.of_a_warp), streams->pass>>>(*args);
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(dense_streams_join(streams));
    if (chosen.column_blocks == 0)
        return cudaSuccess;
    const dense_parts parts = {1, {0, (uint32_t)blocks}};
    return dense_sum_tiles(&parts, args->partial, chosen.column_blocks, args->rank, args->raw,
                           args->inner, args->halt, streams->sums);
}

} // namespace

cudaError_t dense_nonneg_tiles(const struct dense_nonneg_args *args, enum precision precision,
                               const struct dense_streams *streams)
{
    return IN_PRECISION(precision, launch)(args, streams);
}
