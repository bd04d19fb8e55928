/* A thread block is one warp. It gathers the rows of up to 8 nonzeros at a time into shared memory,
 * as their products z, and reads these back in the layout of the matrix instructions. */
#include "kernels/rows/row_systems.h"

#include "kernels/dense/dense_modes.cuh"
#include "kernels/mttkrp/chunk_nonzeros.cuh"
#include "kernels/rows/row_solve.cuh"
#include "kernels/rows/row_tiles.cuh"
#include "numerics/row_term.h"
#include "numerics/vector.cuh"

namespace
{

constexpr uint32_t ALL = ~0u;
constexpr int WARP = 32;
constexpr int BATCH = 8;       /* nonzeros at a time                                 */
constexpr int FEW_GATHERS = 3; /* whose loads do not wait for each other             */
constexpr int SNAP = 32;       /* nonzeros among which the start of a row is looked for */
constexpr int THREADS = 256;
constexpr int JOIN_THREADS = 512;
constexpr double RIDGE_LIMIT = 1e200; /* of a component that has become zero, which stays so */

static_assert(SNAP < ROW_SPAN_LEAST, "spans stay in order");

/* Numbers of a system beside b and G. */
struct row_numbers {
    double known;        /* listed entries whose value is known          */
    double misfit, size; /* struct row_totals, with the row as it was */
};
constexpr int NUMBERS = sizeof(row_numbers) / sizeof(double);

/* b, the upper half of G by rows, the numbers. */
template <int COLUMNS> constexpr int part_length = COLUMNS + COLUMNS *(COLUMNS + 1) / 2 + NUMBERS;

template <int BLOCKS> struct warp_room {
    static constexpr int COLUMNS = BLOCKS * TILE_SIDE;
    static constexpr int LD = COLUMNS + 4; /* four nonzeros' entries lie in different banks */
    alignas(16) double z[BATCH * LD];
    row_room<COLUMNS> row;
};

/* 32 nonzeros from `first` on, one in each lane. */
template <typename T> struct window {
    index_words<ANY> index;
    double value;
    uint32_t row;
};

template <typename T, int BLOCKS> struct row_walk {
    using room_of = warp_room<BLOCKS>;
    static constexpr int COLUMNS = room_of::COLUMNS, LD = room_of::LD;
    static constexpr int PAIRS = tile_pairs<BLOCKS>();
    static constexpr int WIDTH = VECTOR_BYTES / sizeof(T);
    static constexpr int VECTORS = COLUMNS / WIDTH; /* of a row of z              */
    static constexpr int AT_ONCE = BATCH < WARP / VECTORS ? BATCH : WARP / VECTORS;
    static constexpr int STEPS = BATCH / AT_ONCE; /* loads of a batch's rows    */
    static constexpr int PARTS = row_room<COLUMNS>::PARTS;

    const row_systems_args &a;
    room_of &room;
    const uint32_t lane, t, g; /* lane = 4 g + t                                       */
    const uint32_t *base;      /* of the block, or NULL                                */
    uint32_t row;              /* the one that is being summed                         */
    double old[BLOCKS];        /* entries g, g + 8, ... of it, with their weights      */
    double b[BLOCKS];          /* of nonzeros t and t + 4 of the batches               */
    double sum[PAIRS][4];      /* tiles of G                                           */
    row_numbers numbers;       /* of nonzeros t and t + 4, in lanes with g = 0         */
    row_totals totals;         /* of the span                                          */

    __device__ __forceinline__ row_walk(const row_systems_args &args, room_of &of)
        : a(args), room(of), lane(threadIdx.x), t(lane % 4), g(lane / 4), base(nullptr), totals{}
    {
    }

    __device__ __forceinline__ uint32_t base_of(int mode) const
    {
        return base ? __ldg(base + mode) : 0;
    }

    __device__ __forceinline__ window<T> read(uint64_t first, uint64_t end) const
    {
        const uint64_t i = first + lane < end ? first + lane : end - 1;
        const global_chunk<T, ANY> all{
            {a.mttkrp.index[0], a.mttkrp.index[1]}, a.mttkrp.value, a.mttkrp.wide_values != 0};
        const auto at = all.from(i);
        window<T> w;
        w.index = at.index_at(0);
        w.value = a.mttkrp.wide_values ? __ldg(static_cast<const double *>(at.value))
                                       : static_cast<double>(at.value_at(0));
        w.row = coordinate<ANY>(a.mttkrp.output, w.index, base_of(a.mttkrp.output.mode));
        return w;
    }

    __device__ __forceinline__ double old_entry(uint32_t r) const
    {
        const uint64_t ld = static_cast<uint64_t>(a.mttkrp.vectors) * WIDTH;
        return r < a.rank
                   ? static_cast<double>(__ldg(static_cast<const T *>(a.old) + row * ld + r)) *
                         __ldg(a.common.now + r)
                   : 0;
    }

    __device__ __forceinline__ void begin_row(uint32_t which)
    {
        row = which;
        numbers = {};
#pragma unroll
        for (int i = 0; i < BLOCKS; i++) {
            old[i] = old_entry(i * TILE_SIDE + g);
            b[i] = 0;
        }
#pragma unroll
        for (int k = 0; k < PAIRS; k++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sum[k][e] = 0;
    }

    /* Vector `v` of the row of gather `k` of the nonzero that lane `from` has. */
    __device__ __forceinline__ vector<T> gathered(int k, uint32_t mine, int from, uint32_t v) const
    {
        const uint32_t i = __shfl_sync(ALL, mine, from);
        const vector<T> *rows = static_cast<const vector<T> *>(a.mttkrp.gather[k].rows);
        return v < a.mttkrp.vectors ? __ldg(rows + static_cast<uint64_t>(i) * a.mttkrp.vectors + v)
                                    : splat<vector<T>>(0);
    }

    __device__ __forceinline__ static void times(double (&z)[WIDTH], const vector<T> &x)
    {
        const T *entry = reinterpret_cast<const T *>(&x);
#pragma unroll
        for (int e = 0; e < WIDTH; e++)
            z[e] *= static_cast<double>(entry[e]);
    }

    /* z of the nonzeros of lanes [from, from + count), by `gathers` loads at a time. */
    template <int GATHERS>
    __device__ __forceinline__ void multiply(const window<T> &w, int first, int from,
                                             double (&z)[STEPS][WIDTH]) const
    {
        vector<T> x[GATHERS][STEPS];
#pragma unroll
        for (int k = 0; k < GATHERS; k++) {
            const mttkrp_field &field = a.mttkrp.gather[first + k].field;
            const uint32_t mine = coordinate<ANY>(field, w.index, base_of(field.mode));
#pragma unroll
            for (int s = 0; s < STEPS; s++)
                x[k][s] = gathered(first + k, mine, min(from + s * AT_ONCE + place(), WARP - 1),
                                   lane % VECTORS);
        }
#pragma unroll
        for (int k = 0; k < GATHERS; k++)
#pragma unroll
            for (int s = 0; s < STEPS; s++)
                times(z[s], x[k][s]);
    }

    /* Which of the AT_ONCE nonzeros of a step this lane loads. */
    __device__ __forceinline__ int place() const
    {
        return static_cast<int>(lane / VECTORS) % AT_ONCE;
    }

    /* The products z of the nonzeros of lanes [from, from + count) to shared memory, zeros after
     * them. */
    __device__ __forceinline__ void gather(const window<T> &w, int from, int count)
    {
        double z[STEPS][WIDTH];
        const uint32_t column = lane % VECTORS * WIDTH;
#pragma unroll
        for (int s = 0; s < STEPS; s++)
#pragma unroll
            for (int e = 0; e < WIDTH; e++)
                z[s][e] = s * AT_ONCE + place() < count && column + e < a.rank ? 1 : 0;
        int k = 0;
        for (; k + FEW_GATHERS <= a.mttkrp.gathers; k += FEW_GATHERS)
            multiply<FEW_GATHERS>(w, k, from, z);
        if (k + 2 <= a.mttkrp.gathers) {
            multiply<2>(w, k, from, z);
            k += 2;
        }
        if (k < a.mttkrp.gathers)
            multiply<1>(w, k, from, z);
#pragma unroll
        for (int s = 0; s < STEPS; s++)
#pragma unroll
            for (int e = 0; e < WIDTH; e += 2)
                *reinterpret_cast<double2 *>(room.z + (s * AT_ONCE + place()) * LD + column + e) =
                    make_double2(z[s][e], z[s][e + 1]);
        __syncwarp();
    }

    /* Entry g of block i of nonzero t of the batch's half. */
    __device__ __forceinline__ double z_at(int half, int i) const
    {
        return room.z[(4 * half + t) * LD + i * TILE_SIDE + g];
    }

    /* The model's value at nonzero t of a half. */
    __device__ __forceinline__ double value_of(const double (&z)[BLOCKS]) const
    {
        double m = 0;
#pragma unroll
        for (int i = 0; i < BLOCKS; i++)
            m = fma(z[i], old[i], m);
        for (int step = 4; step < WARP; step *= 2)
            m += __shfl_xor_sync(ALL, m, step);
        return m;
    }

    __device__ __forceinline__ void count(double x, double m, const struct row_term &term)
    {
        numbers.known += row_term_known(x);
        numbers.misfit += a.only_squares ? (row_term_known(x) ? m * m : 0) : term.misfit;
        numbers.size += fabs(term.misfit);
    }

    /* Adds the nonzeros of lanes [from, from + count), at most BATCH, all of one row. */
    __device__ __forceinline__ void add(const window<T> &w, int from, int count_of)
    {
        double z[2][BLOCKS], wz[2][BLOCKS];
        gather(w, from, count_of);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int k = 4 * half + static_cast<int>(t);
            const double x = __shfl_sync(ALL, w.value, min(from + k, WARP - 1));
#pragma unroll
            for (int i = 0; i < BLOCKS; i++)
                z[half][i] = z_at(half, i);
            const double m = value_of(z[half]);
            struct row_term term = row_term(x, m, a.unlisted);
            if (k < count_of)
                count(x, m, term);
            else
                term.c = term.w = 0;
#pragma unroll
            for (int i = 0; i < BLOCKS; i++) {
                b[i] = fma(term.c, z[half][i], b[i]);
                wz[half][i] = term.w * z[half][i];
            }
        }
        if (!a.only_squares)
            each_tile_pair<BLOCKS>([&](auto number) {
                constexpr tile_pair p = tile_pair_at<BLOCKS>(decltype(number)::value);
                const double low[2] = {z[0][p.low], z[1][p.low]};
                const double high[2] = {z[0][p.high], z[1][p.high]};
                const double column[2] = {wz[0][p.column], wz[1][p.column]};
                multiply_tiles(sum[decltype(number)::value], low, high, column);
            });
        __syncwarp();
    }

    __device__ __forceinline__ void put_tile(int block, int column, double x, double y)
    {
        const uint32_t i = block * TILE_SIDE + g, j = column * TILE_SIDE + 2 * t;
        constexpr int G_LD = row_room<COLUMNS>::LD;
        double *to = room.row.g;
        if (block != column) { /* only one tile has the entry */
            to[block < column ? i * G_LD + j : j * G_LD + i] = x;
            to[block < column ? i * G_LD + j + 1 : (j + 1) * G_LD + i] = y;
            return;
        }
        if (i <= j)
            to[i * G_LD + j] = x;
        if (i <= j + 1)
            to[i * G_LD + j + 1] = y;
    }

    __device__ __forceinline__ void put_row()
    {
        each_tile_pair<BLOCKS>([&](auto number) {
            constexpr int k = decltype(number)::value;
            constexpr tile_pair p = tile_pair_at<BLOCKS>(k);
            put_tile(p.low, p.column, sum[k][0], sum[k][1]);
            if (p.high != p.low)
                put_tile(p.high, p.column, sum[k][2], sum[k][3]);
        });
#pragma unroll
        for (int i = 0; i < BLOCKS; i++) {
            double x = b[i];
            x += __shfl_xor_sync(ALL, x, 1);
            x += __shfl_xor_sync(ALL, x, 2);
            if (t == 0)
                room.row.b[i * TILE_SIDE + g] = x;
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
            copy(part + j, room.row.b + j, back);
        double *to = part + COLUMNS;
        for (uint32_t i = 0; i < COLUMNS; i++) {
            for (uint32_t j = i + lane; j < COLUMNS; j += WARP)
                copy(to + j - i, room.row.g + i * G_LD + j, back);
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
    __device__ __forceinline__ void solve_row(row_totals &to)
    {
        const row_problem problem = {a.rank, a.unlisted != 0 ? a.common.v : nullptr, a.common.ridge,
                                     a.counted ? numbers.known : 1, a.nonneg != 0};
        row_solver<COLUMNS> solver(problem, room.row);
        const bool solves = numbers.known > 0 || problem.v;
        double change = 0;
        for (int k = 0; k < PARTS; k++)
            solver.a[k] = solves ? old_entry(lane + WARP * k) : 0;
        if (solves) {
            change = solver.solve();
            to.misfit += numbers.misfit + change;
            to.size += numbers.size + fabs(change);
        }
        double penalty = 0;
        T *m = static_cast<T *>(a.mttkrp.m) + static_cast<uint64_t>(row) * a.mttkrp.vectors * WIDTH;
        for (int k = 0; k < PARTS; k++) {
            const uint32_t r = lane + WARP * k;
            if (a.counted && r < a.rank)
                penalty += problem.times * __ldg(a.common.ridge + r) * solver.a[k] * solver.a[k];
            if (r < a.mttkrp.vectors * WIDTH)
                m[r] = r < a.rank ? static_cast<T>(solver.a[k] * __ldg(a.common.out + r)) : T(0);
        }
        if (a.counted)
            to.penalty += warp_sum(penalty);
        __syncwarp();
    }

    /* part: where the system goes if it is only a part of the row's; else NULL. */
    __device__ __forceinline__ void end_row(double *part)
    {
        sum_numbers();
        if (a.only_squares) {
            totals.misfit += numbers.misfit;
            return;
        }
        put_row();
        if (part)
            copy_part(part, false);
        else
            solve_row(totals);
    }

    __device__ __forceinline__ double *part_of(uint32_t span, int tail) const
    {
        return a.part + (2 * static_cast<uint64_t>(span) + tail) * part_length<COLUMNS>;
    }

    __device__ __forceinline__ void walk(uint32_t span)
    {
        const uint64_t begin = __ldg(a.span + span), end = __ldg(a.span + span + 1);
        const bool continued = __ldg(a.continued + span), goes_on = __ldg(a.continued + span + 1);
        bool open = false, head = false;
        totals = {};
        base = a.mttkrp.base
                   ? a.mttkrp.base + static_cast<uint64_t>(__ldg(a.block + span)) * MAX_ORDER
                   : nullptr;
        if (begin == end)
            return;
        window<T> next = read(begin, end);
        for (uint64_t first = begin; first < end; first += WARP) {
            const window<T> w = next;
            const int size = end - first < WARP ? static_cast<int>(end - first) : WARP;
            if (first + WARP < end)
                next = read(first + WARP, end);
            const uint32_t before = __shfl_up_sync(ALL, w.row, 1);
            const bool starts = static_cast<int>(lane) < size && lane > 0 && w.row != before;
            const uint32_t heads = __ballot_sync(ALL, starts);
            for (int from = 0; from < size;) {
                const uint32_t which = __shfl_sync(ALL, w.row, from);
                const uint32_t later = from + 1 < WARP ? heads >> (from + 1) : 0;
                const int to = later ? from + __ffs(static_cast<int>(later)) : size;
                if (open && which != row) {
                    end_row(head ? part_of(span, 0) : nullptr);
                    open = false;
                }
                if (!open) {
                    head = continued && first == begin && from == 0;
                    begin_row(which);
                    open = true;
                }
                for (; from < to; from += BATCH)
                    add(w, from, to - from < BATCH ? to - from : BATCH);
                from = to;
            }
        }
        end_row(head ? part_of(span, 0) : goes_on ? part_of(span, 1) : nullptr);
    }

    /* The system of a row, from its parts, which are in shared memory. */
    __device__ __forceinline__ void finish(uint32_t which, double *part)
    {
        row = which;
        totals = {};
        copy_part(part, true);
        solve_row(totals);
    }
};

template <int BLOCKS> constexpr int warps_at_once = BLOCKS <= 2 ? 16 : BLOCKS <= 4 ? 12 : 5;

template <typename T, int BLOCKS>
__global__ void __launch_bounds__(WARP, warps_at_once<BLOCKS>)
    solve_spans(const __grid_constant__ row_systems_args a)
{
    __shared__ warp_room<BLOCKS> room;
    row_walk<T, BLOCKS> walk(a, room);
    for (;;) {
        uint32_t span = threadIdx.x == 0 ? atomicAdd(a.next, 1) : 0;
        span = __shfl_sync(ALL, span, 0);
        if (span >= a.spans)
            break;
        walk.walk(span);
        if (threadIdx.x == 0)
            a.totals[span] = walk.totals;
    }
}

/* Thread block j adds the parts of join j, and its first warp solves the row. */
template <typename T, int BLOCKS>
__global__ void __launch_bounds__(JOIN_THREADS)
    join_rows(const __grid_constant__ row_systems_args a)
{
    constexpr int LENGTH = part_length<BLOCKS * TILE_SIDE>;
    __shared__ warp_room<BLOCKS> room;
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
    row_walk<T, BLOCKS> walk(a, room);
    walk.finish(join.row, first);
    if (threadIdx.x == 0)
        a.totals[a.spans + blockIdx.x] = walk.totals;
}

/* The only list of specialisations. */
struct row_kernel {
    const void *solve, *join;
    uint32_t length;
};

template <typename T, int BLOCKS> row_kernel instance()
{
    return {reinterpret_cast<const void *>(solve_spans<T, BLOCKS>),
            reinterpret_cast<const void *>(join_rows<T, BLOCKS>), part_length<BLOCKS * TILE_SIDE>};
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

__global__ void make_common(const __grid_constant__ row_common_args a)
{
    const uint32_t rank = a.modes.rank;
    const uint32_t i = blockIdx.x, j = threadIdx.x;
    const double apart = 1 / scale(a.modes, i);
    a.to.v[i * rank + j] =
        a.unlisted * hadamard(a.modes, i * rank + j, false) * apart / scale(a.modes, j);
    if (j != 0)
        return;
    const double norm = a.modes.norm[a.modes.mode][i], lambda = fabs(a.lambda[i]);
    double ridge = a.ridge;
    if (ridge > 0 && a.power > 0)
        ridge = lambda > 0 ? ridge * pow(lambda, -a.power) : RIDGE_LIMIT;
    ridge = ridge < RIDGE_LIMIT ? ridge : RIDGE_LIMIT;
    a.to.now[i] = a.lambda[i] / (norm != 0 ? norm : 1) / apart;
    a.to.out[i] = apart;
    a.to.ridge[i] = ridge * apart * apart;
}

/* The row of nonzero i, of block `block`. */
__device__ uint32_t row_of_nonzero(const mttkrp_args &a, uint64_t i, uint32_t block)
{
    index_words<ANY> index;
    index.word[0] = __ldg(a.index[0] + i);
    index.word[1] = a.index[1] ? __ldg(a.index[1] + i) : 0;
    const uint32_t base =
        a.base ? __ldg(a.base + static_cast<uint64_t>(block) * MAX_ORDER + a.output.mode) : 0;
    return coordinate<ANY>(a.output, index, base);
}

__global__ void snap_spans(const __grid_constant__ mttkrp_args a, const uint32_t *block,
                           uint32_t spans, uint64_t *span, uint32_t *before, uint32_t *after)
{
    const uint32_t s = blockIdx.x * THREADS + threadIdx.x;
    if (s == 0 || s >= spans)
        return;
    uint64_t i = span[s];
    const uint32_t own = block[s], last = block[s - 1];
    const uint32_t row = row_of_nonzero(a, i - 1, last);
    for (uint64_t k = i; own == last && k < i + SNAP; k++)
        if (row_of_nonzero(a, k, own) != row) {
            i = k;
            break;
        }
    span[s] = i;
    before[s] = row_of_nonzero(a, i - 1, last);
    after[s] = row_of_nonzero(a, i, own);
}

/* In one thread block, in a fixed order. */
__global__ void sum_totals(const row_totals *of, uint32_t count, row_totals *to,
                           const double *lambda, uint32_t rank, double power, double *model)
{
    __shared__ row_totals part[THREADS];
    row_totals sum = {};
    for (uint32_t i = threadIdx.x; i < count; i += THREADS) {
        sum.misfit += of[i].misfit;
        sum.size += of[i].size;
        sum.penalty += of[i].penalty;
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int k = 1; k < THREADS; k++) {
        sum.misfit += part[k].misfit;
        sum.size += part[k].size;
        sum.penalty += part[k].penalty;
    }
    *to = sum;
    double all = 0;
    for (uint32_t r = 0; model && r < rank; r++)
        all += pow(fabs(lambda[r]), power);
    if (model)
        *model = all;
}

cudaError_t launch(const void *kernel, uint32_t blocks, uint32_t threads, void *args,
                   cudaStream_t stream)
{
    void *list[] = {args};
    return cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), list, 0, stream);
}

} // namespace

extern "C" {

cudaError_t row_common_make(const struct row_common_args *args, cudaStream_t stream)
{
    make_common<<<args->modes.rank, args->modes.rank, 0, stream>>>(*args);
    return cudaGetLastError();
}

uint64_t row_system_length(uint32_t rank)
{
    return kernel_of(rank, PRECISION_DOUBLE).length;
}

cudaError_t row_systems_warps(uint32_t rank, enum precision precision, uint32_t *warps)
{
    int device, processors, blocks;
    cudaError_t code = cudaGetDevice(&device);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (code == cudaSuccess)
        code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, kernel_of(rank, precision).solve, WARP, 0);
    if (code == cudaSuccess)
        *warps = static_cast<uint32_t>(processors) * static_cast<uint32_t>(blocks);
    return code;
}

cudaError_t row_spans_snap(const struct mttkrp_args *args, const uint32_t *block, uint32_t spans,
                           uint64_t *span, uint32_t *before, uint32_t *after, cudaStream_t stream)
{
    snap_spans<<<spans / THREADS + 1, THREADS, 0, stream>>>(*args, block, spans, span, before,
                                                            after);
    return cudaGetLastError();
}

cudaError_t row_systems_solve(const struct row_systems_args *args, cudaStream_t stream)
{
    const row_kernel kernel = kernel_of(args->rank, args->mttkrp.precision);
    row_systems_args copy = *args;
    uint32_t warps;
    cudaError_t code = row_systems_warps(args->rank, args->mttkrp.precision, &warps);
    if (code == cudaSuccess)
        code = cudaMemsetAsync(args->next, 0, sizeof *args->next, stream);
    if (code == cudaSuccess)
        code = launch(kernel.solve, warps < args->spans ? warps : args->spans, WARP, &copy, stream);
    if (code == cudaSuccess && args->joins > 0 && !args->only_squares)
        code = launch(kernel.join, args->joins, JOIN_THREADS, &copy, stream);
    return code;
}

cudaError_t row_totals_sum(const struct row_systems_args *args, struct row_totals *sum,
                           const double *lambda, double power, double *model, cudaStream_t stream)
{
    const uint32_t count = args->spans + (args->only_squares ? 0 : args->joins);
    sum_totals<<<1, THREADS, 0, stream>>>(args->totals, count, sum, lambda, args->rank, power,
                                          model);
    return cudaGetLastError();
}
}
