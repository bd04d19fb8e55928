#include "ranks/row_deal.h"

#include <stdlib.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "tensor/shape.h"

/* Classes of rows: numbers of nonzeros below EXACT are a class each; those from 2^k EXACT on are
 * STEPS classes until they have doubled. */
#define EXACT   64
#define STEPS   32
#define CLASSES (EXACT + 58 * STEPS)

#define PARTS     64    /* of the rows, at most, whatever the number of threads */
#define PART_ROWS 65536 /* of a part, at least                                  */

static double system_bytes(uint64_t row_bytes)
{
    const double columns = (double)row_bytes / sizeof(double);
    return columns * (columns + 3) / 2 * sizeof(double);
}

double row_deal_kept_bytes(const struct shape *shape, int kept, uint64_t row_bytes)
{
    double rows = 0;
    for (int n = 0; n < shape->order; n++)
        rows += n == kept ? 0 : (double)shape->dims[n];
    return rows * system_bytes(row_bytes);
}

bool row_deal_keeps(const struct shape *shape, int n, uint64_t row_bytes)
{
    for (int m = 0; m < shape->order; m++)
        if (m != n && (double)shape->dims[m] * system_bytes(row_bytes) > ROW_DEAL_SENT)
            return false;
    const double rows = (double)shape->dims[n] * (double)row_bytes;
    return 2 * row_deal_kept_bytes(shape, n, row_bytes) < rows;
}

int row_deal_kept(const struct process_grid *grid, uint64_t row_bytes)
{
    int kept = 0; /* the only mode that is cut */
    while (kept < grid->shape.order && grid->parts[kept] == 1)
        kept++;
    if (kept == grid->shape.order || grid->parts[kept] != grid->ranks)
        return -1;
    return row_deal_keeps(&grid->shape, kept, row_bytes) ? kept : -1;
}

static unsigned class_of(uint64_t count)
{
    if (count < EXACT)
        return (unsigned)count;
    const unsigned shift = 58 - (unsigned)__builtin_clzll(count); /* STEPS <= count >> shift */
    return EXACT + (shift - 1) * STEPS + (unsigned)(count >> shift) - STEPS;
}

/* The fewest nonzeros of a row of this class. */
static uint64_t least_of_class(unsigned c)
{
    if (c < EXACT)
        return c;
    const unsigned above = c - EXACT;
    return (uint64_t)(STEPS + above % STEPS) << (above / STEPS + 1);
}

/* What a rank has got so far. */
struct load {
    uint64_t rows, nonzeros;
    int rank;
};

/* Consecutive rows that one thread deals. */
struct deal_part {
    uint64_t first, last;
    uint64_t common;          /* common rows in it; then: in the parts before it                */
    uint64_t member[CLASSES]; /* the same for the rows of each class that are not common         */
    int turn[CLASSES];        /* the rank that gets the next row of the class                    */
    uint64_t *next, *own;     /* (ranks): the place of the next row of each rank; nonzeros that
                               * this part gives to each rank                                  */
};

struct dealing {
    struct row_deal *d;
    const uint64_t *count;
    int ranks, parts;
    uint64_t most;     /* nonzeros of a row that is not common, at most                     */
    uint64_t *end;     /* (CLASSES x ranks): the first row of a class that the next rank gets */
    struct load *load; /* (ranks): least first, as they stand before a class is dealt       */
    struct deal_part *part; /* (parts)                                                           */
    uint64_t *arrays;       /* (parts x 2 ranks): those of the parts                             */
};

static int compare_loads(const void *a, const void *b)
{
    const struct load *x = a, *y = b;
    if (x->rows != y->rows)
        return x->rows < y->rows ? -1 : 1;
    if (x->nonzeros != y->nonzeros)
        return x->nonzeros < y->nonzeros ? -1 : 1;
    return x->rank - y->rank;
}

/* Counts the common rows and those of each class: in each part those before it. */
static void count_classes(struct dealing *g, uint64_t *members)
{
#pragma omp parallel for schedule(static)
    for (int p = 0; p < g->parts; p++) {
        struct deal_part *part = &g->part[p];
        for (uint64_t i = part->first; i < part->last; i++) {
            if (g->count[i] > g->most)
                part->common++;
            else
                part->member[class_of(g->count[i])]++;
        }
    }
    for (int p = 0; p < g->parts; p++) {
        struct deal_part *part = &g->part[p];
        const uint64_t common = part->common;
        part->common = g->d->common;
        g->d->common += common;
        for (unsigned c = 0; c < CLASSES; c++) {
            const uint64_t member = part->member[c];
            part->member[c] = members[c];
            members[c] += member;
        }
    }
}

/* Decides how many rows of each class each rank gets, largest rows first. Those that are left over
 * go to the ranks that have got least. */
static void deal_classes(struct dealing *g, const uint64_t *members)
{
    const uint64_t ranks = (uint64_t)g->ranks;
    for (int k = 0; k < g->ranks; k++)
        g->load[k] = (struct load){.rows = row_deal_common(g->d->common, k, g->ranks), .rank = k};
    for (unsigned c = CLASSES; c-- > 0;) {
        uint64_t *end = g->end + c * ranks;
        const uint64_t evenly = members[c] / ranks, left = members[c] % ranks;
        if (left > 0)
            qsort(g->load, ranks, sizeof *g->load, compare_loads);
        for (uint64_t k = 0; k < ranks; k++) {
            struct load *load = &g->load[k];
            const uint64_t rows = evenly + (k < left);
            end[load->rank] = rows;
            load->rows += rows;
            load->nonzeros += rows * least_of_class(c);
        }
        for (uint64_t k = 1; k < ranks; k++)
            end[k] += end[k - 1];
    }
}

/* Finds, for each part, whose turn it is in each class and where the ranks' next rows go. */
static void begin_parts(struct dealing *g)
{
    const int ranks = g->ranks;
    for (int k = 0; k < ranks; k++)
        g->part[0].next[k] = (uint64_t)k * g->d->stripe + row_deal_common(g->d->common, k, ranks);
    for (int p = 0; p < g->parts; p++) {
        struct deal_part *part = &g->part[p], *after = part + 1;
        const bool is_last = p + 1 == g->parts;
        if (!is_last)
            memcpy(after->next, part->next, (size_t)ranks * sizeof *after->next);
        for (unsigned c = 0; c < CLASSES && !is_last; c++) {
            const uint64_t *end = g->end + c * (uint64_t)ranks;
            int k = after->turn[c] = part->turn[c];
            for (uint64_t row = part->member[c]; row < after->member[c]; k++) {
                const uint64_t stop = least_of(end[k], after->member[c]);
                after->next[k] += stop > row ? stop - row : 0;
                row = stop > row ? stop : row;
                after->turn[c] = k;
            }
        }
    }
}

static void place_rows(struct dealing *g, struct deal_part *part)
{
    struct row_deal *d = g->d;
    const uint64_t ranks = (uint64_t)g->ranks;
    for (uint64_t i = part->first; i < part->last; i++) {
        if (g->count[i] > g->most) {
            d->place[i] = (uint32_t)(part->common % ranks * d->stripe + part->common / ranks);
            part->common++;
            continue;
        }
        const unsigned c = class_of(g->count[i]);
        const uint64_t row = part->member[c]++, *end = g->end + c * ranks;
        while (row >= end[part->turn[c]])
            part->turn[c]++;
        const int k = part->turn[c];
        d->place[i] = (uint32_t)part->next[k]++;
        part->own[k] += g->count[i];
    }
}

static void place_all(struct dealing *g)
{
    begin_parts(g);
#pragma omp parallel for schedule(static)
    for (int p = 0; p < g->parts; p++)
        place_rows(g, &g->part[p]);
    for (int p = 0; p < g->parts; p++)
        for (int k = 0; k < g->ranks; k++)
            g->d->own[k] += g->part[p].own[k];
}

enum status row_deal_make(struct row_deal *d, const uint64_t *count, uint64_t rows, int ranks,
                          bool all_common, struct error *error)
{
    struct dealing g = {.d = d, .count = count, .ranks = ranks};
    uint64_t members[CLASSES] = {0}, all = 0; /* rows of each class that are not common */
    g.parts = (int)least_of(PARTS, rows / PART_ROWS + 1);
    *d = (struct row_deal){0};
    d->rows = memory_zeros((size_t)ranks, sizeof *d->rows, error);
    d->own = memory_zeros((size_t)ranks, sizeof *d->own, error);
    d->place = memory_array(rows, sizeof *d->place, error);
    g.end = memory_array(CLASSES * (size_t)ranks, sizeof *g.end, error);
    g.load = memory_array((size_t)ranks, sizeof *g.load, error);
    g.part = memory_zeros((size_t)g.parts, sizeof *g.part, error);
    g.arrays = memory_zeros((size_t)g.parts * 2, (size_t)ranks * sizeof *g.arrays, error);
    TRY_OR(done, error->status);
    for (int p = 0; p < g.parts; p++) {
        uint64_t *arrays = g.arrays + (size_t)p * 2 * (size_t)ranks;
        g.part[p].first = even_cut(rows, p, g.parts);
        g.part[p].last = even_cut(rows, p + 1, g.parts);
        g.part[p].next = arrays;
        g.part[p].own = arrays + ranks;
    }
#pragma omp parallel for schedule(static) reduction(+ : all)
    for (uint64_t i = 0; i < rows; i++)
        all += count[i];
    g.most = all_common ? 0 : all / ((uint64_t)ranks * ROW_DEAL_SHARES);
    count_classes(&g, members);
    deal_classes(&g, members);
    for (int k = 0; k < ranks; k++) {
        const struct load *load = &g.load[k];
        d->rows[load->rank] = load->rows;
        d->stripe = load->rows > d->stripe ? load->rows : d->stripe;
    }
    if (d->stripe * (uint64_t)ranks > MAX_LENGTH)
        error_set(error, STATUS_MEMORY, "a mode of %llu rows is too long for %d ranks",
                  (unsigned long long)rows, ranks);
    else
        place_all(&g);
done:
    memory_free(g.end, g.load, g.part, g.arrays);
    if (error->status != STATUS_OK)
        row_deal_free(d);
    return error->status;
}

void row_deal_free(struct row_deal *d)
{
    memory_free(d->rows, d->own, d->place);
    *d = (struct row_deal){0};
}
