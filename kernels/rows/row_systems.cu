/* A thread block is one warp. The rows that up to 8 nonzeros gather are copied into shared memory
 * without passing through registers, while the warp works on those of the batch before; it reads
 * them in the layout of the matrix instructions. */
#include "kernels/rows/row_systems.h"

#include "kernels/rows/row_batches.cuh"
#include "kernels/rows/row_solve.cuh"
#include "kernels/rows/row_tiles.cuh"
#include "numerics/row_term.h"

namespace
{

constexpr double SHORT_LIMIT = 1e8; /* of K, which costs as many digits                   */
constexpr int JOIN_THREADS = 512;

/* Numbers of a system beside b and G. */
struct row_numbers {
    double known;        /* listed entries whose value is known          */
    double misfit, size; /* struct row_totals, with the row as it was */
};
constexpr int NUMBERS = sizeof(row_numbers) / sizeof(double);

/* b, the upper half of G by rows, the numbers. */
template <int COLUMNS> constexpr int part_length = COLUMNS + COLUMNS *(COLUMNS + 1) / 2 + NUMBERS;

template <typename T, int BLOCKS> struct row_walk {
    static constexpr int COLUMNS = BLOCKS * TILE_SIDE;
    static constexpr int LD = row_batches<T, COLUMNS>::LD;
    static constexpr int PAIRS = tile_pairs<BLOCKS>;
    static constexpr int WIDTH = VECTOR_BYTES / sizeof(T);
    static constexpr int PARTS = row_room<COLUMNS>::PARTS;
    static constexpr bool IN_REGISTERS = !row_room<COLUMNS>::HOLDS_BATCH; /* a batch's z */

    const row_systems_args &a;
    row_room<COLUMNS> &room;
    row_batches<T, COLUMNS> batches;
    const uint32_t lane, t, g; /* lane = 4 g + t                                               */
    uint32_t row;              /* the one that is being summed                                 */
    double b[BLOCKS];          /* of nonzeros t and t + 4 of the batches                       */
    double sum[PAIRS][4];      /* tiles of G                                                   */
    row_numbers numbers;       /* of nonzeros t and t + 4, in lanes with g = 0                 */

    /* stages: shared, of row_batches. */
    __device__ __forceinline__ row_walk(const row_systems_args &args, row_room<COLUMNS> &of,
                                        T *stages)
        : a(args), room(of), batches(args.mttkrp, stages), lane(threadIdx.x), t(lane % 4),
          g(lane / 4)
    {
    }

    __device__ __forceinline__ double old_entry(uint32_t r) const
    {
        const uint64_t ld = static_cast<uint64_t>(a.mttkrp.vectors) * WIDTH;
        return r < a.rank
                   ? static_cast<double>(__ldg(static_cast<const T *>(a.old) + row * ld + r)) *
                         __ldg(a.common.now + r)
                   : 0;
    }

    /* misfit, size and penalty are the same in all lanes. */
    __device__ __forceinline__ void count(double misfit, double size, double penalty)
    {
        if (lane == 0)
            room.totals = {room.totals.misfit + misfit, room.totals.size + size,
                           room.totals.penalty + penalty};
    }

    __device__ __forceinline__ void begin_row(uint32_t which)
    {
        row = which;
        numbers = {};
#pragma unroll
        for (int i = 0; i < BLOCKS; i++) {
            room.old[i * TILE_SIDE + g] = old_entry(i * TILE_SIDE + g);
            b[i] = 0;
        }
#pragma unroll
        for (int k = 0; k < PAIRS; k++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sum[k][e] = 0;
        __syncwarp();
    }

    /* Where entry g of block i of nonzero t of a half stands in the rows of a gather. */
    __device__ __forceinline__ uint32_t place_of(int half, int i) const
    {
        return (4 * half + t) * LD + i * TILE_SIDE + g;
    }

    /* z = the product of the rows that nonzero t of a half has gathered, GATHERS or any number; of
     * tensors of order 1, z is all ones. */
    template <int GATHERS>
    __device__ __forceinline__ void multiply(int which, int half, double (&z)[BLOCKS]) const
    {
        const int gathers = GATHERS == ANY ? a.mttkrp.gathers : GATHERS;
        const T *rows = batches.rows_of(which, 0) + place_of(half, 0);
#pragma unroll
        for (int i = 0; i < BLOCKS; i++)
            z[i] = GATHERS == ANY ? 1 : rows[i * TILE_SIDE];
#pragma unroll
        for (int k = GATHERS == ANY ? 0 : 1; k < gathers; k++)
#pragma unroll
            for (int i = 0; i < BLOCKS; i++)
                z[i] *= static_cast<double>(rows[k * BATCH * LD + i * TILE_SIDE]);
    }

    /* This lane's part of the model's value at nonzero t of a half. */
    __device__ __forceinline__ double part_of_value(const double (&z)[BLOCKS]) const
    {
        double even = z[0] * room.old[g], odd = 0;
#pragma unroll
        for (int i = 1; i < BLOCKS; i++) {
            if (i % 2)
                odd = fma(z[i], room.old[i * TILE_SIDE + g], odd);
            else
                even = fma(z[i], room.old[i * TILE_SIDE + g], even);
        }
        return even + odd;
    }

    /* What nonzero t of a half adds, where the model has the value m; of one that is not there,
     * nothing. */
    __device__ __forceinline__ struct row_term term_of(const batch &x, int half, double m)
    {
        const bool is_here = 4 * half + static_cast<int>(t) < x.count;
        const struct row_term term = row_term(x.value[half], m, is_here ? a.unlisted : 0);
        const int known = row_term_known(x.value[half]);
        numbers.known += known;
        numbers.misfit += a.only_squares ? known * m * m : term.misfit;
        numbers.size += fabs(term.misfit);
        return term;
    }

    __device__ __forceinline__ void add_vector(double c, const double (&z)[BLOCKS])
    {
#pragma unroll
        for (int i = 0; i < BLOCKS; i++)
            b[i] = fma(c, z[i], b[i]);
    }

    /* G += sum of w z z', where z(half, block) is entry g of nonzero t. */
    template <typename Z> __device__ __forceinline__ void add_matrix(const double (&w)[2], Z &&z)
    {
        each_tile_pair<BLOCKS>([&](auto number) {
            constexpr int k = decltype(number)::value;
            constexpr tile_pair p = tile_pair_at(k);
            constexpr int below = p.row + 1 < BLOCKS ? p.row + 1 : p.row;
            multiply_tiles(sum[k], z(0, p.row), z(0, below), z(1, p.row), z(1, below),
                           w[0] * z(0, p.column), w[1] * z(1, p.column));
        });
    }

    /* Adds a batch, whose rows are in stage `which`. */
    template <int GATHERS> __device__ __forceinline__ void add_batch(const batch &x, int which)
    {
        double z[2][BLOCKS], m[2], w[2];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            multiply<GATHERS>(which, half, z[half]);
            m[half] = part_of_value(z[half]);
            if constexpr (!IN_REGISTERS)
                for (int i = 0; i < BLOCKS; i++)
                    room.z[place_of(half, i)] = z[half][i];
        }
#pragma unroll
        for (int step = 4; step < WARP; step *= 2)
#pragma unroll
            for (int half = 0; half < 2; half++)
                m[half] += __shfl_xor_sync(ALL, m[half], step);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const struct row_term term = term_of(x, half, m[half]);
            if constexpr (!IN_REGISTERS)
                for (int i = 0; i < BLOCKS; i++)
                    z[half][i] = room.z[place_of(half, i)];
            add_vector(term.c, z[half]);
            w[half] = term.w;
        }
        if (a.only_squares)
            return;
        if constexpr (IN_REGISTERS)
            add_matrix(w, [&](int half, int i) { return z[half][i]; });
        else
            add_matrix(w, [&](int half, int i) { return room.z[place_of(half, i)]; });
    }

    __device__ __forceinline__ void add(const batch &x, int which)
    {
        if (a.mttkrp.gathers == 2)
            add_batch<2>(x, which);
        else if (a.mttkrp.gathers == 3)
            add_batch<3>(x, which);
        else
            add_batch<ANY>(x, which);
    }

    __device__ __forceinline__ void make_z(int which, int half, double (&z)[BLOCKS]) const
    {
        if (a.mttkrp.gathers == 2)
            multiply<2>(which, half, z);
        else
            multiply<ANY>(which, half, z);
    }

    __device__ __forceinline__ double inverse_ridge(uint32_t r) const
    {
        return r < a.rank ? __ldg(a.common.inverse + r) : 0;
    }

    /* K = Z D Z', of the rows z of a batch, where D has the inverse ridges: lane 4 g + t gets
     * entries (g, 2 t) and (g, 2 t + 1). */
    __device__ __forceinline__ void short_matrix(int which, double (&k)[2]) const
    {
        const T *rows = batches.rows_of(which, 0) + g * LD + t;
        k[0] = k[1] = 0;
#pragma unroll
        for (int s = 0; s < COLUMNS; s += 4) {
            double z = 1;
            for (int n = 0; n < a.mttkrp.gathers; n++)
                z *= static_cast<double>(rows[n * BATCH * LD + s]);
            multiply_8x8x4(k[0], k[1], z, z * inverse_ridge(s + t));
        }
    }

    /* y of K y = y, row g in the lanes of g, by elimination of the first `count` columns. */
    __device__ __forceinline__ static double eliminate(double (&k)[2], double y, int count)
    {
        const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
        for (int j = 0; j < count; j++) {
            const double column = j % 2 ? k[1] : k[0];
            const double pivot = __shfl_sync(ALL, column, 4 * j + j / 2);
            const double own = __shfl_sync(ALL, column, 4 * g + j / 2);
            const double f = g == j ? 0 : own / pivot;
            k[0] -= f * __shfl_sync(ALL, k[0], 4 * j + t);
            k[1] -= f * __shfl_sync(ALL, k[1], 4 * j + t);
            y -= f * __shfl_sync(ALL, y, 4 * j);
        }
        return y / __shfl_sync(ALL, g % 2 ? k[1] : k[0], 4 * g + g / 2);
    }

    /* Solves a row of up to BATCH nonzeros where unlisted entries are unknown. With the ridge D^-1,
     * its minimum is a = D Z' y, where (Z D Z' + 1) y = x has an equation for each known nonzero;
     * y is what is left of x. False, and nothing is done, where K is so large beside 1 that y would
     * lose digits. */
    __device__ __forceinline__ bool solve_short(const batch &x, int which)
    {
        const uint32_t known = (__ballot_sync(ALL, row_term_known(x.value[0])) & 15) |
                               (__ballot_sync(ALL, row_term_known(x.value[1])) & 15) << 4;
        const double times = a.counted ? __popc(known) : 1, inverse = known ? 1 / times : 0;
        double k[2];
        short_matrix(which, k);
        for (int e = 0; e < 2; e++)
            k[e] = (known >> g & known >> (2 * t + e) & 1) ? inverse * k[e] : 0;
        if (__any_sync(ALL, !(fabs(k[0]) + fabs(k[1]) < SHORT_LIMIT)))
            return false;
        for (int e = 0; e < 2; e++)
            k[e] += g == 2 * t + e;
        const double low = __shfl_sync(ALL, x.value[0], g % 4);
        const double high = __shfl_sync(ALL, x.value[1], g % 4);
        double y = known >> g & 1 ? (g < 4 ? low : high) : 0;
        y = eliminate(k, y, x.count);
        const double misfit = warp_sum(t == 0 ? y * y : 0);
        count(misfit, misfit, write_short(x, which, y, times, inverse));
        return true;
    }

    /* The new row, a = D Z' y; returns the penalty of a ridge that counts entries. */
    __device__ __forceinline__ double write_short(const batch &x, int which, double y, double times,
                                                  double inverse)
    {
        double entry[BLOCKS] = {}, penalty = 0;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            double z[BLOCKS];
            make_z(which, half, z);
            const double of_t = __shfl_sync(ALL, y, 16 * half + 4 * t);
#pragma unroll
            for (int i = 0; i < BLOCKS; i++)
                entry[i] = fma(of_t, z[i], entry[i]);
        }
        T *m =
            static_cast<T *>(a.mttkrp.m) + static_cast<uint64_t>(x.row) * a.mttkrp.vectors * WIDTH;
#pragma unroll
        for (int i = 0; i < BLOCKS; i++) {
            const uint32_t r = i * TILE_SIDE + g;
            double sum = entry[i];
            sum += __shfl_xor_sync(ALL, sum, 1);
            sum += __shfl_xor_sync(ALL, sum, 2);
            if (i % 4 != static_cast<int>(t) || r >= a.mttkrp.vectors * WIDTH)
                continue;
            sum *= inverse * inverse_ridge(r);
            m[r] = r < a.rank ? static_cast<T>(sum * __ldg(a.common.out + r)) : T(0);
            if (a.counted && r < a.rank)
                penalty += times * __ldg(a.common.ridge + r) * sum * sum;
        }
        return a.counted ? warp_sum(penalty) : 0;
    }

    /* The tile (block, column), block >= column, into the upper half of G. */
    __device__ __forceinline__ void put_tile(int block, int column, double x, double y)
    {
        constexpr int G_LD = row_room<COLUMNS>::LD;
        const uint32_t i = block * TILE_SIDE + g, j = column * TILE_SIDE + 2 * t;
        if (i >= j)
            room.g[j * G_LD + i] = x;
        if (i >= j + 1)
            room.g[(j + 1) * G_LD + i] = y;
    }

    __device__ __forceinline__ void put_row()
    {
        each_tile_pair<BLOCKS>([&](auto number) {
            constexpr int k = decltype(number)::value;
            constexpr tile_pair p = tile_pair_at(k);
            if constexpr (p.row >= p.column)
                put_tile(p.row, p.column, sum[k][0], sum[k][1]);
            if constexpr (p.row + 1 < BLOCKS)
                put_tile(p.row + 1, p.column, sum[k][2], sum[k][3]);
        });
#pragma unroll
        for (int i = 0; i < BLOCKS; i++) {
            double x = b[i];
            x += __shfl_xor_sync(ALL, x, 1);
            x += __shfl_xor_sync(ALL, x, 2);
            if (t == 0)
                room.b[i * TILE_SIDE + g] = x;
        }
        __syncwarp();
    }

    /* Of all nonzeros, in all lanes. */
    __device__ __forceinline__ void sum_numbers()
    {
        double *x = &numbers.known;
        for (int k = 0; k < NUMBERS; k++) {
            double y = x[k];
            y += __shfl_xor_sync(ALL, y, 1);
            y += __shfl_xor_sync(ALL, y, 2);
            x[k] = __shfl_sync(ALL, y, 0);
        }
    }

    /* The system in shared memory to `to`, or back. */
    __device__ __forceinline__ void copy_part(double *part, bool back)
    {
        constexpr int G_LD = row_room<COLUMNS>::LD;
        for (uint32_t j = lane; j < COLUMNS; j += WARP)
            copy(part + j, room.b + j, back);
        double *to = part + COLUMNS;
        for (uint32_t i = 0; i < COLUMNS; i++) {
            for (uint32_t j = i + lane; j < COLUMNS; j += WARP)
                copy(to + j - i, room.g + i * G_LD + j, back);
            to += COLUMNS - i;
        }
        double *x = &numbers.known;
        for (int k = 0; k < NUMBERS; k++)
            if (back || lane == 0)
                copy(to + k, x + k, back);
        __syncwarp();
    }

    __device__ __forceinline__ static void copy(double *part, double *mine, bool back)
    {
        if (back)
            *mine = *part;
        else
            *part = *mine;
    }

    /* Solves the row whose whole system is in shared memory, and writes it. */
    __device__ __forceinline__ void solve_row()
    {
        const row_problem problem = {a.rank, a.unlisted != 0 ? a.common.v : nullptr, a.common.ridge,
                                     a.counted ? numbers.known : 1, a.nonneg != 0};
        row_solver<COLUMNS> solver(problem, room);
        const bool solves = numbers.known > 0 || problem.v;
        double change = 0, penalty = 0;
        for (int k = 0; k < PARTS; k++)
            solver.a[k] = solves ? old_entry(lane + WARP * k) : 0;
        if (solves)
            change = solver.solve();
        T *m = static_cast<T *>(a.mttkrp.m) + static_cast<uint64_t>(row) * a.mttkrp.vectors * WIDTH;
        for (int k = 0; k < PARTS; k++) {
            const uint32_t r = lane + WARP * k;
            if (a.counted && r < a.rank)
                penalty += problem.times * __ldg(a.common.ridge + r) * solver.a[k] * solver.a[k];
            if (r < a.mttkrp.vectors * WIDTH)
                m[r] = r < a.rank ? static_cast<T>(solver.a[k] * __ldg(a.common.out + r)) : T(0);
        }
        if (solves)
            count(numbers.misfit + change, numbers.size + fabs(change),
                  a.counted ? warp_sum(penalty) : 0);
        __syncwarp();
    }

    /* part: where the system goes if it is only a part of the row's; else NULL. */
    __device__ __forceinline__ void end_row(double *part)
    {
        sum_numbers();
        if (a.only_squares) {
            count(numbers.misfit, 0, 0);
            return;
        }
        put_row();
        if (part)
            copy_part(part, false);
        else
            solve_row();
    }

    __device__ __forceinline__ double *part_of(uint32_t span, int tail) const
    {
        return a.part + (2 * static_cast<uint64_t>(span) + tail) * part_length<COLUMNS>;
    }

    /* Sums and solves the rows of a span. The rows of the next batch are on their way while one is
     * added. */
    __device__ __forceinline__ void walk(uint32_t span)
    {
        const uint64_t begin = __ldg(a.span + span), end = __ldg(a.span + span + 1);
        bool head = __ldg(a.continued + span), open = false;
        const bool goes_on = __ldg(a.continued + span + 1);
        room.totals = {};
        if (begin == end)
            return;
        batches.begin({begin, end, __ldg(a.block + span), head, goes_on});
        batch x = batches.next_batch(0);
        for (int which = 0;; which ^= 1) {
            const batch y = batches.next_batch(which ^ 1);
            __pipeline_wait_prior(1);
            __syncwarp();
            if (open && (x.count == 0 || x.row != row)) {
                const bool tail = x.count == 0 && goes_on;
                end_row(head ? part_of(span, 0) : tail ? part_of(span, 1) : nullptr);
                open = head = false;
            }
            if (x.count == 0)
                break;
            if (!(x.whole && a.short_rows && solve_short(x, which))) {
                if (!open)
                    begin_row(x.row);
                open = true;
                add(x, which);
            }
            __syncwarp();
            x = y;
        }
    }

    /* The system of a row, from its parts, which are in shared memory. */
    __device__ __forceinline__ void finish(uint32_t which, double *part)
    {
        row = which;
        room.totals = {};
        copy_part(part, true);
        solve_row();
    }
};

template <int BLOCKS>
constexpr int warps_at_once = BLOCKS <= 1   ? 16
                              : BLOCKS <= 2 ? 14
                              : BLOCKS <= 4 ? 10
                                            : 4;

template <typename T, int BLOCKS>
__global__ void __launch_bounds__(WARP, warps_at_once<BLOCKS>)
    solve_spans(const __grid_constant__ row_systems_args a)
{
    using room = row_room<BLOCKS * TILE_SIDE>;
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    T *stages = reinterpret_cast<T *>(shared_bytes + sizeof(room));
    for (int i = threadIdx.x; i < 2 * a.mttkrp.gathers * BATCH * row_batches<T, room::COLUMNS>::LD;
         i += WARP)
        stages[i] = 0;
    room &own = *reinterpret_cast<room *>(shared_bytes);
    __syncwarp();
    row_walk<T, BLOCKS> walk(a, own, stages);
    for (;;) {
        uint32_t span = threadIdx.x == 0 ? atomicAdd(a.next, 1) : 0;
        span = __shfl_sync(ALL, span, 0);
        if (span >= a.spans)
            break;
        walk.walk(span);
        if (threadIdx.x == 0)
            a.totals[span] = walk.room.totals;
    }
}

/* Thread block j adds the parts of join j, and its first warp solves the row. */
template <typename T, int BLOCKS>
__global__ void __launch_bounds__(JOIN_THREADS)
    join_rows(const __grid_constant__ row_systems_args a)
{
    constexpr int LENGTH = part_length<BLOCKS * TILE_SIDE>;
    __shared__ row_room<BLOCKS * TILE_SIDE> room;
    const row_join join = a.join[blockIdx.x];
    double *first = a.part + (2 * static_cast<uint64_t>(join.first) + 1) * LENGTH;
    for (uint32_t i = threadIdx.x; i < LENGTH; i += JOIN_THREADS) {
        double sum = first[i];
        const double *from = a.part + i;
#pragma unroll 8
        for (uint32_t s = join.first + 1; s <= join.last; s++)
            sum += __ldcg(from + 2 * static_cast<uint64_t>(s) * LENGTH);
        first[i] = sum;
    }
    __syncthreads();
    if (threadIdx.x >= WARP)
        return;
    row_walk<T, BLOCKS> walk(a, room, nullptr);
    walk.finish(join.row, first);
    if (threadIdx.x == 0)
        a.totals[a.spans + blockIdx.x] = walk.room.totals;
}

/* The only list of specialisations. */
struct row_kernel {
    const void *solve, *join;
    uint32_t length;
    uint32_t room, gather; /* bytes of shared memory that a warp needs, and more for each gather */
};

template <typename T, int BLOCKS> row_kernel instance()
{
    constexpr int COLUMNS = BLOCKS * TILE_SIDE;
    return {reinterpret_cast<const void *>(solve_spans<T, BLOCKS>),
            reinterpret_cast<const void *>(join_rows<T, BLOCKS>), part_length<COLUMNS>,
            sizeof(row_room<COLUMNS>), 2 * BATCH * row_batches<T, COLUMNS>::LD * sizeof(T)};
}

template <typename T> row_kernel choose(uint32_t rank)
{
    if (rank <= 8)
        return instance<T, 1>();
    if (rank <= 16)
        return instance<T, 2>();
    if (rank <= 32)
        return instance<T, 4>();
    return instance<T, 8>();
}

row_kernel kernel_of(uint32_t rank, enum precision precision)
{
    return precision == PRECISION_SINGLE ? choose<float>(rank) : choose<double>(rank);
}

uint32_t shared_bytes_of(const row_kernel &kernel, uint32_t gathers)
{
    return kernel.room + gathers * kernel.gather;
}

} // namespace

extern "C" {

uint64_t row_system_length(uint32_t rank)
{
    return kernel_of(rank, PRECISION_DOUBLE).length;
}

cudaError_t row_systems_warps(uint32_t rank, uint32_t gathers, enum precision precision,
                              uint32_t *warps)
{
    const row_kernel kernel = kernel_of(rank, precision);
    const uint32_t bytes = shared_bytes_of(kernel, gathers);
    int device, processors, blocks;
    cudaError_t code = cudaGetDevice(&device);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (code == cudaSuccess)
        code = cudaFuncSetAttribute(kernel.solve, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(bytes));
    if (code == cudaSuccess)
        code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel.solve, WARP, bytes);
    if (code == cudaSuccess)
        *warps = static_cast<uint32_t>(processors) * static_cast<uint32_t>(blocks);
    return code;
}

cudaError_t row_systems_solve(const struct row_systems_args *args, cudaStream_t stream)
{
    const enum precision precision = args->mttkrp.precision;
    const uint32_t gathers = static_cast<uint32_t>(args->mttkrp.gathers);
    const row_kernel kernel = kernel_of(args->rank, precision);
    void *list[] = {const_cast<row_systems_args *>(args)};
    uint32_t warps;
    cudaError_t code = row_systems_warps(args->rank, gathers, precision, &warps);
    if (code == cudaSuccess)
        code = cudaMemsetAsync(args->next, 0, sizeof *args->next, stream);
    if (code == cudaSuccess)
        code = cudaLaunchKernel(kernel.solve, dim3(min(warps, args->spans)), dim3(WARP), list,
                                shared_bytes_of(kernel, gathers), stream);
    if (code == cudaSuccess && args->joins > 0 && !args->only_squares)
        code =
            cudaLaunchKernel(kernel.join, dim3(args->joins), dim3(JOIN_THREADS), list, 0, stream);
    return code;
}
}
