/* A warp packs a group: lane k has its nonzeros k, k + 32, ... First all groups are measured, by
 * their first and last lines and their values. Then a warp for each segment gives each group its
 * place. When the places of all segments are known, the groups are written. A lane that writes a
 * word gathers all fields with bits in that word, so that no two lanes write the same word. */
#include "kernels/packed/pack.h"
#include "numerics/unrolled.cuh"

namespace
{

constexpr uint32_t WARP = 32, ALL = 0xffffffffu;
constexpr uint32_t THREADS = 256, WARPS = THREADS / WARP;
constexpr int OWN = PACKED_GROUP_NNZ / WARP; /* nonzeros of a lane                                */
constexpr int GROUP_BITS = 8;                /* of the number of a nonzero in its group           */
constexpr int FEW_BITS = 32;                 /* of a field: whole numbers rather than floats      */
constexpr double NO_POWER = 0;

using uint128 = unsigned __int128;

/* Which group a warp packs. */
struct Place {
    uint64_t segment;
    uint64_t first;  /* its first nonzero, among all of them           */
    uint32_t start;  /* the same nonzero, counted in the segment       */
    uint32_t count;  /* nonzeros; 0 where there is no such group       */
    uint32_t groups; /* of the segment                                */
    uint32_t number; /* of the group in its segment                   */
};

__device__ Place place_of(const pack_args &a, uint64_t warp)
{
    Place p;
    uint32_t groups = pack_groups(a.segment_nnz);
    p.segment = warp / groups;
    p.number = static_cast<uint32_t>(warp % groups);
    p.start = p.number * PACKED_GROUP_NNZ;
    uint64_t before = p.segment * a.segment_nnz;
    uint32_t nnz = static_cast<uint32_t>(
        before < a.nnz ? min(static_cast<uint64_t>(a.segment_nnz), a.nnz - before) : 0);
    p.first = before + p.start;
    p.count = p.start < nnz ? min(nnz - p.start, static_cast<uint32_t>(PACKED_GROUP_NNZ)) : 0;
    p.groups = pack_groups(nnz);
    return p;
}

__device__ uint32_t entry_stride(const pack_args &a)
{
    return static_cast<uint32_t>(sizeof(packed_group) + (a.line_bits + 63) / 64 * sizeof(uint64_t));
}

__device__ int bit_length(uint128 number)
{
    uint64_t high = static_cast<uint64_t>(number >> 64), low = static_cast<uint64_t>(number);
    return high ? 128 - __clzll(high) : 64 - __clzll(low);
}

template <typename Line> __device__ Line shift_right(Line line, int bits)
{
    return bits < static_cast<int>(8 * sizeof line) ? line >> bits : 0;
}

/* The low_bits with which the group takes the fewest words, as the host chooses (segment_pack.c).
 */
template <typename Line> __device__ void choose_low_bits(Line first, Line last, packed_group *g)
{
    int range = bit_length(last - first), low = range > GROUP_BITS + 1 ? range - GROUP_BITS - 1 : 0;
    uint32_t fewest = ALL;
    for (; low <= range && low < PACKED_NUMBER_BITS; low++) {
        uint32_t upper = static_cast<uint32_t>(shift_right(last, low) - shift_right(first, low));
        uint32_t vector = (upper + g->count + 31) / 32;
        uint32_t all = packed_field_words(g->count, low) + vector;
        if (all >= fewest)
            continue;
        fewest = all;
        g->low_bits = static_cast<uint8_t>(low);
        g->upper_words = static_cast<uint8_t>(vector);
    }
}

/* A lane's values of a group; after the group's end its first value is repeated. */
struct Values {
    double value[OWN];

    __device__ void load(const double *all, uint32_t count)
    {
        EACH_UNROLLED(k, OWN) {
            uint32_t i = k * WARP + threadIdx.x % WARP;
            value[k] = all[i < count ? i : 0];
        }
    }
};

__device__ uint64_t bits_of(double value)
{
    return static_cast<uint64_t>(__double_as_longlong(value));
}

__device__ bool all_same(const Values &v)
{
    uint64_t first = __shfl_sync(ALL, bits_of(v.value[0]), 0);
    bool same = true;
    for (double value : v.value)
        same = same && bits_of(value) == first;
    return __all_sync(ALL, same);
}

__device__ bool all_float(const Values &v)
{
    bool exact = true;
    for (double value : v.value)
        exact = exact && bits_of(static_cast<double>(static_cast<float>(value))) == bits_of(value);
    return __all_sync(ALL, exact);
}

/* Whether each value is the double nearest to a whole number of at most PACK_MOST_WHOLE over this
 * power of ten; *beyond: a value is too large for that, and so for any higher power. */
__device__ bool all_decimal(const Values &v, double power, bool *beyond)
{
    bool decimal = true, large = false;
    for (double value : v.value) {
        double scaled = value * power;
        if (!(fabs(scaled) <= static_cast<double>(PACK_MOST_WHOLE)))
            large = true;
        else if (decimal)
            decimal = bits_of(static_cast<double>(llrint(scaled)) / power) == bits_of(value);
        if (large || !decimal)
            break;
    }
    *beyond = __any_sync(ALL, large);
    return __all_sync(ALL, decimal) && !*beyond;
}

/* The fewest decimals that all values have; -1 where there are none. */
__device__ int find_decimals(const Values &v, double *power)
{
    bool beyond = false;
    *power = 1;
    for (int d = 0; d <= PACKED_DECIMALS && !beyond; d++, *power *= 10)
        if (all_decimal(v, *power, &beyond))
            return d;
    *power = NO_POWER;
    return -1;
}

/* The least of the values' whole numbers over 10^decimals; *bits = the bits that their differences
 * from it take. */
__device__ int64_t least_whole(const Values &v, double power, int *bits)
{
    long long least = llrint(v.value[0] * power), largest = least;
    for (double value : v.value) {
        long long whole = llrint(value * power);
        least = min(least, whole);
        largest = max(largest, whole);
    }
    for (uint32_t distance = WARP / 2; distance > 0; distance /= 2) {
        least = min(least, __shfl_xor_sync(ALL, least, distance));
        largest = max(largest, __shfl_xor_sync(ALL, largest, distance));
    }
    *bits = 64 - __clzll((largest - least) | 1);
    return least;
}

__device__ void set_form(packed_group *g, packed_values form, int bits, int decimals, int64_t least)
{
    g->value_form = static_cast<uint8_t>(form);
    g->value_bits = static_cast<uint8_t>(bits);
    g->decimals = static_cast<uint8_t>(decimals);
    g->least = least;
}

/* The narrowest exact form, as the host chooses (value_codec.c). */
__device__ void choose_form(const Values &v, packed_group *g)
{
    if (all_same(v)) {
        int64_t bits = __double_as_longlong(__shfl_sync(ALL, v.value[0], 0));
        set_form(g, PACKED_CONSTANT, 0, 0, bits);
        return;
    }
    double power;
    int bits = 65, decimals = find_decimals(v, &power);
    int64_t least = decimals >= 0 ? least_whole(v, power, &bits) : 0;
    if (bits <= FEW_BITS)
        set_form(g, PACKED_WHOLE, bits, decimals, least);
    else if (all_float(v))
        set_form(g, PACKED_F32, 32, 0, 0);
    else if (bits <= PACK_WHOLE_BITS)
        set_form(g, PACKED_WHOLE, bits, decimals, least);
    else
        set_form(g, PACKED_F64, 64, 0, 0);
}

/* Each group's entry, without the place of the group's words. */
template <typename Line> __global__ void measure(const __grid_constant__ pack_args a)
{
    uint64_t warp = static_cast<uint64_t>(blockIdx.x) * WARPS + threadIdx.x / WARP;
    Place p = place_of(a, warp);
    if (p.count == 0)
        return;
    const Line *line = static_cast<const Line *>(a.line) + p.first;
    packed_group g = {};
    g.first = p.start;
    g.count = static_cast<uint16_t>(p.count);
    choose_low_bits<Line>(line[0], line[p.count - 1], &g);
    Values v;
    v.load(a.value + p.first, p.count);
    choose_form(v, &g);
    if (threadIdx.x % WARP == 0)
        a.group[warp] = g;
}

/* A warp per segment: where each group's words begin, and how many bytes the segment takes. */
__global__ void place_groups(const __grid_constant__ pack_args a, uint64_t segments)
{
    uint64_t segment = static_cast<uint64_t>(blockIdx.x) * WARPS + threadIdx.x / WARP;
    uint32_t lane = threadIdx.x % WARP;
    if (segment >= segments)
        return;
    Place p = place_of(a, segment * pack_groups(a.segment_nnz));
    packed_group *group = a.group + segment * pack_groups(a.segment_nnz);
    uint32_t at = p.groups * entry_stride(a);
    for (uint32_t base = 0; base < p.groups; base += WARP) {
        uint32_t k = base + lane, own = 0;
        if (k < p.groups)
            own = 4 *
                  (packed_field_words(group[k].count, group[k].low_bits) +
                   packed_field_words(group[k].count, group[k].value_bits) + group[k].upper_words);
        uint32_t sum = own;
        for (uint32_t distance = 1; distance < WARP; distance *= 2) {
            uint32_t before = __shfl_up_sync(ALL, sum, distance);
            sum += lane >= distance ? before : 0;
        }
        if (k < p.groups)
            group[k].at = at + sum - own;
        at += __shfl_sync(ALL, sum, WARP - 1);
    }
    if (lane == 0)
        a.bytes[segment] = (at + PACK_SEGMENT_ALIGN - 1) / PACK_SEGMENT_ALIGN * PACK_SEGMENT_ALIGN;
}

/* Word w of the words that `count` fields of `bits` (1 or more) bits take. */
template <typename Field>
__device__ uint32_t gather_fields(uint32_t w, uint32_t count, uint32_t bits, Field field)
{
    uint32_t begin = 32 * w, word = 0;
    for (uint32_t i = begin / bits; i < count && i * bits < begin + 32; i++) {
        auto all = field(i);
        word |= i * bits >= begin ? static_cast<uint32_t>(all) << (i * bits - begin)
                                  : static_cast<uint32_t>(all >> (begin - i * bits));
    }
    return word;
}

__device__ uint64_t field_of(const packed_group &g, double power, double value)
{
    if (g.value_form == PACKED_WHOLE)
        return static_cast<uint64_t>(llrint(value * power) - g.least);
    if (g.value_form == PACKED_F32)
        return __float_as_uint(static_cast<float>(value));
    return bits_of(value);
}

template <typename Line>
__global__ void write(const __grid_constant__ pack_args a, uint64_t first, uint64_t last,
                      const uint64_t *__restrict__ offset, uint8_t *__restrict__ packed)
{
    __shared__ uint32_t vector[WARPS][PACKED_UPPER_WORDS];
    uint64_t warp = first * pack_groups(a.segment_nnz) + static_cast<uint64_t>(blockIdx.x) * WARPS +
                    threadIdx.x / WARP;
    Place p = place_of(a, warp);
    if (p.count == 0 || p.segment >= last)
        return;
    const packed_group g = a.group[warp];
    const Line *line = static_cast<const Line *>(a.line) + p.first;
    uint8_t *bytes = packed + (offset[p.segment] - offset[first]);
    uint32_t *word = reinterpret_cast<uint32_t *>(bytes + g.at);
    const uint32_t lane = threadIdx.x % WARP;
    if (lane == 0) {
        uint8_t *entry = bytes + p.number * entry_stride(a);
        uint64_t *origin = reinterpret_cast<uint64_t *>(entry + sizeof g);
        uint128 base = static_cast<uint128>(shift_right(line[0], g.low_bits)) << g.low_bits;
        *reinterpret_cast<packed_group *>(entry) = g;
        if (a.line_bits > 0)
            origin[0] = static_cast<uint64_t>(base);
        if (a.line_bits > 64)
            origin[1] = static_cast<uint64_t>(base >> 64);
    }
    const Line mask = (static_cast<Line>(1) << g.low_bits) - 1;
    const uint32_t low_words = packed_field_words(g.count, g.low_bits);
    for (uint32_t w = lane; w < low_words; w += WARP)
        word[w] = gather_fields(w, g.count, g.low_bits,
                                [line, mask](uint32_t i) { return line[i] & mask; });
    word += low_words;
    const double *value = a.value + p.first, power = packed_power_of_ten(g.decimals);
    const uint32_t value_words = packed_field_words(g.count, g.value_bits);
    for (uint32_t w = lane; w < value_words; w += WARP)
        word[w] = gather_fields(w, g.count, g.value_bits, [&g, power, value](uint32_t i) {
            return field_of(g, power, value[i]);
        });
    word += value_words;
    uint32_t *bits = vector[threadIdx.x / WARP]; /* the bit vector is put together here */
    const Line base = shift_right(line[0], g.low_bits);
    bits[lane] = 0;
    __syncwarp();
    for (uint32_t i = lane; i < g.count; i += WARP) {
        uint32_t place = static_cast<uint32_t>(shift_right(line[i], g.low_bits) - base) + i;
        atomicOr(&bits[place / 32], 1u << place % 32);
    }
    __syncwarp();
    if (lane < g.upper_words)
        word[lane] = bits[lane];
}

} // namespace

cudaError_t pack_measure(const pack_args *a, cudaStream_t stream)
{
    const uint64_t segments = (a->nnz + a->segment_nnz - 1) / a->segment_nnz;
    unsigned blocks = thread_blocks(segments * pack_groups(a->segment_nnz), WARPS);
    const auto kernel = a->words == 1 ? measure<uint64_t> : measure<uint128>;
    CUDA_TRY(launch_kernel(kernel, blocks, THREADS, stream, *a));
    return launch_kernel(place_groups, thread_blocks(segments, WARPS), THREADS, stream, *a,
                         segments);
}

cudaError_t pack_write(const pack_args *a, uint64_t first, uint64_t count, const uint64_t *offset,
                       uint8_t *packed, cudaStream_t stream)
{
    const unsigned blocks = thread_blocks(count * pack_groups(a->segment_nnz), WARPS);
    const auto kernel = a->words == 1 ? write<uint64_t> : write<uint128>;
    return launch_kernel(kernel, blocks, THREADS, stream, *a, first, first + count, offset, packed);
}
