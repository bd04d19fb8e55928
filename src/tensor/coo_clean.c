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
#include <stdio.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "tensor/ordering.h"

#define SLABS       8
#define BUCKET_BITS 12 /* a slab consists of whole buckets of mode m's indices */
#define BUCKETS     (1 << BUCKET_BITS)
#define PARTS       256 /* of the entries; each is one thread's work */

#define MANY (UINT64_C(1) << 17) /* fewer entries are sorted in no time worth saving */

/* The value of an entry that is in the sum of an earlier one, or in no sum; no entry has it before.
 */
#define GONE INFINITY

/* One thread compacts an array; the values come last: they say which entries are zeros. */
static void drop_zeros(struct coo *x)
{
#pragma omp parallel for schedule(dynamic)
    for (int n = 0; n < x->shape.order; n++) {
        uint64_t kept = 0;
        for (uint64_t i = 0; i < x->nnz; i++) {
            x->index[n][kept] = x->index[n][i];
            kept += x->value[i] != 0;
        }
    }
    uint64_t kept = 0;
    for (uint64_t i = 0; i < x->nnz; i++) {
        x->value[kept] = x->value[i];
        kept += x->value[kept] != 0;
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

void coo_sum_add(struct coo_sum *sum, double value, enum coo_zeros zeros)
{
    if (value == 0 && zeros == COO_DROP_ZEROS)
        sum->zeros++;
    else
        sum->value = sum->terms++ ? sum->value + value : value;
}

bool coo_sum_count(const struct coo_sum *sum, enum coo_zeros zeros, struct coo_cleaning *cleaning)
{
    const bool cancels = sum->terms > 0 && sum->value == 0 && zeros == COO_DROP_ZEROS;
    cleaning->zeros += sum->zeros + cancels;
    cleaning->duplicates += sum->terms > 1 ? sum->terms - 1 : 0;
    return sum->terms > 0 && !cancels;
}

/* Entries of x in the order of a line. */
struct sorted {
    struct coo *x;
    const uint64_t *position, *key;
    uint64_t count;
};

/* Whether entry i of the line has the coordinates of entry i - 1. */
static bool repeats(const struct sorted *s, uint64_t i)
{
    return s->key[i] == s->key[i - 1] && coo_compare(s->x, s->position[i], s->position[i - 1]) == 0;
}

/* Makes entry i, the first of its coordinates, the sum of all entries with these, and the others
 * GONE; a nonzero that is alone stays untouched. Returns whether the sum is infinite. */
static bool sum_repeats(const struct sorted *s, uint64_t i, enum coo_zeros zeros,
                        struct coo_cleaning *cleaning)
{
    double *value = s->x->value;
    struct coo_sum sum = {0};
    uint64_t j = i;
    if (value[s->position[i]] != 0 && (i + 1 == s->count || !repeats(s, i + 1)))
        return false;
    do {
        double *term = &value[s->position[j]];
        coo_sum_add(&sum, *term, zeros);
        *term = GONE;
    } while (++j < s->count && repeats(s, j));
    if (coo_sum_count(&sum, zeros, cleaning))
        value[s->position[i]] = sum.value;
    return isinf(sum.value);
}

void coo_sum_repeats(struct coo *x, uint64_t *position, const uint64_t *key, uint64_t *count,
                     enum coo_zeros zeros, struct coo_cleaning *cleaning, uint64_t *infinite)
{
    const struct sorted s = {x, position, key, *count};
    const uint64_t length = s.count / PARTS + 1;
    uint64_t kept[PARTS], dropped = 0, duplicates = 0, bad = *infinite;
#pragma omp parallel for schedule(static) reduction(+ : dropped, duplicates) reduction(min : bad)
    for (uint64_t part = 0; part < PARTS; part++) {
        struct coo_cleaning own = {0};
        for (uint64_t i = part * length; i < least_of((part + 1) * length, s.count); i++)
            if ((i == 0 || !repeats(&s, i)) && sum_repeats(&s, i, zeros, &own))
                bad = least_of(bad, position[i]);
        dropped += own.zeros;
        duplicates += own.duplicates;
    }
    cleaning->zeros += dropped;
    cleaning->duplicates += duplicates;
    *infinite = bad;
    if (dropped + duplicates == 0)
        return;
#pragma omp parallel for schedule(static)
    for (uint64_t part = 0; part < PARTS; part++) {
        const uint64_t begin = part * length;
        uint64_t to = begin;
        for (uint64_t i = begin; i < least_of(begin + length, s.count); i++) {
            position[to] = position[i];
            to += x->value[position[i]] != GONE;
        }
        kept[part] = to - begin;
    }
    *count = 0;
    for (uint64_t part = 0; part < PARTS; part++) {
        if (kept[part] > 0)
            memmove(position + *count, position + part * length, kept[part] * sizeof *position);
        *count += kept[part];
    }
}

/* position[0..*kept) = the entries of x that stay, along the line, with the sums of duplicates;
 * slab by slab. *infinite as of coo_sum_repeats. */
static enum status sort_and_sum(struct coo *x, uint64_t *position, uint64_t *kept,
                                enum coo_zeros zeros, struct coo_cleaning *report,
                                uint64_t *infinite, struct error *error)
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
        uint64_t *own = position + first[s];
        TRY_OR(done, ordering_sort(&o, x, own, count, key, error));
        coo_sum_repeats(x, own, key, &count, zeros, report, infinite);
        memmove(position + *kept, own, count * sizeof *own);
        *kept += count;
    }
done:
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
    uint64_t kept = 0, infinite = x->nnz, *position;
    *report = (struct coo_cleaning){0};
    if (zeros == COO_DROP_ZEROS)
        report->zeros = coo_count_listed(x).zeros;
    if (report->zeros > 0)
        drop_zeros(x);
    bool distinct = strictly_ascending(x);
    if (!distinct && x->nnz >= MANY)
        coo_distinct(x, &distinct, error);
    if (distinct || error->status != STATUS_OK)
        return error->status;

    position = memory_array(x->nnz, sizeof *position, error);
    TRY(error->status);
    TRY_OR(done, sort_and_sum(x, position, &kept, zeros, report, &infinite, error));
    if (infinite < x->nnz)
        TRY_OR(done, coo_overflow(x, first, infinite, error));
    if (kept == x->nnz)
        goto done;
    TRY_OR(done, coo_permute(x, position, kept, error));
    coo_resize(x, kept, error); /* a smaller nnz never fails */
done:
    memory_free(position);
    return error->status;
}
