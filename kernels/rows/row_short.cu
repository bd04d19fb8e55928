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
        uint32_t span = threadIdx.x == 0 ? atomicAdd(a.next, 1) : 0;
        span = __shfl_sync(ALL, span, 0);
        if (span >= a.spans)
            break;
        const bool done = solver.walk(span, [&] { return solver.solve(); });
        const row_totals sum = solver.totals();
        if (threadIdx.x == 0) {
            a.left[span] = !done;
            a.totals[span] = done ? sum : row_totals{};
        }
    }
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

template <typename T> short_kernel choose_diagonal(uint32_t rank)
{
    if (rank <= 16)
        return instance<short_diagonal<T, 16, 1>>();
    if (rank <= 32)
        return instance<short_diagonal<T, 16, 2>>();
    return instance<short_diagonal<T, 32, 2>>();
}

short_kernel kernel_of(const row_systems_args &args)
{
    if (args.counts)
        return args.mttkrp.precision == PRECISION_SINGLE ? choose_diagonal<float>(args.rank)
                                                         : choose_diagonal<double>(args.rank);
    return args.nonneg ? choose<short_descent>(args.rank) : choose<short_equations>(args.rank);
}

} // namespace

extern "C" cudaError_t row_short_solve(const struct row_systems_args *args, cudaStream_t stream)
{
    const short_kernel kernel = kernel_of(*args);
    void *list[] = {const_cast<row_systems_args *>(args)};
    uint32_t warps;
    cudaError_t code = blocks_of_device(kernel.solve, WARP, kernel.bytes, &warps);
    if (code == cudaSuccess)
        code = cudaMemsetAsync(args->next, 0, sizeof *args->next, stream);
    if (code == cudaSuccess)
        code = cudaLaunchKernel(kernel.solve, dim3(min(warps, args->spans)), dim3(WARP), list,
                                kernel.bytes, stream);
    return code;
}
