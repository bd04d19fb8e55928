/* Solves the rows of few nonzeros (short_window.cuh), before the others. */
#include "kernels/rows/row_systems.h"
#include "kernels/rows/short_descent.cuh"
#include "kernels/rows/short_equations.cuh"

namespace
{

template <int COLUMNS> constexpr int warps_at_once = COLUMNS <= 16 ? 16 : COLUMNS <= 32 ? 12 : 6;

template <typename SOLVER>
__global__ void __launch_bounds__(WARP, warps_at_once<SOLVER::COLUMNS>)
    solve_short(const __grid_constant__ row_systems_args a)
{
    __shared__ typename SOLVER::room_of room;
    SOLVER solver(a, room);
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

template <template <int> class SOLVER> const void *choose(uint32_t rank)
{
    if (rank <= 16)
        return reinterpret_cast<const void *>(solve_short<SOLVER<16>>);
    if (rank <= 32)
        return reinterpret_cast<const void *>(solve_short<SOLVER<32>>);
    return reinterpret_cast<const void *>(solve_short<SOLVER<64>>);
}

} // namespace

extern "C" cudaError_t row_short_solve(const struct row_systems_args *args, cudaStream_t stream)
{
    const void *kernel = args->counts || args->nonneg ? choose<short_descent>(args->rank)
                                                      : choose<short_equations>(args->rank);
    void *list[] = {const_cast<row_systems_args *>(args)};
    int device, processors, blocks;
    cudaError_t code = cudaGetDevice(&device);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (code == cudaSuccess)
        code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, WARP, 0);
    if (code == cudaSuccess)
        code = cudaMemsetAsync(args->next, 0, sizeof *args->next, stream);
    if (code == cudaSuccess)
        code = cudaLaunchKernel(kernel,
                                dim3(min(static_cast<uint32_t>(processors * blocks), args->spans)),
                                dim3(WARP), list, 0, stream);
    return code;
}
