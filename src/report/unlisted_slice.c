#include "report/unlisted_slice.h"

#include <string.h>

#include "base/memory.h"
#include "base/random_stream.h"

#define FIRST_ROOM 64
#define KEY_BITS   64
#define KEY_WORDS  (MAX_ORDER / 2) /* two indices of 32 bits in each */

uint64_t unlisted_slice_entries(const struct unlisted_slice *s)
{
    uint64_t entries = 1;
    for (int n = 0; n < s->shape.order; n++)
        if (!s->given[n] && __builtin_mul_overflow(entries, s->shape.dims[n], &entries))
            return UINT64_MAX;
    return entries;
}

/* key = the indices of the modes that are not given, of which some share a word. Returns the number
 * of words, which is the same for all entries of a slice. */
static int pack(const struct unlisted_slice *s, const uint32_t *index, uint64_t *key)
{
    int words = 1, used = 0;
    key[0] = 0;
    for (int n = 0; n < s->shape.order; n++) {
        const uint64_t last = s->shape.dims[n] - 1;
        const int bits = last == 0 ? 0 : KEY_BITS - __builtin_clzll(last);
        if (s->given[n] || bits == 0)
            continue;
        if (used + bits > KEY_BITS) {
            key[words++] = 0;
            used = 0;
        }
        key[words - 1] |= (uint64_t)index[n] << used;
        used += bits;
    }
    return words;
}

enum status unlisted_slice_note(struct unlisted_slice *s, const struct coo *x, struct error *error)
{
    uint32_t index[MAX_ORDER];
    uint64_t key[KEY_WORDS];
    memory_free(s->start); /* the keys are to be sorted anew */
    s->start = NULL;
    for (uint64_t i = 0; i < x->nnz; i++) {
        bool has = true; /* the given indices */
        for (int n = 0; n < x->shape.order; n++)
            has = has && (!s->given[n] || x->index[n][i] == s->index[n]);
        if (!has)
            continue;
        coo_coordinates(x, i, index);
        const uint64_t words = (uint64_t)pack(s, index, key);
        if (s->count == s->room) {
            const uint64_t room = s->room ? 2 * s->room : FIRST_ROOM;
            TRY(memory_resize(&s->key, room * words, sizeof *s->key, error));
            s->room = room;
        }
        memcpy(s->key + s->count++ * words, key, words * sizeof *key);
    }
    return STATUS_OK;
}

void unlisted_slice_free(struct unlisted_slice *s)
{
    memory_free(s->key, s->start);
    s->key = s->start = NULL;
    s->count = s->room = 0;
}

#define HASH_KEYS 4 /* keys of a hash, on average */

static uint64_t hashes_of(const struct unlisted_slice *s)
{
    uint64_t hashes = 1;
    while (hashes * HASH_KEYS < s->count)
        hashes *= 2;
    return hashes;
}

static uint64_t hash_of(const uint64_t *key, int words, uint64_t hashes)
{
    uint64_t hash = 0;
    for (int w = 0; w < words; w++)
        hash = random_mix(hash ^ key[w]);
    return hash & (hashes - 1);
}

enum status unlisted_slice_sort(struct unlisted_slice *s, struct error *error)
{
    const uint64_t hashes = hashes_of(s), count = s->count;
    uint64_t unused[KEY_WORDS];
    const int words = pack(s, (const uint32_t[MAX_ORDER]){0}, unused);
    if (count == 0 || s->start)
        return STATUS_OK;
    uint64_t *start = memory_zeros(hashes + 1, sizeof *start, error);
    uint64_t *sorted = memory_array(count * (uint64_t)words, sizeof *sorted, error);
    TRY_OR(failed, error->status);
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; i++) {
        uint64_t *of_hash = &start[hash_of(s->key + i * (uint64_t)words, words, hashes)];
#pragma omp atomic
        ++*of_hash;
    }
    for (uint64_t h = 1; h <= hashes; h++) /* where those of each hash end */
        start[h] += start[h - 1];
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t *key = s->key + i * (uint64_t)words;
        uint64_t *of_hash = &start[hash_of(key, words, hashes)], at;
#pragma omp atomic capture
        at = --*of_hash;
        memcpy(sorted + at * (uint64_t)words, key, (size_t)words * sizeof *key);
    }
    memory_free(s->key);
    s->key = sorted;
    s->room = count;
    s->start = start;
    return STATUS_OK;
failed:
    memory_free(start, sorted);
    return error->status;
}

bool unlisted_slice_lists(const struct unlisted_slice *s, const uint32_t *index)
{
    uint64_t key[KEY_WORDS];
    if (s->count == 0)
        return false;
    const int words = pack(s, index, key);
    const uint64_t hash = hash_of(key, words, hashes_of(s));
    for (uint64_t i = s->start[hash]; i < s->start[hash + 1]; i++)
        for (int w = 0; s->key[i * (uint64_t)words + (uint64_t)w] == key[w];)
            if (++w == words)
                return true;
    return false;
}
