#include "tensor/coo_statistics.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/coo.h"
#include "tensor/ordering.h"

#define LEAST_SQUARE 0x1p-900 /* a sum of squares that is smaller may have lost some of them */
#define MOST_BITS    12       /* a mode has at most 2^MOST_BITS classes */

/* A class of a mode's indices (struct slice_counts). */
struct index_class {
    int mode;
    uint32_t remainder; /* below 2^bits of the mode */
};

struct gatherer {
    const struct coo_pieces *pieces;
    struct coo_statistics *s;
    struct norm_sum norm;
    int bits[MAX_ORDER];         /* 2^bits[n] classes of mode n                                  */
    struct index_class next;     /* the first class that no pass has counted yet                 */
    struct index_class *present; /* (room) the `count` classes that the pass counts; owned       */
    struct slice_counts *counts; /* (room) counters of these classes; owned                      */
    uint64_t count, room;
    uint64_t pass, passes, seen; /* seen: nonzeros of the present pass                           */
    struct progress *progress;
};

/* --- values --- */

static void add_values(struct gatherer *g, const struct coo *piece)
{
    double least = g->s->least, largest = g->s->largest;
    int all_integer = g->s->all_integer;
    const struct coo_listed listed = coo_count_listed(piece);
#pragma omp parallel for schedule(static) reduction(min : least) reduction(max : largest)          \
    reduction(&& : all_integer)
    for (uint64_t i = 0; i < piece->nnz; i++) {
        double v = piece->value[i];
        least = v < least ? v : least;
        largest = v > largest ? v : largest;
        all_integer = all_integer && (v == floor(v) || isnan(v));
    }
    g->s->least = least;
    g->s->largest = largest;
    g->s->all_integer = all_integer;
    g->s->listed.unknown += listed.unknown;
    g->s->listed.zeros += listed.zeros;
    norm_sum_add(&g->norm, piece->value, piece->nnz);
}

/* --- slices --- */

static bool is_left(const struct gatherer *g)
{
    return g->next.mode < g->pieces->shape.order;
}

/* Takes the classes from `next` on that fit into memory together; at least one. */
static void choose_pass(struct gatherer *g, uint64_t memory)
{
    uint64_t used = 0;
    g->count = g->seen = 0;
    while (is_left(g)) {
        struct index_class *next = &g->next;
        used += slice_counts_bytes(g->pieces->shape.dims[next->mode], g->pieces->nnz,
                                   g->bits[next->mode]);
        if (g->count > 0 && used > memory)
            break;
        g->present[g->count++] = *next;
        if (++next->remainder >> g->bits[next->mode])
            *next = (struct index_class){next->mode + 1, 0};
    }
    g->pass++;
}

static enum status add_indices(struct gatherer *g, const struct coo *piece, struct error *error)
{
    struct error first = {0};
#pragma omp parallel for schedule(dynamic)
    for (uint64_t i = 0; i < g->count; i++) {
        struct error own = {0};
        if (slice_counts_add(&g->counts[i], piece->index[g->present[i].mode], piece->nnz, &own) !=
            STATUS_OK) {
#pragma omp critical(coo_statistics_error)
            first = own;
        }
    }
    return first.status ? error_set(error, first.status, "%s", first.message) : STATUS_OK;
}

/* --- passes --- */

static enum status take(void *context, struct coo *piece, struct error *error)
{
    struct gatherer *g = context;
    if (g->pass == 1)
        add_values(g, piece);
    g->seen += piece->nnz;
    double all = (double)g->pieces->nnz, seen = (double)g->seen;
    double passes = (double)(g->pass - 1) + (all > 0 ? seen / all : 1);
    if (g->passes > 1)
        progress_update(g->progress, passes / (double)g->passes,
                        "%.0f million nonzeros, pass %ju of %ju", seen / 1e6, (uintmax_t)g->pass,
                        (uintmax_t)g->passes);
    else
        progress_update(g->progress, passes, "%.0f million nonzeros", seen / 1e6);
    return add_indices(g, piece, error);
}

static enum status run_pass(struct gatherer *g, uint64_t memory, struct error *error)
{
    const struct coo_pieces *p = g->pieces;
    choose_pass(g, memory);
    for (uint64_t i = 0; i < g->count; i++) {
        int n = g->present[i].mode;
        TRY_OR(done, slice_counts_create(&g->counts[i], p->shape.dims[n], p->nnz, g->bits[n],
                                         g->present[i].remainder, error));
    }
    TRY_OR(done, p->each(p->pieces, take, g, error));
    /* what the pass has counted goes to the statistics */
#pragma omp parallel for schedule(dynamic)
    for (uint64_t i = 0; i < g->count; i++) {
        uint64_t occurring, most, *empty = &g->s->empty_slices[g->present[i].mode],
                                  *largest = &g->s->largest_slice[g->present[i].mode];
        slice_counts_total(&g->counts[i], &occurring, &most);
#pragma omp critical(coo_statistics_sum)
        {
            *empty -= occurring;
            *largest = most > *largest ? most : *largest;
        }
    }
done:
    for (uint64_t i = 0; i < g->count; i++)
        slice_counts_free(&g->counts[i]);
    return error->status;
}

/* --- the norm of values whose squares no double holds --- */

/* The sum of squares of values divided by 2^exponent. */
struct scaled_norm {
    struct norm_sum sum;
    int exponent;
};

static enum status add_scaled(void *context, struct coo *piece, struct error *error)
{
    struct scaled_norm *s = context;
    for (uint64_t first = 0; first < piece->nnz; first += NORM_CHUNK) {
        double value[NORM_CHUNK];
        uint64_t left = piece->nnz - first, count = left < NORM_CHUNK ? left : NORM_CHUNK;
        for (uint64_t i = 0; i < count; i++)
            value[i] = ldexp(piece->value[first + i], -s->exponent);
        norm_sum_add(&s->sum, value, count);
    }
    return error->status;
}

enum status coo_pieces_statistics(const struct coo_pieces *pieces, uint64_t memory,
                                  struct coo_statistics *s, struct progress *progress,
                                  struct error *error)
{
    struct gatherer g = {.pieces = pieces, .s = s, .progress = progress};
    *s = (struct coo_statistics){.least = INFINITY, .largest = -INFINITY, .all_integer = 1};
    memcpy(s->empty_slices, pieces->shape.dims,
           (size_t)pieces->shape.order * sizeof *pieces->shape.dims);
    norm_sum_begin(&g.norm);
    /* each mode gets enough classes for all threads, each of which fits into memory */
    const struct coo_pieces *p = g.pieces;
    uint64_t threads = (uint64_t)omp_get_max_threads();
    for (int n = 0; n < p->shape.order; n++) {
        int most = ordering_bits(p->shape.dims[n]), *bits = &g.bits[n];
        if (most > MOST_BITS)
            most = MOST_BITS;
        for (*bits = 0; *bits < most; ++*bits)
            if ((uint64_t)p->shape.order << *bits >= threads &&
                slice_counts_bytes(p->shape.dims[n], p->nnz, *bits) <= memory)
                break;
        g.room += UINT64_C(1) << *bits;
    }
    g.present = memory_array(g.room, sizeof *g.present, error);
    g.counts = memory_zeros(g.room, sizeof *g.counts, error);
    TRY_OR(done, error->status);
    while (is_left(&g)) /* counts the passes */
        choose_pass(&g, memory);
    g.passes = g.pass;
    g.pass = 0;
    g.next = (struct index_class){0};
    while (is_left(&g))
        TRY_OR(done, run_pass(&g, memory, error));
    if (pieces->nnz == s->listed.unknown)
        s->least = s->largest = 0;
    const double norm_sq = norm_sum_total(&g.norm);
    const double largest = fmax(fabs(s->least), fabs(s->largest));
    s->norm = sqrt(norm_sq);
    /* one more pass if the sum of squares has left the range of doubles */
    if ((norm_sq < LEAST_SQUARE || !isfinite(norm_sq)) && largest > 0 && isfinite(largest)) {
        struct scaled_norm scaled;
        frexp(largest, &scaled.exponent);
        norm_sum_begin(&scaled.sum);
        TRY_OR(done, pieces->each(pieces->pieces, add_scaled, &scaled, error));
        s->norm = ldexp(sqrt(norm_sum_total(&scaled.sum)), scaled.exponent);
    }
done:
    memory_free(g.present);
    memory_free(g.counts);
    return error->status;
}

#define SPARSE_FROM  4  /* with more indices for each nonzero, only those that occur are kept */
#define SPARSE_BYTES 64 /* an index that occurs: up to 8/3 places of 16 bytes, 4 while growing  */
#define FIRST_ROOM   64

struct slice_count {
    uint64_t count; /* 0: the place is free */
    uint32_t index;
};

static bool is_sparse(uint64_t length, uint64_t nnz)
{
    return length / SPARSE_FROM > nnz;
}

static uint64_t class_size(uint64_t count, int bits)
{
    return (count + (UINT64_C(1) << bits) - 1) >> bits;
}

uint64_t slice_counts_bytes(uint64_t length, uint64_t nnz, int bits)
{
    return is_sparse(length, nnz) ? class_size(nnz, bits) * SPARSE_BYTES
                                  : class_size(length, bits) * sizeof(uint64_t);
}

enum status slice_counts_create(struct slice_counts *c, uint64_t length, uint64_t nnz, int bits,
                                uint32_t remainder, struct error *error)
{
    *c = (struct slice_counts){.bits = bits, .remainder = remainder};
    if (is_sparse(length, nnz)) {
        c->sparse = memory_zeros(FIRST_ROOM, sizeof *c->sparse, error);
        c->room = c->sparse ? FIRST_ROOM : 0;
    } else {
        c->dense = memory_zeros(class_size(length, bits), sizeof *c->dense, error);
        c->length = c->dense ? class_size(length, bits) : 0;
    }
    return error->status;
}

void slice_counts_free(struct slice_counts *c)
{
    memory_free(c->dense);
    memory_free(c->sparse);
    *c = (struct slice_counts){0};
}

/* The place of the index in the table, or the free place for it. Multiplying by an odd constant
 * (2^64 over the golden ratio: Knuth, The Art of Computer Programming 3, 6.4) scatters indices. */
static struct slice_count *find(const struct slice_counts *c, uint32_t index)
{
    uint64_t at = (index * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (c->room - 1);
    while (c->sparse[at].count > 0 && c->sparse[at].index != index)
        at = (at + 1) & (c->room - 1);
    return &c->sparse[at];
}

static enum status grow(struct slice_counts *c, struct error *error)
{
    struct slice_counts larger = *c;
    larger.room = 2 * c->room;
    larger.sparse = memory_zeros(larger.room, sizeof *larger.sparse, error);
    if (!larger.sparse)
        return error->status;
    for (uint64_t i = 0; i < c->room; i++)
        if (c->sparse[i].count > 0)
            *find(&larger, c->sparse[i].index) = c->sparse[i];
    memory_free(c->sparse);
    *c = larger;
    return STATUS_OK;
}

enum status slice_counts_add(struct slice_counts *c, const uint32_t *index, uint64_t nnz,
                             struct error *error)
{
    const uint32_t mask = (uint32_t)((UINT64_C(1) << c->bits) - 1), remainder = c->remainder;
    for (uint64_t i = 0; i < nnz && !c->sparse; i++)
        if ((index[i] & mask) == remainder)
            c->dense[(uint64_t)index[i] >> c->bits]++;
    for (uint64_t i = 0; i < nnz && c->sparse; i++) {
        if ((index[i] & mask) != remainder)
            continue;
        struct slice_count *place = find(c, index[i]);
        if (place->count++ > 0)
            continue;
        place->index = index[i];
        if (++c->used > c->room / 4 * 3)
            TRY(grow(c, error));
    }
    return STATUS_OK;
}

void slice_counts_total(const struct slice_counts *c, uint64_t *occurring, uint64_t *most)
{
    uint64_t places = c->sparse ? c->room : c->length;
    *occurring = *most = 0;
    for (uint64_t i = 0; i < places; i++) {
        uint64_t count = c->sparse ? c->sparse[i].count : c->dense[i];
        *occurring += count > 0;
        *most = count > *most ? count : *most;
    }
}
