/* Runs the threads of a kernel on the host, in turns: each is a fiber, and goes on until it waits
 * for the other lanes of its warp or for the other threads of its thread block. Where these would
 * wait forever, or wait at another place, the launch fails and says where they are. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1)
        : x(of_x), y(of_y), z(of_z)
    {
    }
};

/* Of the thread that runs. */
extern dim3 threadIdx, blockIdx, blockDim, gridDim;

constexpr unsigned LANES_OF_WARP = 32;
constexpr size_t LANES_SHARED_BYTES = 227 << 10; /* of a thread block, at most */

/* Where a thread is. */
struct lane_place {
    const char *what, *file;
    int line;
};

/* All lanes of a warp come here, or the launch fails. Returns x of each of them, which stay until
 * the lanes have met again. */
const uint64_t *lanes_meet(const lane_place &place, uint32_t mask, uint64_t x);

/* All threads of a thread block that have not ended come here. */
void lanes_meet_in_block(const lane_place &place);

/* Another thread block may go on before this one. */
void lanes_give_way();

struct lanes_launch {
    dim3 grid, block;
    size_t shared_bytes;
    void (*run)(const void *context); /* as each thread */
    const void *context;
};

/* Runs all threads; some thread blocks take turns. Shared memory begins with no number in it.
 * False where the launch failed, and why on stderr. */
bool lanes_run(const lanes_launch &launch);
