/* Kernels that test how threads take turns on the host (lanes.h). */
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LANE_EXAMPLE_THREADS 64 /* of a thread block */

enum lane_example {
    LANES_SUM,             /* the sum of the numbers of all threads of a block  */
    LANES_TAKE_WORK,       /* each piece of work is taken by one block: which   */
    LANES_READ_UNWRITTEN,  /* shared memory that nobody has written             */
    LANES_WAIT_ELSEWHERE,  /* half of a warp waits at another place             */
    LANES_LEAVE,           /* a thread ends, and the others of its warp wait    */
    LANES_LEAVE_BLOCK,     /* a warp waits for itself, the other for the block  */
    LANES_MEAN_FEW,        /* a mask without some lanes                         */
    LANES_WRITE_BEYOND_END /* shared memory after its end                       */
};

struct lane_example_args {
    enum lane_example which;
    double *out; /* (blocks, or work) */
    uint32_t *next;
    uint32_t work;
};

cudaError_t lane_example_run(const struct lane_example_args *args, uint32_t blocks);

#ifdef __cplusplus
}
#endif
