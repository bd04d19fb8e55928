#include "kernels/on_host/lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

dim3 threadIdx, blockIdx, blockDim, gridDim;

/* The dynamic shared memory of the thread block that runs (block_memory in row_warp.cuh). */
alignas(16) unsigned char shared_bytes[LANES_SHARED_BYTES];

extern "C" { /* where there is that sanitizer */
__attribute__((weak)) void __asan_poison_memory_region(const volatile void *, size_t);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void *, size_t);
}

namespace
{

/* Of the compiler, whose jumps from stack to stack no sanitizer takes for an end of functions. */
using jump_place = void *[5];

constexpr unsigned BLOCKS_AT_ONCE = 4;
constexpr unsigned MOST_THREADS = 1024; /* of a thread block */
constexpr size_t STACK_BYTES = 256 << 10, GUARD_BYTES = 4096;
constexpr int NOTHING_WRITTEN = 0xff; /* bytes of which floats and doubles are NaN */

enum lane_state { RUNS, WAITS_FOR_WARP, WAITS_FOR_BLOCK, HAS_ENDED };

struct fiber {
    ucontext_t start;
    jump_place at;
    bool has_begun;
    lane_state state;
    lane_place place; /* where it waits */
    unsigned thread, block;
};

struct warp {
    lane_place place;
    unsigned arrived;
    uint64_t x[2][LANES_OF_WARP]; /* of the last meetings, in turns */
    unsigned meetings;
};

struct thread_block {
    dim3 index;
    unsigned running, arrived; /* threads that have not ended; those that wait for the block */
    fiber *thread;
    warp *warps;
    unsigned char *shared; /* while another block runs */
};

/* The launch. */
lanes_launch of;
thread_block block[BLOCKS_AT_ONCE];
unsigned threads, blocks; /* of a block; that run at once */
uint64_t begun, all;      /* blocks               */
fiber *present;
jump_place launcher;
int why_launcher; /* goes on: 0 at first, else one of these */
constexpr int FAILED = 1, BLOCK_ENDED = 2;
unsigned char *stacks;
size_t stacks_bytes;

/* The words of one place are mostly the same ones. */
bool is_same(const char *a, const char *b)
{
    return a == b || strcmp(a, b) == 0;
}

bool is_same(const lane_place &a, const lane_place &b)
{
    return a.line == b.line && is_same(a.what, b.what) && is_same(a.file, b.file);
}

/* Whether two threads of a block are at the same place. */
bool are_together(const fiber &a, const fiber &b)
{
    return a.state == b.state && (a.state == HAS_ENDED || is_same(a.place, b.place));
}

void print_threads(const thread_block &b, unsigned first, unsigned last)
{
    const fiber &f = b.thread[first];
    fprintf(stderr, "  threads %u to %u ", first, last);
    if (f.state == HAS_ENDED)
        fprintf(stderr, "have ended\n");
    else
        fprintf(stderr, "%s %s, %s:%d\n", f.state == RUNS ? "have come to" : "wait in",
                f.place.what, f.place.file, f.place.line);
}

[[noreturn]] void return_to_launcher(int why)
{
    why_launcher = why;
    __builtin_longjmp(launcher, 1);
}

[[noreturn]] void fail(const char *why)
{
    const thread_block &b = block[present->block];
    fprintf(stderr, "thread %u of block %u: %s\n", present->thread, b.index.x, why);
    for (unsigned first = 0, t = 1; t <= threads; t++)
        if (t == threads || !are_together(b.thread[first], b.thread[t])) {
            print_threads(b, first, t - 1);
            first = t;
        }
    return_to_launcher(FAILED);
}

/* The thread goes on. */
[[noreturn]] void enter(fiber *to)
{
    present = to;
    threadIdx = dim3(to->thread);
    blockIdx = block[to->block].index;
    if (to->has_begun)
        __builtin_longjmp(to->at, 1);
    to->has_begun = true;
    setcontext(&to->start);
    abort();
}

__attribute__((noinline)) void switch_to(fiber *to)
{
    if (to != present && !__builtin_setjmp(present->at))
        enter(to);
}

/* The next thread of a block that can go on; NULL if there is none. Threads of every second block
 * take turns from the last to the first. In two blocks of four, a warp goes on as far as it can
 * before another one does: so they are as far apart as they may be. */
fiber *next_of(const thread_block &b, unsigned from)
{
    const unsigned step = b.index.x % 2 ? threads - 1 : 1;
    const bool by_warps = b.index.x % 4 >= 2;
    fiber *next = nullptr;
    for (unsigned k = 0, t = from; k < threads; k++) {
        t = t + step < threads ? t + step : t + step - threads;
        if (b.thread[t].state != RUNS)
            continue;
        if (!by_warps || t / LANES_OF_WARP == from / LANES_OF_WARP)
            return &b.thread[t];
        next = next ? next : &b.thread[t];
    }
    return next;
}

/* Another thread of the block goes on. */
void wait()
{
    fiber *next = next_of(block[present->block], present->thread);
    if (!next)
        fail("nobody can go on");
    switch_to(next);
}

void save_shared(thread_block &b)
{
    memcpy(b.shared, shared_bytes, of.shared_bytes);
}

/* What is after a block's shared memory has never been written. */
void check_shared()
{
    for (size_t i = of.shared_bytes; i < LANES_SHARED_BYTES; i++)
        if (shared_bytes[i] != NOTHING_WRITTEN)
            fail("shared memory was written beyond its end");
}

void run_thread()
{
    of.run(of.context);
    thread_block &b = block[present->block];
    present->state = HAS_ENDED;
    b.running--;
    if (b.running > 0 && b.arrived == b.running)
        fail("the other threads of the block wait for it");
    if (b.running > 0) {
        fiber *next = next_of(b, present->thread);
        if (!next)
            fail("the other threads wait for it");
        enter(next);
    }
    check_shared();
    return_to_launcher(BLOCK_ENDED);
}

/* Thread block `place` becomes the next one of the grid. */
void begin_block(unsigned place)
{
    thread_block &b = block[place];
    b.index = dim3(static_cast<unsigned>(begun++));
    b.running = threads;
    b.arrived = 0;
    memset(b.warps, 0, sizeof(warp) * ((threads + LANES_OF_WARP - 1) / LANES_OF_WARP));
    memset(b.shared, NOTHING_WRITTEN, of.shared_bytes);
    for (unsigned t = 0; t < threads; t++) {
        fiber &f = b.thread[t];
        f.has_begun = false;
        f.state = RUNS;
        f.place = {"its beginning", __FILE__, 0};
        f.thread = t;
        f.block = place;
        getcontext(&f.start);
        f.start.uc_stack.ss_sp =
            stacks + (static_cast<size_t>(place) * threads + t) * STACK_BYTES + GUARD_BYTES;
        f.start.uc_stack.ss_size = STACK_BYTES - GUARD_BYTES;
        f.start.uc_link = nullptr;
        makecontext(&f.start, run_thread, 0);
    }
}

/* Goes on with block `place`. */
[[noreturn]] void enter_block(unsigned place)
{
    memcpy(shared_bytes, block[place].shared, of.shared_bytes);
    fiber *next = next_of(block[place], threads - 1);
    if (!next)
        fail("no thread of the next block can go on");
    enter(next);
}

/* The next block after `place` that has threads; `place` itself if there is no other. */
unsigned next_block(unsigned place)
{
    unsigned next = (place + 1) % blocks;
    while (next != place && block[next].running == 0)
        next = (next + 1) % blocks;
    return next;
}

template <typename X> X *numbers(size_t count)
{
    X *x = static_cast<X *>(calloc(count, sizeof(X)));
    if (!x)
        abort();
    return x;
}

/* Runs the blocks; false if the launch failed. */
bool run_blocks()
{
    unsigned place = 0;
    why_launcher = 0;
    __builtin_setjmp(launcher);
    if (why_launcher == FAILED)
        return false;
    if (why_launcher == BLOCK_ENDED) {
        place = present->block;
        if (begun < all)
            begin_block(place);
        else
            place = next_block(place);
        if (block[place].running == 0)
            return true;
    }
    enter_block(place);
}

} // namespace

const uint64_t *lanes_meet(const lane_place &place, uint32_t mask, uint64_t x)
{
    thread_block &b = block[present->block];
    warp &w = b.warps[present->thread / LANES_OF_WARP];
    present->place = place;
    if (mask != ~0u)
        fail("not all lanes of the warp are meant");
    if (w.arrived > 0 && !is_same(place, w.place))
        fail("other lanes of the warp wait at another place");
    uint64_t *all_x = w.x[w.meetings % 2];
    w.place = place;
    all_x[present->thread % LANES_OF_WARP] = x;
    w.arrived++;
    if (w.arrived < LANES_OF_WARP) {
        present->state = WAITS_FOR_WARP;
        wait();
        return all_x;
    }
    w.arrived = 0;
    w.meetings++;
    fiber *first = &b.thread[present->thread / LANES_OF_WARP * LANES_OF_WARP];
    for (unsigned l = 0; l < LANES_OF_WARP; l++)
        first[l].state = RUNS;
    return all_x;
}

void lanes_meet_in_block(const lane_place &place)
{
    thread_block &b = block[present->block];
    present->place = place;
    b.arrived++;
    if (b.arrived < b.running) {
        present->state = WAITS_FOR_BLOCK;
        wait();
        return;
    }
    b.arrived = 0;
    for (unsigned t = 0; t < threads; t++)
        if (b.thread[t].state == WAITS_FOR_BLOCK) {
            if (!is_same(b.thread[t].place, place))
                fail("other threads of the block wait at another place");
            b.thread[t].state = RUNS;
        }
}

void lanes_give_way()
{
    const unsigned next = next_block(present->block);
    if (next == present->block || __builtin_setjmp(present->at))
        return;
    save_shared(block[present->block]);
    enter_block(next);
}

bool lanes_run(const lanes_launch &launch)
{
    of = launch;
    threads = of.block.x;
    all = of.grid.x;
    begun = 0;
    blocks = all < BLOCKS_AT_ONCE ? static_cast<unsigned>(all) : BLOCKS_AT_ONCE;
    if (threads == 0 || threads > MOST_THREADS || all == 0 ||
        of.shared_bytes > LANES_SHARED_BYTES) {
        fprintf(stderr, "a launch of %u threads, %u blocks, %zu bytes\n", threads, of.grid.x,
                of.shared_bytes);
        return false;
    }
    blockDim = of.block;
    gridDim = of.grid;
    stacks_bytes = static_cast<size_t>(blocks) * threads * STACK_BYTES;
    stacks = static_cast<unsigned char *>(mmap(nullptr, stacks_bytes, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (stacks == MAP_FAILED)
        abort();
    for (size_t at = 0; at < stacks_bytes; at += STACK_BYTES)
        mprotect(stacks + at, GUARD_BYTES, PROT_NONE);
    memset(shared_bytes, NOTHING_WRITTEN, sizeof shared_bytes);
    if (__asan_poison_memory_region) {
        __asan_unpoison_memory_region(stacks, stacks_bytes);
        __asan_poison_memory_region(shared_bytes + of.shared_bytes,
                                    LANES_SHARED_BYTES - of.shared_bytes);
    }
    for (unsigned k = 0; k < blocks; k++) {
        block[k].thread = numbers<fiber>(threads);
        block[k].warps = numbers<warp>(threads / LANES_OF_WARP + 1);
        block[k].shared = numbers<unsigned char>(of.shared_bytes + 1);
        begin_block(k);
    }
    const bool done = run_blocks();
    if (__asan_unpoison_memory_region)
        __asan_unpoison_memory_region(shared_bytes, LANES_SHARED_BYTES);
    for (unsigned k = 0; k < blocks; k++) {
        free(block[k].thread);
        free(block[k].warps);
        free(block[k].shared);
    }
    munmap(stacks, stacks_bytes);
    return done;
}
