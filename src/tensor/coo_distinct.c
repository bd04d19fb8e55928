/* Each entry has a key of 64 bits, which stands for its coordinates. The keys are dealt to buckets
 * by their upper bits, through cache lines that are written when they are full. A bucket fits a
 * core's cache; there its keys are put into a hash table. So every key is written to memory once
 * and read once, while sorting would move it several times, with the place of its entry. */
#include "tensor/coo.h"

#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/page_touch.h"
#include "base/vector_clones.h"
#include "tensor/ordering.h"

#define BUCKET_KEYS (UINT64_C(1) << 13) /* keys of a bucket, about, if there are several */
#define BUCKET_BITS 12
#define BUCKETS     (1 << BUCKET_BITS)
#define MOST_KEYS   4 /* times the mean: keys of a bucket, where they are distinct */
#define LINE_KEYS   8 /* keys of a cache line */
#define BATCH       512

/* How keys are made: the sum of index * factor, mixed. */
struct keys {
    int order;
    uint64_t nnz;
    const uint32_t *index[MAX_ORDER];
    uint64_t factor[MAX_ORDER];
    int bucket_bits; /* the uppermost bits of a key are the number of its bucket */
};

/* What one thread needs to deal its entries. */
struct dealer {
    uint64_t first[BUCKETS], count[BUCKETS]; /* keys of this thread in each bucket */
    _Alignas(64) uint64_t pending[BUCKETS][LINE_KEYS];
};

/* Where the coordinates have at most 64 bits together, the factors put these side by side, mode 0
 * uppermost, and different coordinates have different sums; otherwise random factors make equal
 * sums unlikely. */
static struct keys keys_of(const struct coo *x)
{
    struct keys k = {.order = x->shape.order, .nnz = x->nnz};
    int bits = ordering_line_bits(&x->shape);
    bool fits = bits <= 64;
    uint64_t random = UINT64_C(0x9e3779b97f4a7c15);
    for (int n = 0; n < k.order; n++) {
        bits -= ordering_bits(x->shape.dims[n]);
        random *= UINT64_C(0xd1342543de82ef95);
        k.index[n] = x->index[n];
        k.factor[n] = !fits ? random : bits < 64 ? UINT64_C(1) << bits : 0;
    }
    return k;
}

/* The least b for which 2^b places of `each` suffice for n. */
static int bits_for(uint64_t n, uint64_t each)
{
    int bits = 0;
    while (n >> bits > each)
        bits++;
    return bits;
}

/* Mixes keys so that the upper bits depend on all bits; different keys stay different (each step
 * can be undone). The factors are those of MurmurHash3's last step (A. Appleby). */
VECTOR_CLONES static void mix(uint64_t *restrict key, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t h = key[i];
        h ^= h >> 33;
        h *= UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 33;
        h *= UINT64_C(0xc4ceb9fe1a85ec53);
        key[i] = h;
    }
}

VECTOR_CLONES static void add_mode(uint64_t *restrict key, const uint32_t *restrict index,
                                   uint64_t factor, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        key[i] += index[i] * factor;
}

static void make_keys(const struct keys *k, uint64_t first, uint64_t count, uint64_t *key)
{
    memset(key, 0, count * sizeof *key);
    for (int n = 0; n < k->order; n++)
        add_mode(key, k->index[n] + first, k->factor[n], count);
    mix(key, count);
}

/* The upper `bits` bits. */
static uint64_t upper(uint64_t key, int bits)
{
    return bits ? key >> (64 - bits) : 0;
}

static void count_keys(const struct keys *k, struct dealer *d, uint64_t begin, uint64_t end)
{
    uint64_t key[BATCH];
    memset(d->count, 0, sizeof d->count);
    for (uint64_t at = begin; at < end; at += BATCH) {
        const uint64_t count = least_of(end - at, BATCH);
        make_keys(k, at, count, key);
        for (uint64_t i = 0; i < count; i++)
            d->count[upper(key[i], k->bucket_bits)]++;
    }
}

static void deal_keys(const struct keys *k, struct dealer *d, uint64_t begin, uint64_t end,
                      uint64_t *to)
{
    uint64_t key[BATCH];
    memset(d->count, 0, sizeof d->count);
    for (uint64_t at = begin; at < end; at += BATCH) {
        const uint64_t count = least_of(end - at, BATCH);
        make_keys(k, at, count, key);
        for (uint64_t i = 0; i < count; i++) {
            uint64_t b = upper(key[i], k->bucket_bits), place = d->count[b]++ % LINE_KEYS;
            d->pending[b][place] = key[i];
            if (place == LINE_KEYS - 1)
                memcpy(to + d->first[b] + d->count[b] - LINE_KEYS, d->pending[b],
                       sizeof d->pending[b]);
        }
    }
    for (uint64_t b = 0; b < UINT64_C(1) << k->bucket_bits; b++) {
        uint64_t rest = d->count[b] % LINE_KEYS;
        memcpy(to + d->first[b] + d->count[b] - rest, d->pending[b], rest * sizeof **d->pending);
    }
}

/* Whether the keys of bucket number `number`, to which each of `threads` dealers has dealt a part,
 * are distinct. table (2^bits for `most` keys): a hash table, whose places the bits below those of
 * the bucket choose. */
static bool bucket_is_distinct(const struct keys *k, const struct dealer *d, int threads,
                               const uint64_t *keys, uint64_t number, uint64_t most,
                               uint64_t *table)
{
    uint64_t all = 0;
    bool zero = false, same = false; /* zero: a free place has it, too */
    for (int t = 0; t < threads; t++)
        all += d[t].count[number];
    if (all > most)
        return false;
    const int bits = bits_for(all, 1) + 2;
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    memset(table, 0, (mask + 1) * sizeof *table);
    for (int t = 0; t < threads; t++) {
        const uint64_t *key = keys + d[t].first[number];
        for (uint64_t i = 0; i < d[t].count[number]; i++) {
            uint64_t at = upper(key[i] << k->bucket_bits, bits);
            while (table[at] && table[at] != key[i])
                at = (at + 1) & mask;
            same |= key[i] ? table[at] == key[i] : zero;
            zero |= !key[i];
            table[at] = key[i];
        }
    }
    return !same;
}

enum status coo_distinct(const struct coo *x, bool *distinct, struct error *error)
{
    const int threads = omp_get_max_threads();
    struct keys k = keys_of(x);
    k.bucket_bits = bits_for(x->nnz, BUCKET_KEYS);
    k.bucket_bits = k.bucket_bits < BUCKET_BITS ? k.bucket_bits : BUCKET_BITS;
    const uint64_t buckets = UINT64_C(1) << k.bucket_bits,
                   most = MOST_KEYS * (x->nnz / buckets + 1);
    const size_t room = (size_t)4 << bits_for(most, 1); /* places of a table */
    struct dealer *d = memory_array((size_t)threads, sizeof *d, error);
    uint64_t *table = memory_array((size_t)threads, room * sizeof *table, error);
    uint64_t keys = 0, *key = NULL;
    atomic_bool same = false;
    *distinct = false;
    TRY_OR(done, error->status);
#pragma omp parallel for schedule(static, 1)
    for (int t = 0; t < threads; t++)
        count_keys(&k, &d[t], even_cut(x->nnz, t, threads), even_cut(x->nnz, t + 1, threads));
    for (uint64_t b = 0; b < buckets; b++) /* each thread has its place, in whole cache lines */
        for (int t = 0; t < threads; t++) {
            d[t].first[b] = keys;
            keys += (d[t].count[b] + LINE_KEYS - 1) / LINE_KEYS * LINE_KEYS;
        }
    key = memory_array(keys, sizeof *key, error);
    TRY_OR(done, error->status);
    struct page_touch pages; /* threads that deal write to all buckets at once */
    page_touch_begin(&pages);
    page_touch_add(&pages, key, keys * sizeof *key);
    page_touch_now(&pages);
#pragma omp parallel for schedule(static, 1)
    for (int t = 0; t < threads; t++)
        deal_keys(&k, &d[t], even_cut(x->nnz, t, threads), even_cut(x->nnz, t + 1, threads), key);
#pragma omp parallel for schedule(dynamic)
    for (uint64_t b = 0; b < buckets; b++) {
        uint64_t *own = table + (size_t)omp_get_thread_num() * room;
        if (!atomic_load(&same) && !bucket_is_distinct(&k, d, threads, key, b, most, own))
            atomic_store(&same, true);
    }
    *distinct = !atomic_load(&same);
done:
    memory_free(key, table, d);
    return error->status;
}
