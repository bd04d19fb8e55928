#include "tensor/coo_statistics.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/ordering.h"

#define LEAST_SQUARE 0x1p-900 /* a sum of squares that is smaller may have lost some of them */
#define MOST_BITS    12       /* a mode has at most 2^MOST_BITS classes */

#define SPARSE_FROM  4  /* with more indices for each nonzero, only those that occur are kept */
#define SPARSE_BYTES 64 /* an index that occurs: up to 8/3 places of 16 bytes, 4 while growing  */
#define FIRST_ROOM   64

struct slice_count {
    uint64_t count; /* 0: the place is free */
    uint32_t index;
};

/* Counts the nonzeros of each slice of a mode, for a class of the mode's indices: those with the
 * same remainder by a power of two. Threads that count different classes never meet, and where the
 * counters of all classes do not fit into memory, each pass over the tensor counts some classes. */
struct counter {
    int mode, bits;             /* a mode has 2^bits classes                                      */
    uint32_t remainder;         /* the lowest `bits` bits of the class's indices                  */
    uint64_t *dense;            /* (places), by the upper bits of the index; owned, or NULL       */
    struct slice_count *sparse; /* (places) a hash table of the indices that occur; owned, or NULL;
                                 * a power of two                                                 */
    uint64_t places, used;      /* used: places of the table that are taken                       */
};

struct gatherer {
    const struct coo_pieces *pieces;
    struct coo_statistics *s;
    struct norm_sum norm;
    int bits[MAX_ORDER];     /* 2^bits[n] classes of mode n                                  */
    int mode;                /* of the first class that no pass has counted yet              */
    uint32_t remainder;      /* its other number                                             */
    struct counter *counter; /* (room) of the `count` classes that the pass counts; owned    */
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

/* The place of the index in the table, or the free place for it. Multiplying by an odd constant
 * (2^64 over the golden ratio: Knuth, The Art of Computer Programming 3, 6.4) scatters indices. */
static struct slice_count *find(const struct counter *c, uint32_t index)
{
    uint64_t at = (index * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (c->places - 1);
    while (c->sparse[at].count > 0 && c->sparse[at].index != index)
        at = (at + 1) & (c->places - 1);
    return &c->sparse[at];
}

static enum status grow(struct counter *c, struct error *error)
{
    struct counter larger = *c;
    larger.places = 2 * c->places;
    larger.sparse = memory_zeros(larger.places, sizeof *larger.sparse, error);
    TRY(error->status);
    for (uint64_t i = 0; i < c->places; i++)
        if (c->sparse[i].count > 0)
            *find(&larger, c->sparse[i].index) = c->sparse[i];
    memory_free(c->sparse);
    *c = larger;
    return STATUS_OK;
}

/* Counts the nonzeros of the piece that belong to the class. STATUS_MEMORY. */
static enum status add_indices(struct counter *c, const struct coo *piece, struct error *error)
{
    const uint32_t mask = (uint32_t)((UINT64_C(1) << c->bits) - 1), remainder = c->remainder;
    const uint32_t *index = piece->index[c->mode];
    for (uint64_t i = 0; i < piece->nnz && !c->sparse; i++)
        if ((index[i] & mask) == remainder)
            c->dense[(uint64_t)index[i] >> c->bits]++;
    for (uint64_t i = 0; i < piece->nnz && c->sparse; i++) {
        if ((index[i] & mask) != remainder)
            continue;
        struct slice_count *place = find(c, index[i]);
        if (place->count++ > 0)
            continue;
        place->index = index[i];
        if (++c->used > c->places / 4 * 3)
            TRY(grow(c, error));
    }
    return STATUS_OK;
}

static bool is_left(const struct gatherer *g)
{
    return g->mode < g->pieces->shape.order;
}

/* Takes the next classes that fit into memory together; at least one. */
static void choose_pass(struct gatherer *g, uint64_t memory)
{
    uint64_t used = 0;
    g->count = g->seen = 0;
    while (is_left(g)) {
        const int n = g->mode;
        used += slice_counts_bytes(g->pieces->shape.dims[n], g->pieces->nnz, g->bits[n]);
        if (g->count > 0 && used > memory)
            break;
        g->counter[g->count++] =
            (struct counter){.mode = n, .bits = g->bits[n], .remainder = g->remainder};
        if (++g->remainder >> g->bits[n]) {
            g->mode++;
            g->remainder = 0;
        }
    }
    g->pass++;
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
#pragma omp parallel for schedule(dynamic)
    for (uint64_t i = 0; i < g->count; i++) {
        struct error own = {0};
        add_indices(&g->counter[i], piece, &own);
        error_take(error, &own);
    }
    return error->status;
}

static enum status run_pass(struct gatherer *g, uint64_t memory, struct error *error)
{
    const struct coo_pieces *p = g->pieces;
    choose_pass(g, memory);
    for (uint64_t i = 0; i < g->count; i++) {
        struct counter *c = &g->counter[i];
        const uint64_t length = p->shape.dims[c->mode];
        const bool sparse = is_sparse(length, p->nnz);
        c->places = sparse ? FIRST_ROOM : class_size(length, c->bits);
        if (sparse)
            c->sparse = memory_zeros(c->places, sizeof *c->sparse, error);
        else
            c->dense = memory_zeros(c->places, sizeof *c->dense, error);
        TRY_OR(done, error->status);
    }
    TRY_OR(done, p->each(p->pieces, take, g, error));
    /* what the pass has counted goes to the statistics */
#pragma omp parallel for schedule(dynamic)
    for (uint64_t i = 0; i < g->count; i++) {
        const struct counter *c = &g->counter[i];
        uint64_t occurring = 0, most = 0, *largest = &g->s->largest_slice[c->mode];
        for (uint64_t k = 0; k < c->places; k++) {
            const uint64_t count = c->sparse ? c->sparse[k].count : c->dense[k];
            occurring += count > 0;
            most = count > most ? count : most;
        }
#pragma omp critical(coo_statistics_sum)
        {
            g->s->empty_slices[c->mode] -= occurring;
            *largest = most > *largest ? most : *largest;
        }
    }
done:
    for (uint64_t i = 0; i < g->count; i++)
        memory_free(g->counter[i].dense, g->counter[i].sparse);
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
    g.counter = memory_array(g.room, sizeof *g.counter, error);
    TRY_OR(done, error->status);
    while (is_left(&g)) /* counts the passes */
        choose_pass(&g, memory);
    g.passes = g.pass;
    g.pass = 0;
    g.mode = 0;
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
    memory_free(g.counter);
    return error->status;
}
