/* Cleaning: explicit zeros are dropped, unless they are to be kept, and entries with the same
 * coordinates become one entry.
 *
 * A tensor in ascending order has no duplicates. Where many entries are in another order,
 * coo_distinct finds out whether all coordinates are distinct, in less time than a sort. For any
 * other tensor, the positions of its entries are sorted along the `mode m` line of the longest mode
 * m, slab by slab. A slab is a range of mode m's indices, so slabs follow each other on the line,
 * entries with the same coordinates are in one slab, and sorting takes memory for one slab, not for
 * the tensor. The sort is stable, so entries with the same coordinates stay in file order. */
#include "tensor/coo.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/ordering.h"

#define SLABS       8
#define BUCKET_BITS 12 /* a slab consists of whole buckets of mode m's indices */
#define BUCKETS     (1 << BUCKET_BITS)
#define PARTS       256 /* of the entries; each is one thread's work */

#define MANY    (UINT64_C(1) << 17) /* fewer entries are sorted in no time worth saving */
#define AT_ONCE (UINT64_C(1) << 27) /* entries that are compared at a time: 1 GB        */

/* The value of an entry that was added to an earlier one; no entry has it before. */
#define MERGED INFINITY

static bool is_dropped(double value, enum coo_zeros zeros)
{
    return value == MERGED || (value == 0 && zeros == COO_DROP_ZEROS);
}

static uint64_t count_dropped(const struct coo *x, enum coo_zeros zeros)
{
    uint64_t count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (uint64_t i = 0; i < x->nnz; i++)
        count += is_dropped(x->value[i], zeros);
    return count;
}

/* One thread compacts an array; the values come last: they say which entries go. */
static void drop(struct coo *x, enum coo_zeros zeros)
{
#pragma omp parallel for schedule(dynamic)
    for (int n = 0; n < x->shape.order; n++) {
        uint64_t kept = 0;
        for (uint64_t i = 0; i < x->nnz; i++) {
            x->index[n][kept] = x->index[n][i];
            kept += !is_dropped(x->value[i], zeros);
        }
    }
    uint64_t kept = 0;
    for (uint64_t i = 0; i < x->nnz; i++) {
        x->value[kept] = x->value[i];
        kept += !is_dropped(x->value[kept], zeros);
    }
    struct error unused = {0}; /* a smaller nnz never fails */
    coo_resize(x, kept, &unused);
}

static bool strictly_ascending(const struct coo *x)
{
    bool ascending = true;
#pragma omp parallel for schedule(static) reduction(&& : ascending)
    for (uint64_t i = 1; i < x->nnz; i++)
        ascending = ascending && coo_compare(x, i - 1, i) < 0;
    return ascending;
}

static int longest_mode(const struct coo *x)
{
    int longest = 0;
    for (int n = 1; n < x->shape.order; n++)
        if (x->shape.dims[n] > x->shape.dims[longest])
            longest = n;
    return longest;
}

/* Whether entry i of a sorted slab has the coordinates of entry i - 1. */
static bool repeats(const struct coo *x, const uint64_t *position, const uint64_t *key, uint64_t i)
{
    return key[i] == key[i - 1] && coo_compare(x, position[i], position[i - 1]) == 0;
}

/* Adds the values of entries of a sorted slab that have the same coordinates to the first of these
 * entries and makes the others MERGED. Returns their number; *worst becomes the first entry whose
 * sum is infinite, if there is one before. */
static uint64_t merge_duplicates(struct coo *x, const uint64_t *position, const uint64_t *key,
                                 uint64_t count, uint64_t *worst)
{
    uint64_t duplicates = 0, bad = *worst;
#pragma omp parallel for schedule(static) reduction(+ : duplicates) reduction(min : bad)
    for (uint64_t i = 0; i < count; i++) {
        if (i > 0 && repeats(x, position, key, i))
            continue;
        double *sum = &x->value[position[i]];
        uint64_t j = i + 1;
        for (; j < count && repeats(x, position, key, j); j++) {
            *sum += x->value[position[j]];
            x->value[position[j]] = MERGED;
        }
        duplicates += j - i - 1;
        if (j > i + 1 && isinf(*sum) && position[i] < bad)
            bad = position[i];
    }
    *worst = bad;
    return duplicates;
}

/* Sorts position (nnz) along the line and merges duplicates, slab by slab. *bad: as `worst` above.
 */
static enum status sort_and_merge(struct coo *x, uint64_t *position, uint64_t *duplicates,
                                  uint64_t *bad, struct error *error)
{
    int mode = longest_mode(x);
    struct ordering o;
    ordering_create(&o, mode, &x->shape, 64);
    uint64_t first[SLABS + 1], longest = 0;
    int bits = ordering_bits(x->shape.dims[mode]),
        shift = bits > BUCKET_BITS ? bits - BUCKET_BITS : 0;
    /* each bucket of mode m's indices gets its slab, so that all slabs have about as many entries
     */
    uint8_t slab[BUCKETS];
    uint64_t bucket_count[BUCKETS] = {0}, before = 0;
#pragma omp parallel for schedule(static) reduction(+ : bucket_count[:BUCKETS])
    for (uint64_t i = 0; i < x->nnz; i++)
        bucket_count[x->index[mode][i] >> shift]++;
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        slab[bucket] = (uint8_t)(before * SLABS / (x->nnz + 1));
        before += bucket_count[bucket];
    }

    /* all entries are listed slab by slab, in file order within a slab; slab s takes
     * position[first[s], first[s + 1]) */
    uint64_t next[PARTS][SLABS] = {{0}}, length = x->nnz / PARTS + 1;
#pragma omp parallel for schedule(static)
    for (uint64_t part = 0; part < PARTS; part++)
        for (uint64_t i = part * length; i < (part + 1) * length && i < x->nnz; i++)
            next[part][slab[x->index[mode][i] >> shift]]++;
    uint64_t sum = 0;
    for (int s = 0; s < SLABS; s++) {
        first[s] = sum;
        for (int part = 0; part < PARTS; part++) {
            uint64_t count = next[part][s];
            next[part][s] = sum;
            sum += count;
        }
    }
    first[SLABS] = sum;
#pragma omp parallel for schedule(static)
    for (uint64_t part = 0; part < PARTS; part++)
        for (uint64_t i = part * length; i < (part + 1) * length && i < x->nnz; i++)
            position[next[part][slab[x->index[mode][i] >> shift]]++] = i;
    for (int s = 0; s < SLABS; s++)
        if (first[s + 1] - first[s] > longest)
            longest = first[s + 1] - first[s];

    uint64_t *key = memory_array(longest, sizeof *key, error);
    TRY(error->status);
    for (int s = 0; s < SLABS; s++) {
        uint64_t count = first[s + 1] - first[s];
        if (ordering_sort(&o, x, position + first[s], count, key, error) != STATUS_OK)
            break;
        *duplicates += merge_duplicates(x, position + first[s], key, count, bad);
    }
    memory_free(key);
    return error->status;
}

enum status coo_overflow(const struct coo *x, const uint64_t *first, uint64_t i,
                         struct error *error)
{
    char text[16 * MAX_ORDER] = "";
    size_t used = 0;
    for (int n = 0; n < x->shape.order; n++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %" PRIu64,
                                 x->index[n][i] + (first ? first[n] : 0) + 1);
    return error_set(error, STATUS_INPUT,
                     "the entries with the coordinates%s, counted from 1, add up to more than a "
                     "double holds",
                     text);
}

enum status coo_clean(struct coo *x, const uint64_t *first, enum coo_zeros zeros,
                      struct coo_cleaning *report, struct error *error)
{
    *report = (struct coo_cleaning){.zeros = count_dropped(x, zeros)};
    if (report->zeros > 0)
        drop(x, zeros);
    bool distinct = strictly_ascending(x);
    if (!distinct && x->nnz >= MANY)
        coo_distinct(x, AT_ONCE, &distinct, error);
    if (distinct || error->status != STATUS_OK)
        return error->status;

    uint64_t duplicates = 0, bad = x->nnz;
    uint64_t *position = memory_array(x->nnz, sizeof *position, error);
    TRY(error->status);
    TRY_OR(done, sort_and_merge(x, position, &duplicates, &bad, error));
    if (duplicates == 0)
        goto done;
    if (bad < x->nnz)
        TRY_OR(done, coo_overflow(x, first, bad, error));
    TRY_OR(done, coo_permute(x, position, error));
    report->duplicates = duplicates;
    report->zeros += count_dropped(x, zeros) - duplicates;
    drop(x, zeros);
done:
    memory_free(position);
    return error->status;
}
