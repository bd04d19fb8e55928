/* A thread block is one warp, or two that sum parts of the same systems, which the first one solves
 * (row_tiles). While it adds a batch of nonzeros to the system of a row, the rows that the next
 * batch of the row gathers are on their way. */
#include "kernels/rows/row_systems.h"

#include "kernels/rows/row_counts.cuh"
#include "kernels/rows/row_run_adder.cuh"

namespace
{

constexpr uint32_t JOIN_NUMBERS = 64, JOIN_RANGES = 16, LEAST_THREADS = 64;
constexpr uint32_t JOIN_AT_ONCE = 16; /* parts that a thread reads at once                       */
constexpr uint32_t JOIN_ROOM = 1 << 13; /* ranges of all thread blocks at most, where the longest
                                         * join has more parts than are read at once              */
constexpr int NUMBERS = sizeof(row_numbers) / sizeof(double);

/* The numbers, b, q, and the upper half of G by rows. */
template <int COLUMNS>
constexpr int part_length = NUMBERS + 2 * COLUMNS + COLUMNS *(COLUMNS + 1) / 2;
constexpr int LEAST_AT = 1; /* of a part */

template <typename T, int BLOCKS, bool COUNTS> struct row_walk : row_run_adder<T, BLOCKS, COUNTS> {
    using adder = row_run_adder<T, BLOCKS, COUNTS>;
    using adder::a, adder::room, adder::batches, adder::warp, adder::lane, adder::row,
        adder::numbers, adder::COLUMNS, adder::PARTS, adder::WARPS, adder::WIDTH,
        adder::row_run_adder, adder::old_entry, adder::begin_row, adder::add, adder::begin_run,
        adder::add_run, adder::sum_numbers, adder::put_row;

    /* What is added is the same in all lanes. */
    __device__ __forceinline__ void count(const row_totals &x)
    {
        if (lane == 0)
            add_totals(room.totals, x);
    }

    /* The numbers and the system in shared memory to `part`, or back. */
    __device__ __forceinline__ void copy_part(double *part, bool back)
    {
        constexpr int G_LD = row_room<COLUMNS>::LD;
        double *to = part + NUMBERS;
        if (back || lane == 0) {
            copy(part, &numbers.known, back);
            copy(part + LEAST_AT, &numbers.misfit, back);
            copy(part + LEAST_AT + 1, &numbers.size, back);
        }
        for (uint32_t j = lane; j < COLUMNS; j += WARP) {
            copy(to + j, room.b + j, back);
            copy(to + COLUMNS + j, room.q + j, back);
        }
        to += 2 * COLUMNS;
        for (uint32_t i = 0; i < COLUMNS; i++) {
            for (uint32_t j = i + lane; j < COLUMNS; j += WARP)
                copy(to + j - i, room.g + i * G_LD + j, back);
            to += COLUMNS - i;
        }
        __syncwarp();
    }

    __device__ __forceinline__ static void copy(double *part, double *mine, bool back)
    {
        if (back)
            *mine = *part;
        else
            *part = *mine;
    }

    /* Writes the new row; none of its entries becomes less than `floor`. */
    __device__ __forceinline__ void write_row(const double (&x)[PARTS], double floor)
    {
        T *m = static_cast<T *>(a.mttkrp.m) + static_cast<uint64_t>(row) * a.mttkrp.vectors * WIDTH;
        for (int k = 0; k < PARTS; k++) {
            const uint32_t r = lane + WARP * k;
            if (r >= a.mttkrp.vectors * WIDTH)
                continue;
            const double entry = r < a.rank ? x[k] * __ldg(a.common.out_scale + r) : 0;
            m[r] = static_cast<T>(r < a.rank && entry < floor ? floor : entry); /* a NaN stays */
        }
    }

    /* A row without known entries is zero. */
    __device__ __forceinline__ void solve_squares()
    {
        const row_problem problem = {
            a.rank,        a.rules.unlisted != 0 ? a.common.v : nullptr, a.common.ridge,
            a.common.cell, a.rules.counted ? numbers.known : 1,          a.rules};
        row_solver<COLUMNS> solver(problem, room);
        const bool solves = numbers.known > 0;
        double change = 0, penalty = 0;
        for (int k = 0; k < PARTS; k++)
            solver.a[k] = solves ? old_entry(lane + WARP * k) : 0;
        if (solves)
            change = solver.solve();
        write_row(solver.a, -INFINITY);
        for (int k = 0; a.rules.counted && k < PARTS; k++) {
            const uint32_t r = lane + WARP * k;
            if (r < a.rank)
                penalty += problem.times * __ldg(a.common.ridge + r) * solver.a[k] * solver.a[k];
        }
        if (solves)
            count({numbers.misfit + change, numbers.size + fabs(change),
                   a.rules.counted ? warp_sum(penalty) : 0});
    }

    /* In units of `unit`. */
    __device__ __forceinline__ double trace() const
    {
        double sum = 0;
        for (uint32_t r = lane; r < a.rank; r += WARP) {
            const double unit = __ldg(a.common.unit + r);
            sum += room.g[r * row_room<COLUMNS>::LD + r] * unit * unit;
        }
        return warp_sum(sum);
    }

    /* A row without counts is zero. */
    __device__ __forceinline__ void improve_counts()
    {
        const bool solves = numbers.least < INFINITY;
        const row_problem problem = {a.rank, nullptr, a.common.ridge, nullptr, trace(), a.rules};
        row_improver<COLUMNS> row_of(problem, room, a.common, numbers.least);
        double violation = 0;
        for (int k = 0; k < PARTS; k++)
            row_of.a[k] = solves ? old_entry(lane + WARP * k) : 0;
        if (solves) {
            violation = row_of.violation();
            row_of.improve(numbers.known <= poisson_short_rows(a.rank));
        }
        write_row(row_of.a, solves ? a.rules.floor : 0);
        count({0, 0, 0, violation});
    }

    /* part: where the system goes if it is only a part of the row's; else NULL, and it is left for
     * other devices, or solved. */
    __device__ __forceinline__ void end_row(double *part)
    {
        if (!a.joined) {
            sum_numbers();
            put_row();
        }
        if (warp == 0) {
            if (part) {
                copy_part(part, false);
            } else if (a.sent.part) {
                const uint64_t which = row - a.sent.first;
                copy_part(a.sent.part + which * part_length<COLUMNS>, false);
                if (a.sent.peers > 0 && lane == 0)
                    a.sent.least[which * a.sent.peers + a.sent.peer] = numbers.least;
            } else {
                if constexpr (COUNTS)
                    improve_counts();
                else
                    solve_squares();
                __syncwarp();
            }
        }
        if constexpr (WARPS > 1)
            sync_warps<WARPS>();
    }

    __device__ __forceinline__ double *part_of(uint32_t chunk, int tail) const
    {
        return a.room.part + (2 * static_cast<uint64_t>(chunk) + tail) * part_length<COLUMNS>;
    }

    /* What a walk over a chunk knows of its rows. */
    struct walk_state {
        bool head;    /* the present row begins before the chunk     */
        bool goes_on; /* the last row ends after it                 */
        bool reads;   /* there are nonzeros                         */
        bool open;    /* the system of a row is in registers or in shared memory */
    };

    /* Begins with a chunk, or with the whole system of join `which`. */
    __device__ __forceinline__ walk_state begin(uint32_t which)
    {
        if (a.joined) {
            if (warp == 0) {
                const row_join join = join_at(a, which);
                row = join.row;
                copy_part(a.room.part + join.first * uint64_t{part_length<COLUMNS>}, true);
            }
            return {false, false, false, true};
        }
        const uint64_t begin = __ldg(a.chunk + which), end = __ldg(a.chunk + which + 1);
        const bool head = __ldg(a.continued + which), goes_on = __ldg(a.continued + which + 1);
        if (begin < end) {
            const int skipped = a.short_rows > 0 && !__ldg(a.room.left + which) ? a.short_rows : 0;
            batches.begin({begin, end, __ldg(a.block + which), head, goes_on, skipped});
        }
        return {head, goes_on, begin < end, false};
    }

    /* Sums and solves the rows of a chunk; or solves the row of a join. The rows that the next
     * batch of a row gathers are on their way while one is added. */
    __device__ __forceinline__ void walk(uint32_t which_one)
    {
        batch x = {};
        if (warp == 0)
            room.totals = a.short_rows > 0 && !a.joined ? a.room.totals[which_one] : row_totals{};
        walk_state at = begin(which_one);
        for (int which = 0; at.open || at.reads; which ^= 1) {
            batch y = {};
            uint32_t next = 0;
            const bool runs = at.open && at.reads && begin_run();
            at.reads = at.reads && (runs || batches.find_next(&next));
            const bool stays = at.open && at.reads && (runs || next == row);
            if (!runs && at.reads && (stays || !at.open))
                y = batches.take_batch(which ^ 1, next);
            __pipeline_commit();
            __pipeline_wait_prior(1);
            sync_warps<WARPS>();
            if (x.count > 0)
                add(x, which);
            sync_warps<WARPS>();
            x = y;
            if (runs)
                add_run();
            if (stays)
                continue;
            if (at.open) {
                const bool tail = !at.reads && at.goes_on;
                end_row(at.head ? part_of(which_one, 0) : tail ? part_of(which_one, 1) : nullptr);
                at.head = false;
            }
            at.open = at.reads;
            if (at.reads)
                begin_row(next);
        }
    }
};

template <int BLOCKS> constexpr int threads_of_row = warps_of_row<BLOCKS> *WARP;

/* Thread blocks of a processor. */
template <int BLOCKS>
constexpr int blocks_at_once = BLOCKS <= 1   ? 16
                               : BLOCKS <= 2 ? 14
                               : BLOCKS <= 4 ? 12
                                             : 6;

/* The next chunk or join, for all threads of a thread block. */
template <int WARPS> __device__ __forceinline__ uint32_t take_work(uint32_t *next, uint32_t *taken)
{
    uint32_t which = threadIdx.x == 0 ? atomicAdd(next, 1) : 0;
    if constexpr (WARPS == 1)
        return __shfl_sync(ALL, which, 0);
    if (threadIdx.x == 0)
        *taken = which;
    __syncthreads();
    which = *taken;
    __syncthreads();
    return which;
}

template <typename T, int BLOCKS, bool COUNTS>
__global__ void __launch_bounds__(threads_of_row<BLOCKS>, blocks_at_once<BLOCKS>)
    solve_chunks(const __grid_constant__ row_systems_args a)
{
    using room = row_room<BLOCKS * TILE_SIDE>;
    row_walk<T, BLOCKS, COUNTS> walk(a, *reinterpret_cast<room *>(block_memory()));
    for (;;) {
        const uint32_t which = take_work<warps_of_row<BLOCKS>>(a.room.next, &walk.room.work);
        if (which >= (a.joined ? a.joins : a.chunks))
            break;
        walk.walk(which);
        if (threadIdx.x == 0)
            a.room.totals[a.joined ? a.chunks + which : which] = walk.room.totals;
    }
}

/* A number of all parts of a join becomes their sum, or their least, in the place of the first. A
 * thread block has JOIN_NUMBERS of the numbers, and the chunks in as many ranges as it has threads
 * for each; sums are added in the order of the chunks. A join has as many thread blocks as its
 * numbers take. */
__global__ void __launch_bounds__(JOIN_RANGES *JOIN_NUMBERS)
    join_parts(const __grid_constant__ row_systems_args a, uint32_t length)
{
    constexpr uint32_t AT_ONCE = JOIN_AT_ONCE;
    __shared__ double sums[JOIN_RANGES][JOIN_NUMBERS];
    const uint32_t column = threadIdx.x % JOIN_NUMBERS, range = threadIdx.x / JOIN_NUMBERS;
    const uint32_t ranges = blockDim.x / JOIN_NUMBERS;
    const uint32_t blocks = (length + JOIN_NUMBERS - 1) / JOIN_NUMBERS;
    const row_join join = a.join[blockIdx.x / blocks];
    const uint32_t number = blockIdx.x % blocks * JOIN_NUMBERS + column;
    const uint32_t i = min(number, length - 1);
    const bool is_least = a.rules.rates && a.rules.matrix && i == LEAST_AT;
    const uint64_t stride = 2 * uint64_t{length};
    const uint32_t begin = join.first / 2 + 1, each = (join.last + ranges - begin) / ranges;
    const uint32_t end = min(begin + (range + 1) * each, join.last + 1);
    double sum = is_least ? INFINITY : 0;
    for (uint32_t s = begin + range * each; s < end; s += AT_ONCE) {
        double x[AT_ONCE];
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++)
            x[k] = __ldcg(a.room.part + i + min(s + k, end - 1) * stride);
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++)
            if (s + k < end)
                sum = is_least ? fmin(sum, x[k]) : sum + x[k];
    }
    sums[range][column] = sum;
    __syncthreads();
    if (range > 0 || number >= length)
        return;
    double *first = a.room.part + join.first * uint64_t{length} + i, all = *first;
    for (uint32_t k = 0; k < ranges; k++)
        all = is_least ? fmin(all, sums[k][column]) : all + sums[k][column];
    *first = all;
}

/* The least value of a row, of those that devices have; a device without one has left 0. */
__global__ void __launch_bounds__(LEAST_THREADS)
    find_least(const __grid_constant__ row_systems_args a, uint32_t length)
{
    const uint32_t i = blockIdx.x * LEAST_THREADS + threadIdx.x;
    double least = INFINITY;
    if (i >= a.joins)
        return;
    for (uint32_t k = 0; k < a.sent.peers; k++) {
        const double x = a.sent.least[i * uint64_t{a.sent.peers} + k];
        least = x > 0 ? fmin(least, x) : least;
    }
    a.room.part[i * uint64_t{length} + LEAST_AT] = least;
}

/* The only list of specialisations. */
struct solve_kernel {
    row_kernel *solve;
    int threads;                                  /* of a thread block */
    uint32_t length;                              /* of a part */
    uint32_t (*bytes)(int gathers, bool weighed); /* of shared memory that a thread block needs */
};

/* The place of G comes last. */
template <typename T, int BLOCKS> uint32_t shared_bytes_of(int gathers, bool weighed)
{
    using room = row_room<BLOCKS * TILE_SIDE>;
    constexpr uint32_t G = sizeof room::g;
    return sizeof(room) - G + max(G, row_adder<T, BLOCKS, true>::stage_bytes(gathers, weighed));
}

template <typename T, int BLOCKS, bool COUNTS> solve_kernel instance()
{
    constexpr int COLUMNS = BLOCKS * TILE_SIDE;
    return {solve_chunks<T, BLOCKS, COUNTS>, threads_of_row<BLOCKS>, part_length<COLUMNS>,
            shared_bytes_of<T, BLOCKS>};
}

template <typename T, bool COUNTS> solve_kernel choose(uint32_t rank)
{
    if (rank <= 8)
        return instance<T, 1, COUNTS>();
    if (rank <= 16)
        return instance<T, 2, COUNTS>();
    if (rank <= 32)
        return instance<T, 4, COUNTS>();
    return instance<T, 8, COUNTS>();
}

template <bool COUNTS> solve_kernel kernel_of(uint32_t rank, enum precision precision)
{
    return precision == PRECISION_SINGLE ? choose<float, COUNTS>(rank)
                                         : choose<double, COUNTS>(rank);
}

} // namespace

uint64_t row_system_length(uint32_t rank, int matrix)
{
    return matrix ? kernel_of<false>(rank, PRECISION_DOUBLE).length : row_multiply_length(rank);
}

cudaError_t row_systems_walkers(uint32_t rank, uint32_t gathers, int matrix, uint32_t *walkers)
{
    const solve_kernel kernel = kernel_of<false>(rank, PRECISION_DOUBLE);
    const uint32_t bytes = kernel.bytes(static_cast<int>(gathers), false);
    return matrix ? resident_blocks(kernel.solve, kernel.threads, bytes, walkers)
                  : row_multiply_groups(rank, walkers);
}

static cudaError_t launch(const row_systems_args &args, cudaStream_t stream)
{
    const solve_kernel kernel = args.rules.rates
                                    ? kernel_of<true>(args.rank, args.mttkrp.precision)
                                    : kernel_of<false>(args.rank, args.mttkrp.precision);
    const uint32_t bytes = kernel.bytes(args.mttkrp.gathers, args.rules.weighed != 0);
    return launch_takers(kernel.solve, kernel.threads, bytes,
                         args.joined ? args.joins : args.chunks, args, stream);
}

cudaError_t row_systems_solve(const struct row_systems_args *args, cudaStream_t stream)
{
    row_systems_args pass = *args;
    pass.joined = 0;
    if (args->short_rows > 0 && args->rules.matrix)
        CUDA_TRY(row_short_solve(args, stream));
    CUDA_TRY(args->rules.matrix ? launch(pass, stream) : row_multiply_chunks(args, stream));
    return row_systems_join(args, stream);
}

cudaError_t row_systems_join(const struct row_systems_args *args, cudaStream_t stream)
{
    row_systems_args pass = *args;
    const uint32_t length =
        static_cast<uint32_t>(row_system_length(args->rank, args->rules.matrix));
    pass.joined = 1;
    if (args->joins == 0)
        return cudaSuccess;
    const uint32_t blocks = (length + JOIN_NUMBERS - 1) / JOIN_NUMBERS;
    uint32_t ranges = 1;
    while (ranges < JOIN_RANGES && ranges * JOIN_AT_ONCE < args->most_parts &&
           2 * ranges * args->joins * blocks <= JOIN_ROOM)
        ranges *= 2;
    void *list[] = {&pass, const_cast<uint32_t *>(&length)};
    CUDA_TRY(cudaLaunchKernel(join_parts, dim3(args->joins * blocks), dim3(ranges * JOIN_NUMBERS),
                              list, 0, stream));
    pass.join += args->first_is_part;
    pass.joins = row_systems_joined(args);
    if (pass.joins == 0)
        return cudaSuccess;
    return args->rules.matrix ? launch(pass, stream) : row_multiply_joins(&pass, stream);
}

cudaError_t row_sent_solve(const struct row_systems_args *args, uint32_t rows, cudaStream_t stream)
{
    row_systems_args pass = *args;
    const uint32_t length =
        static_cast<uint32_t>(row_system_length(args->rank, args->rules.matrix));
    pass.joined = 1;
    pass.chunks = 0;
    pass.join = nullptr;
    pass.joins = rows;
    pass.room.part = args->sent.part;
    pass.sent.part = nullptr;
    if (rows == 0)
        return cudaSuccess;
    void *list[] = {&pass, const_cast<uint32_t *>(&length)};
    if (args->sent.peers > 0)
        CUDA_TRY(cudaLaunchKernel(find_least, dim3((rows + LEAST_THREADS - 1) / LEAST_THREADS),
                                  dim3(LEAST_THREADS), list, 0, stream));
    return args->rules.matrix ? launch(pass, stream) : row_multiply_joins(&pass, stream);
}
