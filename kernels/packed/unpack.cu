/* A warp decodes a group of packed nonzeros (packed_group.h). Each lane takes as much of the bit
 * vector and notes the `upper` of its set bits in shared memory. Then each lane decodes a
 * nonzero, 32 neighbours at a time: line, coordinates, value. Fields of neighbours lie side by
 * side, and 32 of them fill whole words, so that a lane finds all of its fields at the same bit of
 * a word.
 *
 * A line's bits go to the coordinates' places four at a time, by a table in shared memory: 16
 * entries of 8 bytes, which lie in different banks. Upper bits that a group's lines have in common
 * are looked up once for all of them. */
#include "kernels/packed/unpack.h"

#include "numerics/unrolled.cuh"

namespace
{

constexpr uint32_t WARP = 32;
constexpr uint32_t ALL = 0xffffffffu;
constexpr uint32_t THREADS = 256;
constexpr uint32_t WARPS = THREADS / WARP;
constexpr uint32_t PART = PACKED_GROUP_NNZ * WARPS; /* nonzeros of a thread block, about */

/* Line bits that are looked up together, in that many nibbles. */
constexpr uint32_t STEP_BITS = 16, STEP_NIBBLES = STEP_BITS / 4;

/* So many 64-bit words of a line, or of what it is decoded to. */
template <int WORDS> struct words_of {
    uint64_t word[WORDS];
};

template <int WORDS> using spread_table = uint64_t[WORDS * 16][WORDS][16];

__host__ __device__ constexpr uint32_t steps_of(uint32_t bits)
{
    return (bits + STEP_BITS - 1) / STEP_BITS;
}

/* Adds the coordinates' bits of steps [begin, end) of a line. */
template <int WORDS>
__device__ __forceinline__ void spread(const spread_table<WORDS> &table,
                                       const words_of<WORDS> &line, uint32_t begin, uint32_t end,
                                       words_of<WORDS> &to)
{
#pragma unroll
    for (uint32_t s = 0; s < steps_of(64 * WORDS); s++) {
        if (s >= end)
            break;
        if (s < begin)
            continue;
        uint32_t bits = static_cast<uint32_t>(line.word[s * STEP_BITS / 64] >> s * STEP_BITS % 64);
#pragma unroll
        for (uint32_t n = 0; n < STEP_NIBBLES; n++)
            EACH_UNROLLED(w, WORDS)
                to.word[w] |= table[s * STEP_NIBBLES + n][w][bits >> 4 * n & 15];
    }
}

/* The `upper` of a group's nonzeros, in their order, from its bit vector. */
__device__ void find_uppers(const uint32_t *vector, int vector_words, uint32_t lane,
                            uint16_t *upper)
{
    uint32_t part = static_cast<uint32_t>(packed_field(vector, lane, vector_words));
    uint32_t rank = __popc(part);
    for (uint32_t d = 1; d < WARP; d *= 2) {
        uint32_t before = __shfl_up_sync(ALL, rank, d);
        rank += lane >= d ? before : 0;
    }
    uint32_t first = lane * vector_words;
    while (part) {
        uint32_t bit = 31 - __clz(part);
        part ^= 1u << bit;
        rank--;
        upper[rank] = static_cast<uint16_t>(first + bit - rank);
    }
    __syncwarp();
}

/* Reads a lane's fields, every WARPth one, as packed_field does: fields of up to 32 HALVES bits, in
 * 32-bit halves of 64-bit words. The word after a field's first word is always read: it exists, at
 * the latest as the first word of the bit vector. If fields have no bits, the word in their place
 * is read as that next word, and the word before it as the first. */
template <int HALVES> struct fields {
    const uint32_t *word;
    uint32_t shift, bits, mask[HALVES];

    __device__ fields(const uint32_t *words, uint32_t field_bits, uint32_t lane)
    {
        uint32_t from = lane * field_bits;
        word = words + from / 32 - (field_bits == 0);
        shift = from % 32;
        bits = field_bits;
        for (uint32_t p = 0; p < HALVES; p++)
            mask[p] = bits >= 32 * (p + 1) ? ALL : bits > 32 * p ? ALL >> (32 - bits % 32) : 0;
    }

    __device__ __forceinline__ void next(uint32_t *half)
    {
        uint32_t low = word[0], high = word[1];
        half[0] = __funnelshift_r(low, high, shift) & mask[0];
#pragma unroll
        for (uint32_t p = 1; p < HALVES; p++) {
            low = high;
            high = shift + bits > 32 * (p + 1) ? word[p + 1] : 0;
            half[p] = __funnelshift_r(low, high, shift) & mask[p];
        }
        word += bits;
    }
};

/* One 64-bit word from a field's one or more halves. */
template <int HALVES> __device__ __forceinline__ uint64_t joined(const uint32_t *half)
{
    return HALVES > 1 ? static_cast<uint64_t>(half[HALVES > 1]) << 32 | half[0] : half[0];
}

/* A group's lines count from the entry's line, in steps of 2^low_bits. */
template <int WORDS> struct line_origin {
    words_of<WORDS> line, scale;

    __device__ line_origin(const uint8_t *entry, int line_bits, int low_bits)
    {
        const uint64_t *stored = reinterpret_cast<const uint64_t *>(entry + sizeof(packed_group));
        for (int w = 0; w < WORDS; w++) {
            line.word[w] = 64 * w < line_bits ? stored[w] : 0;
            scale.word[w] = low_bits / 64 == w ? UINT64_C(1) << low_bits % 64 : 0;
        }
    }

    /* The line of the nonzero with this `upper`, its low bits zero. */
    __device__ __forceinline__ words_of<WORDS> at(uint32_t upper) const
    {
        words_of<WORDS> sum;
        uint64_t carry = 0;
        EACH_UNROLLED(w, WORDS) {
            uint64_t product = upper * scale.word[w] + carry;
            sum.word[w] = line.word[w] + product;
            carry = __umul64hi(upper, scale.word[w]) + (sum.word[w] < product);
        }
        return sum;
    }

    /* All lines up to the line of `upper` agree above this many bits. */
    __device__ uint32_t differing_bits(uint32_t upper, uint32_t low_bits) const
    {
        words_of<WORDS> last = at(upper);
        uint32_t bits = low_bits;
        for (uint32_t w = 0; w < WORDS; w++)
            if (last.word[w] != line.word[w])
                bits = max(bits, 64 * (w + 1) - __clzll(last.word[w] ^ line.word[w]));
        return bits;
    }
};

/* The shared memory of a thread block. */
template <int WORDS> struct shared_tables {
    spread_table<WORDS> table;
    uint16_t upper[WARPS][PACKED_GROUP_NNZ];
};

/* The state with which a lane decodes; `upper` (PACKED_GROUP_NNZ) is its warp's, in shared memory.
 */
template <int WORDS> struct unpacker {
    const unpack_args &a;
    const packed_bounds &limits;
    const spread_table<WORDS> &table;
    uint16_t *upper;
    uint32_t lane;
};

/* Decodes the nonzeros of a group, whose fields have at most 32 LOW_HALVES and 32 VALUE_HALVES
 * bits, to `start` and on. */
template <int LOW_HALVES, int VALUE_HALVES, int WORDS, typename T>
__device__ void unpack_nonzeros(const unpacker<WORDS> &u, const packed_group &g,
                                const line_origin<WORDS> &origin, const uint32_t *words,
                                uint64_t start)
{
    fields<LOW_HALVES> lows(words, g.low_bits, u.lane);
    fields<VALUE_HALVES> values(words + packed_field_words(g.count, g.low_bits), g.value_bits,
                                u.lane);
    uint32_t all_steps = steps_of(u.a.layout.line_bits);
    uint32_t steps =
        min(all_steps, steps_of(origin.differing_bits(u.upper[g.count - 1], g.low_bits)));
    words_of<WORDS> common = {};
    spread<WORDS>(u.table, origin.line, steps, all_steps, common);

    double power = packed_power_of_ten(g.decimals);
    T *value = static_cast<T *>(u.a.value) + start;
    uint64_t *index[WORDS];
    for (int w = 0; w < WORDS; w++)
        index[w] = u.a.index[w] + start;
    for (uint32_t i = u.lane; i < g.count; i += WARP) {
        uint32_t low[LOW_HALVES], field[VALUE_HALVES];
        lows.next(low);
        values.next(field);
        words_of<WORDS> line = origin.at(u.upper[i]), to = common;
        uint64_t beyond = 0;
#pragma unroll
        for (int p = 0; p < LOW_HALVES; p += 2)
            line.word[p / 2] |= joined<LOW_HALVES>(low + p);
        spread<WORDS>(u.table, line, 0, steps, to);
        EACH_UNROLLED(w, WORDS)
            beyond |= packed_beyond(&u.limits, w, to.word[w]);
        if (beyond) {
            atomicMax(u.a.damaged, packed_mode_beyond(&u.a.layout, to.word));
            to = {};
        }
        EACH_UNROLLED(w, WORDS)
            index[w][i] = to.word[w];
        value[i] = static_cast<T>(packed_value(&g, power, joined<VALUE_HALVES>(field)));
    }
}

/* Decodes the group of this entry of a segment; the segment's nonzeros go to `start` and on. */
template <int WORDS, typename T>
__device__ void unpack_group(const unpacker<WORDS> &u, const uint8_t *segment, const uint8_t *entry,
                             uint64_t start)
{
    const packed_group g = *reinterpret_cast<const packed_group *>(entry);
    const uint32_t *words = reinterpret_cast<const uint32_t *>(segment + g.at);
    find_uppers(words + packed_field_words(g.count, g.low_bits) +
                    packed_field_words(g.count, g.value_bits),
                g.upper_words, u.lane, u.upper);
    const line_origin<WORDS> origin(entry, u.a.layout.line_bits, g.low_bits);
    if (g.low_bits <= 32 && g.value_bits <= 32)
        unpack_nonzeros<1, 1, WORDS, T>(u, g, origin, words, start + g.first);
    else
        unpack_nonzeros<2 * WORDS, 2, WORDS, T>(u, g, origin, words, start + g.first);
    __syncwarp();
}

__host__ __device__ uint32_t parts_of(const unpack_args &a)
{
    return (a.segment_nnz + PART - 1) / PART;
}

template <int WORDS, typename T>
__global__ void __launch_bounds__(THREADS)
    unpack(const __grid_constant__ unpack_args a, const __grid_constant__ packed_bounds limits)
{
    __shared__ shared_tables<WORDS> shared;
    const packed_spread *from = a.spread;
    uint32_t entries = steps_of(a.layout.line_bits) * STEP_NIBBLES * 16 * WORDS;
    for (uint32_t i = threadIdx.x; i < entries; i += THREADS) { /* the nibbles that a line has */
        uint32_t word = i / 16 % WORDS, nibble = i / (16 * WORDS);
        shared.table[nibble][word][i % 16] = from->nibble[nibble][i % 16][word];
    }
    __syncthreads();
    uint32_t parts = parts_of(a), number = blockIdx.x / parts;
    const unpack_segment segment = a.segment[number];
    const uint8_t *bytes = a.bytes + (segment.offset - a.offset);
    uint64_t start = static_cast<uint64_t>(number) * a.segment_nnz;
    uint32_t warp = threadIdx.x / WARP;
    const unpacker<WORDS> u = {a, limits, shared.table, shared.upper[warp], threadIdx.x % WARP};
    for (uint32_t k = blockIdx.x % parts * WARPS + warp; k < segment.ngroups; k += parts * WARPS)
        unpack_group<WORDS, T>(u, bytes, bytes + static_cast<uint64_t>(k) * a.layout.stride, start);
}

} // namespace

cudaError_t unpack_launch(const unpack_args *args, cudaStream_t stream)
{
    packed_bounds limits;
    packed_bounds_create(&limits, &args->layout);
    uint64_t segments = (args->nnz + args->segment_nnz - 1) / args->segment_nnz;
    const unsigned blocks = static_cast<unsigned>(parts_of(*args) * segments);
    const bool single = args->precision == PRECISION_SINGLE;
    const auto kernel = args->layout.words > 1 ? (single ? unpack<2, float> : unpack<2, double>)
                                               : (single ? unpack<1, float> : unpack<1, double>);
    return launch_kernel(kernel, blocks, THREADS, stream, *args, limits);
}
