/* Solves the rows of few nonzeros (short_window.cuh), before the others. A thread block is one
 * warp. */
#include "kernels/rows/row_systems.h"
#include "kernels/rows/short_descent.cuh"
#include "kernels/rows/short_diagonal.cuh"
#include "kernels/rows/short_equations.cuh"

namespace
{

constexpr size_t ROOM_OF_PROCESSOR = 216 << 10; /* shared memory, bytes */

/* As many warps of a processor as its shared memory has room for. */
template <typename SOLVER> constexpr int warps_of()
{
    constexpr int room = ROOM_OF_PROCESSOR / sizeof(typename SOLVER::room_of);
    return room < SOLVER::MOST_WARPS ? room : SOLVER::MOST_WARPS;
}

template <typename SOLVER>
__global__ void __launch_bounds__(WARP, warps_of<SOLVER>())
    solve_short(const __grid_constant__ row_systems_args a)
{
    SOLVER solver(a, *reinterpret_cast<typename SOLVER::room_of *>(block_memory()));
    for (;;) {
        uint32_t chunk = threadIdx.x == 0 ? atomicAdd(a.room.next, 1) : 0;
        chunk = __shfl_sync(ALL, chunk, 0);
        if (chunk >= a.chunks)
            break;
        const bool done = solver.walk(chunk, [&] { return solver.solve(); });
        const row_totals sum = solver.totals();
        if (threadIdx.x == 0) {
            a.room.left[chunk] = !done;
            a.room.totals[chunk] = done ? sum : row_totals{};
        }
    }
}

/* Of h V + ridge, scaled to ones on its diagonal: with a smaller pivot, rows would lose too many
 * digits. */
constexpr double LEAST_PIVOT = 1e-6;
constexpr uint32_t INVERSE_THREADS = 1024;

/* x (R x R), symmetric with ones on its diagonal, becomes its negative inverse, by the sweeps of
 * Gauss and Jordan. False where a pivot is too small. */
__device__ bool invert(double *x, double *column, uint32_t rank)
{
    bool good = true;
    for (uint32_t k = 0; k < rank; k++) {
        const double pivot = x[k * rank + k], by = 1 / pivot;
        good = good && pivot > LEAST_PIVOT;
        if (threadIdx.x < rank)
            column[threadIdx.x] = x[threadIdx.x * rank + k];
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < rank * rank; i += INVERSE_THREADS) {
            const uint32_t row = i / rank, col = i % rank;
            if (row == k || col == k)
                x[i] = row == col ? -by : column[row + col - k] * by;
            else
                x[i] -= column[row] * column[col] * by;
        }
        __syncthreads();
    }
    return good;
}

/* a.common.v_inverse, by one thread block. Beside the matrix, shared memory has its scale and a
 * column. */
__global__ void __launch_bounds__(INVERSE_THREADS)
    invert_common(const __grid_constant__ row_systems_args a)
{
    const uint32_t rank = a.rank, entries = rank * rank;
    double *matrix = reinterpret_cast<double *>(block_memory()), *scale = matrix + entries;
    double *column = scale + rank;
    if (threadIdx.x < rank) {
        const uint32_t r = threadIdx.x;
        scale[r] = rsqrt(a.common.v[r * rank + r] + a.common.ridge[r]);
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < entries; i += INVERSE_THREADS) {
        const uint32_t row = i / rank, col = i % rank;
        matrix[i] = row == col ? 1 : a.common.v[i] * scale[row] * scale[col];
    }
    __syncthreads();
    const bool good = invert(matrix, column, rank);
    for (uint32_t i = threadIdx.x; i < entries; i += INVERSE_THREADS)
        a.common.v_inverse[i] = good ? -matrix[i] * scale[i / rank] * scale[i % rank] : NAN;
}

/* The only list of specialisations. */
struct short_kernel {
    row_kernel *solve;
    uint32_t bytes; /* of shared memory */
};

template <typename SOLVER> short_kernel instance()
{
    return {solve_short<SOLVER>, sizeof(typename SOLVER::room_of)};
}

template <template <int> class SOLVER> short_kernel choose(uint32_t rank)
{
    if (rank <= 16)
        return instance<SOLVER<16>>();
    if (rank <= 32)
        return instance<SOLVER<32>>();
    return instance<SOLVER<64>>();
}

template <int COLUMNS> using equations_of_unknown = short_equations<COLUMNS, false>;
template <int COLUMNS> using equations_of_zeros = short_equations<COLUMNS, true>;
template <int COLUMNS> using descent_of_unknown = short_descent<COLUMNS, false>;
template <int COLUMNS> using descent_of_zeros = short_descent<COLUMNS, true>;
template <int COLUMNS> using diagonal_of_doubles = short_diagonal<double, COLUMNS>;
template <int COLUMNS> using diagonal_of_floats = short_diagonal<float, COLUMNS>;

short_kernel kernel_of(const row_systems_args &args)
{
    if (args.rules.rates)
        return args.mttkrp.precision == PRECISION_SINGLE ? choose<diagonal_of_floats>(args.rank)
                                                         : choose<diagonal_of_doubles>(args.rank);
    if (args.rules.nonneg)
        return args.rules.unlisted != 0 ? choose<descent_of_zeros>(args.rank)
                                        : choose<descent_of_unknown>(args.rank);
    return args.rules.unlisted != 0 ? choose<equations_of_zeros>(args.rank)
                                    : choose<equations_of_unknown>(args.rank);
}

} // namespace

cudaError_t row_short_prepare(const struct row_systems_args *args, cudaStream_t stream)
{
    void *list[] = {const_cast<row_systems_args *>(args)};
    const size_t bytes = (args->rank + 2) * args->rank * sizeof(double);
    if (args->short_rows == 0 || args->rules.rates || args->rules.nonneg ||
        args->rules.unlisted == 0)
        return cudaSuccess;
    return cudaLaunchKernel(invert_common, dim3(1), dim3(INVERSE_THREADS), list, bytes, stream);
}

cudaError_t row_short_solve(const struct row_systems_args *args, cudaStream_t stream)
{
    const short_kernel kernel = kernel_of(*args);
    return launch_takers(kernel.solve, WARP, kernel.bytes, args->chunks, *args, stream);
}
