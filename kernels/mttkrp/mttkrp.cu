/* A lane group owns a run of consecutive nonzeros; each of its lanes has 16 bytes of the row. The
 * lane group gathers the rows of several nonzeros at once, sums in registers while the output row
 * stays the same, and adds or stores the row when it changes. The first and the last row of a run
 * may go on in the neighbouring runs: their partial sums are added in shared memory at the end of
 * the chunk, so that only a chunk's own first and last row can be rows of another thread block,
 * too.
 */
#include "kernels/mttkrp/mttkrp.h"

#include <type_traits>

#include "kernels/mttkrp/chunk_nonzeros.cuh"
#include "kernels/mttkrp/row_sums.cuh"
#include "numerics/vector.cuh"
#include "numerics/unrolled.cuh"

namespace
{

/* Gathering rows from the L2 cache at full rate takes many loads in flight: some from `unroll`
 * nonzeros whose loads do not depend on each other, some from many warps. These numbers,
 * which leave 64 to 80 registers a thread, were the fastest of a dozen on an H200. */
template <int GATHERS> constexpr int unroll = GATHERS == 1 ? 4 : GATHERS == 2 ? 2 : 3;
template <mttkrp_path PATH> constexpr int threads = PATH == MTTKRP_SORTED ? SORT_THREADS : 128;
template <int GATHERS, mttkrp_path PATH>
constexpr int resident = PATH == MTTKRP_SORTED ? (GATHERS == 1 || GATHERS == 2 ? 3 : 2)
                         : GATHERS == 2        ? 8
                                               : 6;

/* Nonzeros that a lane works on at once. */
template <typename T, int GATHERS, int SIZE> struct nonzeros {
    index_words<GATHERS> index[SIZE];
    T value[SIZE];

    template <typename CHUNK> __device__ __forceinline__ void load(const CHUNK &chunk, uint32_t i)
    {
        const CHUNK rest = chunk.from(i);
        EACH_UNROLLED(u, SIZE) {
            index[u] = rest.index_at(u);
            value[u] = rest.value_at(u);
        }
    }
};

/* Products of the gathered rows. */
template <typename T, int GATHERS> struct gatherer {
    using V = vector<T>;
    static constexpr int FIXED = GATHERS > 0 ? GATHERS : 1;
    const mttkrp_args &a;
    uint32_t column; /* this lane's vector in a row */
    uint32_t row_bytes;
    const uint32_t *block_base; /* of each mode, in shared memory                  */
    const V *table[FIXED];      /* this lane's column of each gather's table       */
    uint32_t base[FIXED];       /* of each gather                                  */

    __device__ __forceinline__ gatherer(const mttkrp_args &args, uint32_t lane_column,
                                        const uint32_t *block)
        : a(args), column(lane_column), row_bytes(args.vectors * VECTOR_BYTES), block_base(block)
    {
        EACH_UNROLLED(g, FIXED) {
            base[g] = block[a.gather[g].field.mode];
            table[g] = static_cast<const V *>(a.gather[g].rows) + column;
        }
    }

    __device__ __forceinline__ V row(int g, index_words<GATHERS> index) const
    {
        const mttkrp_field &field = a.gather[g].field;
        if constexpr (GATHERS == ANY) {
            uint32_t i = coordinate<GATHERS>(field, index, block_base[field.mode]);
            return __ldg(row_of(static_cast<const V *>(a.gather[g].rows) + column, i, row_bytes));
        } else {
            return __ldg(row_of(table[g], coordinate<GATHERS>(field, index, base[g]), row_bytes));
        }
    }

    template <int SIZE>
    __device__ __forceinline__ void products(const nonzeros<T, GATHERS, SIZE> &b,
                                             V (&product)[SIZE]) const
    {
        if constexpr (GATHERS == ANY) {
            EACH_UNROLLED(u, SIZE)
                product[u] = splat<V>(1);
            for (int g = 0; g < a.gathers; g++)
                EACH_UNROLLED(u, SIZE)
                    product[u] = product[u] * row(g, b.index[u]);
        } else {
            V rows[FIXED][SIZE];
            EACH_UNROLLED(g, FIXED)
                EACH_UNROLLED(u, SIZE)
                    rows[g][u] = row(g, b.index[u]);
            EACH_UNROLLED(u, SIZE) {
                product[u] = rows[0][u];
#pragma unroll
                for (int g = 1; g < FIXED; g++)
                    product[u] = product[u] * rows[g][u];
            }
        }
    }
};

/* Adds nonzeros to the sums. Rows ascend: if the last nonzero is in the present row, all are. */
template <typename T, int GATHERS, int LANES, mttkrp_path PATH, int SIZE>
__device__ __forceinline__ void add_nonzeros(const mttkrp_args &a,
                                             const nonzeros<T, GATHERS, SIZE> &b,
                                             gatherer<T, GATHERS> &gather, uint32_t base_of_output,
                                             row_sums<vector<T>, LANES> &sums)
{
    vector<T> product[SIZE];
    gather.products(b, product);

    if constexpr (PATH == MTTKRP_EACH) {
        EACH_UNROLLED(u, SIZE)
            sums.add(coordinate<GATHERS>(a.output, b.index[u], base_of_output),
                     multiply_add(b.value[u], product[u], splat<vector<T>>(0)));
        return;
    }
    bool same_row = coordinate<GATHERS>(a.output, b.index[SIZE - 1], base_of_output) == sums.row;
    EACH_UNROLLED(u, SIZE) {
        if (!same_row) {
            uint32_t row = coordinate<GATHERS>(a.output, b.index[u], base_of_output);
            if (row != sums.row)
                sums.move_to(row);
        }
        sums.sum = multiply_add(b.value[u], product[u], sums.sum);
    }
}

/* The lane group's run [begin, end) of the chunk. */
template <typename T, int GATHERS, int LANES, mttkrp_path PATH, typename CHUNK>
__device__ __forceinline__ void add_run(const mttkrp_args &a, const CHUNK &chunk, uint32_t begin,
                                        uint32_t end, gatherer<T, GATHERS> &gather,
                                        uint32_t base_of_output, row_sums<vector<T>, LANES> &sums)
{
    constexpr int SIZE = unroll<GATHERS>;
    uint32_t i = begin;
    for (; i + SIZE <= end; i += SIZE) {
        nonzeros<T, GATHERS, SIZE> b;
        b.load(chunk, i);
        add_nonzeros<T, GATHERS, LANES, PATH>(a, b, gather, base_of_output, sums);
    }
    for (; i < end; i++) {
        nonzeros<T, GATHERS, 1> last;
        last.load(chunk, i);
        add_nonzeros<T, GATHERS, LANES, PATH>(a, last, gather, base_of_output, sums);
    }
}

/* The shared memory of a thread block. */
template <typename T, int LANES> struct streamed_shared {
    run_ends<vector<T>, threads<MTTKRP_PLAIN> / LANES, LANES> ends;
};
template <typename T, int GATHERS, int LANES> struct sorted_shared {
    union {
        chunk_sort::TempStorage sort;
        run_ends<vector<T>, SORT_THREADS / LANES, LANES> ends;
    };
    index_words<GATHERS> index[MTTKRP_SORTED_CHUNK];
    T value[MTTKRP_SORTED_CHUNK];
};
template <typename T, int GATHERS, int LANES, mttkrp_path PATH>
using shared_layout = std::conditional_t<PATH == MTTKRP_SORTED, sorted_shared<T, GATHERS, LANES>,
                                         streamed_shared<T, LANES>>;

template <typename T, int GATHERS, int LANES, mttkrp_path PATH>
__global__ void __launch_bounds__(threads<PATH>, (resident<GATHERS, PATH>))
    mttkrp(const __grid_constant__ mttkrp_args a)
{
    using V = vector<T>;
    using shared_type = shared_layout<T, GATHERS, LANES, PATH>;
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    shared_type &shared = *reinterpret_cast<shared_type *>(shared_bytes);
    __shared__ uint32_t base[MAX_ORDER];

    const mttkrp_chunk c = a.chunk[blockIdx.x];
    if (threadIdx.x < MAX_ORDER)
        base[threadIdx.x] =
            a.base ? a.base[static_cast<uint64_t>(c.block) * MAX_ORDER + threadIdx.x] : 0;
    __syncthreads();

    constexpr uint32_t LANE_GROUPS = threads<PATH> / LANES;
    uint32_t lane_group = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    uint32_t column = blockIdx.y * LANES + lane;
    bool active = column < a.vectors;
    column = min(column, a.vectors - 1);

    uint32_t run = (c.count + LANE_GROUPS - 1) / LANE_GROUPS;
    uint32_t begin = lane_group * run, end = min(begin + run, c.count);

    V *m = static_cast<V *>(a.m) + (blockIdx.x % a.copies) * a.copy_size + column;
    row_sums<V, LANES> sums{m,
                            a.vectors * VECTOR_BYTES,
                            active,
                            a.ordered != 0,
                            PATH == MTTKRP_SORTED ? a.unshared : nullptr,
                            NO_ROW,
                            NO_ROW,
                            splat<V>(0),
                            splat<V>(0)};
    gatherer<T, GATHERS> gather(a, column, base);
    uint32_t base_of_output = base[a.output.mode];

    const uint32_t *position = PATH == MTTKRP_SORTED && a.position ? a.position + c.first : nullptr;
    uint64_t first = position ? 0 : c.first;
    const global_chunk<T, GATHERS> all{{a.index[0], a.index[1]}, a.value, a.wide_values != 0};
    const global_chunk<T, GATHERS> from = all.from(first);
    if constexpr (PATH == MTTKRP_SORTED) {
        shared_chunk<T, GATHERS> sorted{shared.index, shared.value};
        sort_by_row<T, GATHERS>(sorted, shared.sort, from, position, c.count, a.output);
        add_run<T, GATHERS, LANES, PATH>(a, sorted, begin, end, gather, base_of_output, sums);
        __syncthreads();
        sums.join_ends(shared.ends);
    } else {
        add_run<T, GATHERS, LANES, PATH>(a, from, begin, end, gather, base_of_output, sums);
        if constexpr (PATH != MTTKRP_EACH)
            sums.join_ends(shared.ends);
    }
}

/* The only list of specialisations: which kernel computes `args`, and how it is launched. */
struct kernel_choice {
    const void *function;
    size_t shared_bytes;
    uint32_t threads, lanes;
};

template <typename T, int GATHERS, int LANES, mttkrp_path PATH> kernel_choice instance()
{
    return {reinterpret_cast<const void *>(mttkrp<T, GATHERS, LANES, PATH>),
            sizeof(shared_layout<T, GATHERS, LANES, PATH>), threads<PATH>, LANES};
}

template <typename T, int GATHERS, int LANES> kernel_choice choose_path(const mttkrp_args &a)
{
    if (a.path == MTTKRP_SORTED)
        return instance<T, GATHERS, LANES, MTTKRP_SORTED>();
    if constexpr (GATHERS == ANY)
        if (a.path == MTTKRP_EACH)
            return instance<T, GATHERS, LANES, MTTKRP_EACH>();
    return instance<T, GATHERS, LANES, MTTKRP_PLAIN>();
}

template <typename T, int GATHERS> kernel_choice choose_lanes(const mttkrp_args &a)
{
    if (a.vectors <= 4)
        return choose_path<T, GATHERS, 4>(a);
    if (a.vectors <= 8)
        return choose_path<T, GATHERS, 8>(a);
    if (a.vectors <= 16)
        return choose_path<T, GATHERS, 16>(a);
    return choose_path<T, GATHERS, 32>(a);
}

template <typename T> kernel_choice choose_gathers(const mttkrp_args &a)
{
    switch (a.index[1] || a.path == MTTKRP_EACH ? ANY : a.gathers) {
    case 1:
        return choose_lanes<T, 1>(a);
    case 2:
        return choose_lanes<T, 2>(a);
    case 3:
        return choose_lanes<T, 3>(a);
    case 4:
        return choose_lanes<T, 4>(a);
    default:
        return choose_lanes<T, ANY>(a);
    }
}

kernel_choice choose_kernel(const mttkrp_args &a)
{
    return IN_PRECISION(a.precision, choose_gathers)(a);
}

} // namespace

cudaError_t mttkrp_launch(const mttkrp_args *args, cudaStream_t stream)
{
    if (args->chunks == 0)
        return cudaSuccess;
    kernel_choice kernel = choose_kernel(*args);
    dim3 grid(static_cast<unsigned>(args->chunks),
              (args->vectors + kernel.lanes - 1) / kernel.lanes);
    void *parameters[] = {const_cast<mttkrp_args *>(args)};
    return cudaLaunchKernel(kernel.function, grid, dim3(kernel.threads), parameters,
                            kernel.shared_bytes, stream);
}

/* nvcc lists what it compiles for as 750,800,...: "__CUDA_ARCH_LIST__" in nvcc's manual. */
int mttkrp_oldest_capability(void)
{
    const int compiled[] = {__CUDA_ARCH_LIST__};
    int oldest = compiled[0];
    for (int capability : compiled)
        oldest = capability < oldest ? capability : oldest;
    return oldest / 10;
}

cudaError_t mttkrp_prepare(const mttkrp_args *args)
{
    kernel_choice kernel = choose_kernel(*args);
    return cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(kernel.shared_bytes));
}
