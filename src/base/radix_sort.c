#include "base/radix_sort.h"

#include <omp.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

/* A range that fits a core's cache twice (32 bytes a pair) is sorted by one thread, from the least
 * significant digit up. A longer range is first split by its most significant digit, by all threads
 * together: the scattered writes of a split go out to memory, so they are collected until a cache
 * line is full. The widths and the sizes are the fastest measured at 3 and 20 million pairs. */
#define CACHED_PAIRS     (UINT64_C(1) << 14)
#define AVERAGE_PAIRS    (UINT64_C(1) << 12) /* of a bucket: what a split aims at */
#define SPLIT_WIDTH      9
#define SPLIT_BUCKETS    (1 << SPLIT_WIDTH)
#define DIGIT_WIDTH      9
#define INSERTION_PAIRS  24 /* fewer pairs are not worth a histogram */
#define CACHE_LINE_PAIRS 8

/* What one thread needs for its part of a split. */
struct splitter {
    uint64_t next[SPLIT_BUCKETS];  /* counts, then where the bucket's next pair goes */
    uint64_t first[SPLIT_BUCKETS]; /* where this thread's part of the bucket starts  */
    struct {
        uint64_t key[CACHE_LINE_PAIRS], payload[CACHE_LINE_PAIRS];
    } pending[SPLIT_BUCKETS]; /* pairs of the cache line that is being filled   */
};

/* Some bits of a key, to which `moves` are applied first unless NULL. */
struct digit {
    int shift;
    uint64_t mask;
    const struct bit_moves *moves;
};

static struct pairs pairs_at(struct pairs p, uint64_t i)
{
    return (struct pairs){p.key + i, p.payload + i};
}

static uint64_t digit_of(struct digit d, uint64_t key)
{
    return (key >> d.shift) & d.mask;
}

static int bit_length(uint64_t x)
{
    return x ? 64 - __builtin_clzll(x) : 0;
}

static void insertion_sort(struct pairs a, uint64_t n, int low)
{
    for (uint64_t i = 1; i < n; i++) {
        uint64_t key = a.key[i], payload = a.payload[i], j = i;
        for (; j > 0 && a.key[j - 1] >> low > key >> low; j--) {
            a.key[j] = a.key[j - 1];
            a.payload[j] = a.payload[j - 1];
        }
        a.key[j] = key;
        a.payload[j] = payload;
    }
}

/* One stable pass by a digit of at most DIGIT_WIDTH bits. */
static void counting_pass(struct pairs from, struct pairs to, uint64_t n, struct digit d)
{
    uint32_t next[1 << DIGIT_WIDTH];
    memset(next, 0, (d.mask + 1) * sizeof *next);
    for (uint64_t i = 0; i < n; i++)
        next[digit_of(d, from.key[i])]++;
    uint32_t sum = 0;
    for (uint64_t b = 0; b <= d.mask; b++) {
        uint32_t count = next[b];
        next[b] = sum;
        sum += count;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint32_t at = next[digit_of(d, from.key[i])]++;
        to.key[at] = from.key[i];
        to.payload[at] = from.payload[i];
    }
}

/* Sorts the pairs of `a` by the bits of their keys from `low` (below 64) on, by one thread. The
 * sorted pairs end in b where `into_b`, else in a. */
static void sort_cached(struct pairs a, struct pairs b, uint64_t n, int low, bool into_b)
{
    uint64_t varying = 0;
    if (n <= INSERTION_PAIRS) {
        insertion_sort(a, n, low);
    } else {
        for (uint64_t i = 1; i < n; i++)
            varying |= a.key[i] ^ a.key[0];
        varying = varying >> low << low;
    }
    bool in_b = false;
    while (varying) {
        int shift = __builtin_ctzll(varying);
        int left = bit_length(varying) - shift;
        int passes = (left + DIGIT_WIDTH - 1) / DIGIT_WIDTH;
        int width = (left + passes - 1) / passes;
        struct digit d = {shift, (UINT64_C(1) << width) - 1, NULL};
        counting_pass(in_b ? b : a, in_b ? a : b, n, d);
        in_b = !in_b;
        varying &= ~(d.mask << shift);
    }
    if (in_b != into_b) {
        const struct pairs from = in_b ? b : a, to = into_b ? b : a;
        memcpy(to.key, from.key, n * sizeof *to.key);
        memcpy(to.payload, from.payload, n * sizeof *to.payload);
    }
}

static uint64_t moved(const struct bit_moves *moves, uint64_t key)
{
    if (!moves)
        return key;
    uint64_t sum = 0;
    for (int i = 0; i < moves->count; i++)
        sum |= bit_move_apply(moves->move[i], key);
    return sum;
}

/* Writes the pending pairs of a bucket, the last of which belongs before `end`. */
static void flush_pending(struct splitter *s, struct pairs to, uint64_t bucket, uint64_t end)
{
    uint64_t first = (end - 1) / CACHE_LINE_PAIRS * CACHE_LINE_PAIRS;
    if (first < s->first[bucket])
        first = s->first[bucket];
    uint64_t place = first % CACHE_LINE_PAIRS;
    memcpy(to.key + first, s->pending[bucket].key + place, (end - first) * sizeof *to.key);
    memcpy(to.payload + first, s->pending[bucket].payload + place,
           (end - first) * sizeof *to.payload);
}

/* Moves pairs [begin, end) to their buckets, to the places of this thread from s->next on. */
static void scatter(struct splitter *s, struct pairs from, struct pairs to, uint64_t begin,
                    uint64_t end, struct digit d)
{
    memcpy(s->first, s->next, sizeof s->first);
    for (uint64_t i = begin; i < end; i++) {
        uint64_t key = moved(d.moves, from.key[i]), bucket = digit_of(d, key);
        uint64_t at = s->next[bucket]++, place = at % CACHE_LINE_PAIRS;
        s->pending[bucket].key[place] = key;
        s->pending[bucket].payload[place] = from.payload[i];
        if (place == CACHE_LINE_PAIRS - 1) {
            if (at - place >= s->first[bucket]) {
                memcpy(to.key + at - place, s->pending[bucket].key, sizeof s->pending[bucket].key);
                memcpy(to.payload + at - place, s->pending[bucket].payload,
                       sizeof s->pending[bucket].payload);
            } else {
                flush_pending(s, to, bucket, at + 1);
            }
        }
    }
    for (uint64_t b = 0; b <= d.mask; b++)
        if (s->next[b] > s->first[b] && s->next[b] % CACHE_LINE_PAIRS != 0)
            flush_pending(s, to, b, s->next[b]);
}

/* Splits a into b, whose keys are moved, by one digit; stable; by all threads. start (buckets + 1)
 * receives the bounds of the buckets. */
static void split(struct pairs a, struct pairs b, uint64_t n, struct digit d, struct splitter *s,
                  uint64_t *start)
{
#pragma omp parallel
    {
        uint64_t threads = (uint64_t)omp_get_num_threads(), t = (uint64_t)omp_get_thread_num();
        uint64_t begin = n * t / threads, end = n * (t + 1) / threads;
        memset(s[t].next, 0, sizeof s[t].next);
        for (uint64_t i = begin; i < end; i++)
            s[t].next[digit_of(d, moved(d.moves, a.key[i]))]++;
#pragma omp barrier
#pragma omp single
        { /* the counts become the places where the threads' parts of each bucket begin */
            uint64_t sum = 0;
            for (uint64_t bucket = 0; bucket <= d.mask; bucket++) {
                start[bucket] = sum;
                for (uint64_t i = 0; i < threads; i++) {
                    uint64_t count = s[i].next[bucket];
                    s[i].next[bucket] = sum;
                    sum += count;
                }
            }
            start[d.mask + 1] = sum;
        }
        scatter(&s[t], a, b, begin, end, d);
    }
}

/* Bits of the digit by which to split a range whose keys differ in bits [low, top) only. */
static int split_width(uint64_t n, int low, int top)
{
    int width = bit_length(n / AVERAGE_PAIRS);
    width = width < SPLIT_WIDTH ? width : SPLIT_WIDTH;
    return width < top - low ? width : top - low;
}

/* Sorts the pairs of `a` by the bits of their keys from `low` on, by all threads. The sorted pairs
 * end in b where `into_b`, else in a. */
static void sort_range(struct pairs a, struct pairs b, uint64_t n, int low, bool into_b,
                       struct splitter *s)
{
    uint64_t varying = 0;
    if (n > CACHED_PAIRS) {
#pragma omp parallel for schedule(static) reduction(| : varying)
        for (uint64_t i = 0; i < n; i++)
            varying |= a.key[i] ^ a.key[0];
        varying >>= low;
    }
    if (!varying) {
        sort_cached(a, b, n, low, into_b);
        return;
    }
    int top = low + bit_length(varying), width = split_width(n, low, top);
    struct digit d = {top - width, (UINT64_C(1) << width) - 1, NULL};
    uint64_t start[SPLIT_BUCKETS + 1];
    split(a, b, n, d, s, start);

#pragma omp parallel for schedule(dynamic)
    for (uint64_t i = 0; i <= d.mask; i++)
        if (start[i + 1] - start[i] <= CACHED_PAIRS)
            sort_cached(pairs_at(b, start[i]), pairs_at(a, start[i]), start[i + 1] - start[i], low,
                        !into_b);
    for (uint64_t i = 0; i <= d.mask; i++)
        if (start[i + 1] - start[i] > CACHED_PAIRS)
            sort_range(pairs_at(b, start[i]), pairs_at(a, start[i]), start[i + 1] - start[i], low,
                       !into_b, s);
}

static struct pairs new_pairs(uint64_t n, struct error *error)
{
    return (struct pairs){memory_array(n, sizeof(uint64_t), error),
                          memory_array(n, sizeof(uint64_t), error)};
}

enum status radix_sort(uint64_t *key, uint64_t *payload, uint64_t n, struct error *error)
{
    if (n < 2)
        return STATUS_OK;
    struct pairs other = new_pairs(n, error);
    struct splitter *s = memory_array((size_t)omp_get_max_threads(), sizeof *s, error);
    if (other.key && other.payload && s)
        sort_range((struct pairs){key, payload}, other, n, 0, false, s);
    memory_free(other.key, other.payload, s);
    return error->status;
}

enum status radix_sort_moved(const struct sort_keys *keys, struct pairs from, struct pairs to,
                             uint64_t n, struct error *error)
{
    uint64_t threads = (uint64_t)omp_get_max_threads(), start[SPLIT_BUCKETS + 1], longest = 0;
    struct pairs cached = new_pairs(threads * CACHED_PAIRS, error), other = {NULL, NULL};
    struct splitter *s = memory_array(threads, sizeof *s, error);
    TRY_OR(done, error->status);
    int width = split_width(n, keys->low, keys->bits), shift = width ? keys->bits - width : 0;
    struct digit d = {shift, (UINT64_C(1) << width) - 1, keys->moves};
    split(from, to, n, d, s, start);
    if (keys->bits - width <= keys->low)
        goto done;
        /* Buckets that fit a core's cache are sorted by a thread each, by way of its own pairs. */
#pragma omp parallel for schedule(dynamic) reduction(max : longest)
    for (uint64_t i = 0; i <= d.mask; i++) {
        uint64_t length = start[i + 1] - start[i];
        struct pairs own = pairs_at(cached, (uint64_t)omp_get_thread_num() * CACHED_PAIRS);
        if (length <= CACHED_PAIRS)
            sort_cached(pairs_at(to, start[i]), own, length, keys->low, false);
        else if (length > longest)
            longest = length;
    }
    if (longest == 0)
        goto done;
    other = new_pairs(longest, error);
    for (uint64_t i = 0; i <= d.mask && other.key && other.payload; i++)
        if (start[i + 1] - start[i] > CACHED_PAIRS)
            sort_range(pairs_at(to, start[i]), other, start[i + 1] - start[i], keys->low, false, s);
done:
    memory_free(cached.key, cached.payload, other.key, other.payload, s);
    return error->status;
}
