/* Tiles of rows of factor matrices, a warp's work in passes that multiply by 16x8x8 matrix
 * instructions (warp_matrix.cuh): copied into shared memory, written back, summed in the Gram.
 *
 * The lanes of a warp are eight quads of four. Where an instruction numbers columns or the inner
 * dimension, any permutation will do as long as both operands agree. These let lanes read M and
 * write A in whole vectors: inner dimension: lane q of a quad stages the q-th 16-byte vector of
 * every four of a row; output columns: rows g and g + 8 of an operand are columns 2g and 2g + 1 of
 * 16 columns; rows of the tile: the k-th and (k + 4)-th inner index of the Gram are rows 2k and
 * 2k + 1. */
#pragma once

#include "kernels/dense/dense_sums.h"
#include "kernels/dense/dense_vector.cuh"
#include "kernels/dense/warp_matrix.cuh"
#include "numerics/unrolled.cuh"

/* The value of function<Real, WIDTH>() for rows of up to 64 entries. */
#define IN_WIDTH(entries, Real, function)                                                          \
    ((entries) <= 16   ? function<Real, 16>()                                                      \
     : (entries) <= 32 ? function<Real, 32>()                                                      \
     : (entries) <= 48 ? function<Real, 48>()                                                      \
                       : function<Real, 64>())

template <typename Real> struct alignas(2 * sizeof(Real)) pair {
    Real x[2];
};

/* Tiles of OCTETS times 8 rows of up to WIDTH entries. */
template <typename Number, int Columns, int Octets> struct row_tile {
    using Real = Number;
    static constexpr int WIDTH = Columns, OCTETS = Octets;
    static constexpr int BLOCKS = WIDTH / 16;              /* of 16 columns          */
    static constexpr int ROWS = 8 * OCTETS;                /* in a tile              */
    static constexpr int LENGTH = vector<Real>::LENGTH;    /* entries in 16 bytes    */
    static constexpr int VECTORS = WIDTH / (4 * LENGTH);   /* a lane's, of a row     */
    static constexpr int STAGE = OCTETS * VECTORS * 32;    /* vectors of a tile      */
    static constexpr int GRAM_TILES = DENSE_TILES(BLOCKS); /* of 16 x 8, upper half  */
    static constexpr int GRAM = GRAM_TILES * 4 * 32;       /* entries of these       */
    static constexpr int PARTIAL = GRAM + WIDTH;           /* and the inner products */
};

/* The shape of a factor matrix in device memory. */
struct matrix_shape {
    uint64_t rows;
    uint32_t ld, rank;
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

/* Starts copying the lane's vectors of a tile; beyond the end and the rank they become zeros. */
template <typename T>
__device__ __forceinline__ void fetch(vector<typename T::Real> *stage, const typename T::Real *from,
                                      const matrix_shape &shape, uint64_t tile, uint32_t lane)
{
    using Real = typename T::Real;
    EACH_UNROLLED(o, T::OCTETS) {
        const uint64_t row = tile * T::ROWS + 8 * o + lane / 4;
        const Real *vectors = from + row * shape.ld + lane % 4 * T::LENGTH;
        const int bytes = row < shape.rows
                              ? ((int)shape.rank - (int)(lane % 4) * T::LENGTH) * (int)sizeof(Real)
                              : 0;
        EACH_UNROLLED(v, T::VECTORS)
            stage_copy(&stage[(o * T::VECTORS + v) * 32 + stage_slot(lane)],
                       vectors + 4 * v * T::LENGTH, min(max(bytes - 64 * v, 0), 16));
    }
}

/* The entries in the stage of two neighbouring columns, the first of them even, of row `row` of an
 * octet. */
template <typename T>
__device__ __forceinline__ pair<typename T::Real> *
staged_pair(vector<typename T::Real> *stage, int octet, uint32_t row, uint32_t column)
{
    const uint32_t n = column / T::LENGTH; /* which vector of its row */
    vector<typename T::Real> *v =
        stage + ((uint32_t)octet * T::VECTORS + n / 4) * 32 + stage_slot(4 * row + n % 4);
    return (pair<typename T::Real> *)&v->x[column % T::LENGTH];
}

/* Writes an octet of rows, of which `first` is the first, from the lanes that have c, A' of these
 * rows. Columns from the rank on become zero. */
template <typename T>
__device__ __forceinline__ void store_octet(typename T::Real *a, const matrix_shape &shape,
                                            const double (&c)[T::BLOCKS][4], uint64_t first,
                                            uint32_t lane)
{
    using Real = typename T::Real;
    EACH_UNROLLED(i, 2) {
        const uint64_t row = first + 2 * (lane % 4) + i;
        if (row >= shape.rows)
            continue;
        Real *to = a + row * shape.ld;
        EACH_UNROLLED(b, T::BLOCKS) {
            const uint32_t column = 16 * b + 2 * (lane / 4);
            if (column < shape.ld)
                *(pair<Real> *)(to +
                                column) = {{column < shape.rank ? (Real)c[b][i] : Real(0),
                                            column + 1 < shape.rank ? (Real)c[b][2 + i] : Real(0)}};
        }
    }
}

/* gram (tiles of 16 x 8 from the diagonal on, row by row) += A' A of an octet of rows. */
template <int BLOCKS>
__device__ __forceinline__ void add_gram(double (&gram)[DENSE_TILES(BLOCKS)][4],
                                         const double (&c)[BLOCKS][4])
{
    int tile = 0;
    EACH_UNROLLED(p, BLOCKS)
#pragma unroll
        for (int q = p; q < BLOCKS; q++)
            EACH_UNROLLED(half, 2)
                multiply_add(gram[tile++], c[p][0], c[p][2], c[p][1], c[p][3], c[q][2 * half],
                             c[q][2 * half + 1]);
}

/* Adds the thread block's sums, warp after warp, in `sum` (shared, T::PARTIAL doubles), and writes
 * them to `partial`. inner: of the lane's two columns of every 16. */
template <typename T>
__device__ void leave_partial(double *sum, double *partial, const double (&gram)[T::GRAM_TILES][4],
                              double (&inner)[T::BLOCKS][2])
{
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int b = 0; b < T::BLOCKS; b++)
        for (int h = 0; h < 2; h++) {
            inner[b][h] += __shfl_xor_sync(0xffffffffu, inner[b][h], 1);
            inner[b][h] += __shfl_xor_sync(0xffffffffu, inner[b][h], 2);
        }
    for (uint32_t w = 0; w < blockDim.x / 32; w++) {
        __syncthreads();
        if (w != warp)
            continue;
        for (int t = 0; t < T::GRAM_TILES; t++)
            for (int i = 0; i < 4; i++) {
                double *to = &sum[(t * 4 + i) * 32 + lane];
                *to = gram[t][i] + (w ? *to : 0.0);
            }
        if (lane % 4 == 0)
            for (int b = 0; b < T::BLOCKS; b++)
                for (int h = 0; h < 2; h++) {
                    double *to = &sum[T::GRAM + 16 * b + 2 * (lane / 4) + h];
                    *to = inner[b][h] + (w ? *to : 0.0);
                }
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < T::PARTIAL; i += (int)blockDim.x)
        partial[(uint64_t)blockIdx.x * T::PARTIAL + (uint64_t)i] = sum[i];
}
