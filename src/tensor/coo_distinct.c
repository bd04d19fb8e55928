/* Each entry has a key of 64 bits, which stands for its coordinates. The keys are dealt to buckets
 * by their upper bits, through cache lines that are written when they are full. A bucket fits a
 * core's cache. In it each key has a bit of a map; few bits belong to several keys, and only these
 * keys are compared. So every key is written to memory once and read twice, while sorting would
 * move it several times, with the place of its entry. */
#include "tensor/coo.h"

#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/page_touch.h"
#include "base/vector_clones.h"
#include "tensor/ordering.h"

#define BUCKET_KEYS (UINT64_C(1) << 13) /* keys of a bucket at least, if there are several */
#define BUCKET_BITS 10
#define BUCKETS     (1 << BUCKET_BITS)
#define MAP_BITS    21 /* the largest map has 2^21 bits */
#define MAP_SPARSE  4  /* a map has more than 2^4 bits a key, up to the largest map */
#define LINE_KEYS   8  /* keys of a cache line */
#define BATCH       512
#define MOST_ALIKE  (UINT64_C(1) << 15) /* keys of a bucket that share bits with others */

/* How keys are made: the sum of index * factor, mixed. */
struct keys {
    int order;
    uint64_t nnz;
    const uint32_t *index[MAX_ORDER];
    uint64_t factor[MAX_ORDER];
    int pass_bits, bucket_bits; /* the uppermost bits of a key: its pass, then its bucket */
};

/* What one thread needs to deal its entries. */
struct dealer {
    uint64_t first[BUCKETS], count[BUCKETS]; /* keys of this thread in each bucket */
    _Alignas(64) uint64_t pending[BUCKETS][LINE_KEYS];
};

/* What one thread needs to check a bucket. */
struct checker {
    uint64_t met[(1 << MAP_BITS) / 64];     /* bits of keys                   */
    uint64_t several[(1 << MAP_BITS) / 64]; /* bits of several keys           */
    uint64_t alike[MOST_ALIKE];             /* the keys with bits of `several` */
    uint16_t place[2 * MOST_ALIKE]; /* a hash table: 1 + the number of an alike key; 0: empty */
};

/* Where the coordinates have at most 64 bits together, the factors put these side by side, mode 0
 * uppermost, and different coordinates have different sums; otherwise random factors make equal
 * sums unlikely. */
static struct keys keys_of(const struct coo *x)
{
    struct keys k = {.order = x->shape.order, .nnz = x->nnz};
    int bits = 0;
    for (int n = 0; n < k.order; n++)
        bits += ordering_bits(x->shape.dims[n]);
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

static uint64_t bucket_of(const struct keys *k, uint64_t key)
{
    return upper(key << k->pass_bits, k->bucket_bits);
}

static void count_keys(const struct keys *k, struct dealer *d, uint64_t pass, uint64_t begin,
                       uint64_t end)
{
    uint64_t key[BATCH];
    memset(d->count, 0, sizeof d->count);
    for (uint64_t at = begin; at < end; at += BATCH) {
        uint64_t count = end - at < BATCH ? end - at : BATCH;
        make_keys(k, at, count, key);
        for (uint64_t i = 0; i < count; i++)
            d->count[bucket_of(k, key[i])] += upper(key[i], k->pass_bits) == pass;
    }
}

static void deal_keys(const struct keys *k, struct dealer *d, uint64_t pass, uint64_t begin,
                      uint64_t end, uint64_t *to)
{
    uint64_t key[BATCH];
    memset(d->count, 0, sizeof d->count);
    for (uint64_t at = begin; at < end; at += BATCH) {
        uint64_t count = end - at < BATCH ? end - at : BATCH;
        make_keys(k, at, count, key);
        for (uint64_t i = 0; i < count; i++) {
            if (upper(key[i], k->pass_bits) != pass)
                continue;
            uint64_t b = bucket_of(k, key[i]), place = d->count[b]++ % LINE_KEYS;
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

/* Whether the `count` alike keys are distinct. The bits below the `used` uppermost ones choose the
 * place. */
static bool alike_are_distinct(struct checker *c, uint64_t count, int used)
{
    int bits = bits_for(count, 1) + 2;
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    memset(c->place, 0, (mask + 1) * sizeof *c->place);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key = c->alike[i], at = upper(key << used, bits);
        for (; c->place[at]; at = (at + 1) & mask)
            if (c->alike[c->place[at] - 1] == key)
                return false;
        c->place[at] = (uint16_t)(i + 1);
    }
    return true;
}

/* Whether the keys of bucket number `number`, to which each of `threads` dealers has dealt a part,
 * are distinct; the bits below the `used` uppermost ones choose a key's bit of the map. */
static bool bucket_is_distinct(struct checker *c, const struct dealer *d, int threads,
                               const uint64_t *keys, uint64_t number, int used)
{
    uint64_t all = 0, alike = 0;
    for (int t = 0; t < threads; t++)
        all += d[t].count[number];
    int map_bits = bits_for(all, 1) + MAP_SPARSE;
    map_bits = map_bits < 6 ? 6 : map_bits > MAP_BITS ? MAP_BITS : map_bits;
    size_t bytes = (UINT64_C(1) << map_bits) / 8;
    memset(c->met, 0, bytes);
    memset(c->several, 0, bytes);
    for (int t = 0; t < threads; t++) { /* marks the bits of several keys */
        const uint64_t *key = keys + d[t].first[number];
        for (uint64_t i = 0; i < d[t].count[number]; i++) {
            uint64_t at = upper(key[i] << used, map_bits), bit = UINT64_C(1) << (at % 64);
            if (c->met[at / 64] & bit)
                c->several[at / 64] |= bit;
            c->met[at / 64] |= bit;
        }
    }
    for (int t = 0; t < threads; t++) { /* collects the keys that share bits with others */
        const uint64_t *key = keys + d[t].first[number];
        for (uint64_t i = 0; i < d[t].count[number]; i++) {
            uint64_t at = upper(key[i] << used, map_bits);
            if (!(c->several[at / 64] >> (at % 64) & 1))
                continue;
            if (alike + 1 == MOST_ALIKE)
                return false;
            c->alike[alike++] = key[i];
        }
    }
    return alike_are_distinct(c, alike, used + map_bits);
}

/* Whether the keys of this pass are distinct. */
static bool pass_is_distinct(const struct keys *k, uint64_t pass, struct dealer *d,
                             struct checker *c, int threads, struct error *error)
{
    uint64_t buckets = UINT64_C(1) << k->bucket_bits, nnz = k->nnz;
#pragma omp parallel for schedule(static, 1)
    for (int t = 0; t < threads; t++)
        count_keys(k, &d[t], pass, even_cut(nnz, t, threads), even_cut(nnz, t + 1, threads));
    uint64_t keys = 0; /* each thread has its place in each bucket, in whole cache lines */
    for (uint64_t b = 0; b < buckets; b++)
        for (int t = 0; t < threads; t++) {
            d[t].first[b] = keys;
            keys += (d[t].count[b] + LINE_KEYS - 1) / LINE_KEYS * LINE_KEYS;
        }
    uint64_t *key = memory_array(keys, sizeof *key, error);
    if (!key)
        return false;
    struct page_touch pages; /* threads that deal write to all buckets at once */
    page_touch_begin(&pages);
    page_touch_add(&pages, key, keys * sizeof *key);
    page_touch_now(&pages);
#pragma omp parallel for schedule(static, 1)
    for (int t = 0; t < threads; t++)
        deal_keys(k, &d[t], pass, even_cut(nnz, t, threads), even_cut(nnz, t + 1, threads), key);
    atomic_bool distinct = true;
#pragma omp parallel for schedule(dynamic)
    for (uint64_t b = 0; b < buckets; b++) {
        if (atomic_load(&distinct) && !bucket_is_distinct(&c[omp_get_thread_num()], d, threads, key,
                                                          b, k->pass_bits + k->bucket_bits))
            atomic_store(&distinct, false);
    }
    memory_free(key);
    return atomic_load(&distinct);
}

enum status coo_distinct(const struct coo *x, uint64_t at_once, bool *distinct, struct error *error)
{
    int threads = omp_get_max_threads();
    struct keys k = keys_of(x);
    k.pass_bits = bits_for(x->nnz, at_once);
    k.bucket_bits = bits_for(x->nnz >> k.pass_bits, BUCKET_KEYS);
    k.bucket_bits = k.bucket_bits < BUCKET_BITS ? k.bucket_bits : BUCKET_BITS;
    struct dealer *d = memory_array((size_t)threads, sizeof *d, error);
    struct checker *c = memory_array((size_t)threads, sizeof *c, error);
    *distinct = d && c;
    for (uint64_t pass = 0; pass >> k.pass_bits == 0 && *distinct; pass++)
        *distinct = pass_is_distinct(&k, pass, d, c, threads, error);
    memory_free(c, d);
    return error->status;
}
