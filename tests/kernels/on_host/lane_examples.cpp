#include "kernels/on_host/lane_examples.h"

extern unsigned char shared_bytes[];

namespace
{

constexpr uint32_t ALL = ~0u;
constexpr unsigned WARP = LANES_OF_WARP;

double *shared()
{
    return reinterpret_cast<double *>(shared_bytes);
}

double sum_of_block()
{
    double x = threadIdx.x;
    for (int step = WARP / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(ALL, x, step);
    if (threadIdx.x % WARP == 0)
        shared()[threadIdx.x / WARP] = x;
    __syncthreads();
    return shared()[0] + shared()[1];
}

void take_work(const lane_example_args &a)
{
    for (;;) {
        if (threadIdx.x == 0)
            shared()[0] = atomicAdd(a.next, 1);
        __syncthreads();
        const uint32_t which = static_cast<uint32_t>(shared()[0]);
        if (which >= a.work)
            return;
        if (threadIdx.x == 0)
            a.out[which] = blockIdx.x;
        __syncthreads();
    }
}

void wait_elsewhere()
{
    if (threadIdx.x % 2)
        __syncwarp();
    else
        __shfl_sync(ALL, 1, 0);
}

void run_example(lane_example_args a)
{
    switch (a.which) {
    case LANES_SUM:
        a.out[blockIdx.x] = sum_of_block();
        break;
    case LANES_TAKE_WORK:
        take_work(a);
        break;
    case LANES_READ_UNWRITTEN:
        a.out[blockIdx.x] = shared()[threadIdx.x];
        break;
    case LANES_WAIT_ELSEWHERE:
        wait_elsewhere();
        break;
    case LANES_LEAVE:
        if (threadIdx.x != 5)
            __syncwarp();
        break;
    case LANES_LEAVE_BLOCK:
        if (threadIdx.x != 5)
            __syncthreads();
        else
            __syncwarp();
        break;
    case LANES_MEAN_FEW:
        __syncwarp(WARP - 1);
        break;
    case LANES_WRITE_BEYOND_END:
        shared()[LANE_EXAMPLE_THREADS] = 0;
        break;
    }
}

} // namespace

cudaError_t lane_example_run(const lane_example_args *args, uint32_t blocks)
{
    void *list[] = {const_cast<lane_example_args *>(args)};
    return cudaLaunchKernel(run_example, dim3(blocks), dim3(LANE_EXAMPLE_THREADS), list,
                            LANE_EXAMPLE_THREADS * sizeof(double), nullptr);
}
