#include "ranks/row_deal.h"

#include <stdlib.h>

#include "base/memory.h"
#include "tensor/shape.h"

/* Classes of rows: numbers of nonzeros below EXACT are a class each; those from 2^k EXACT on are
 * STEPS classes until they have doubled. */
#define EXACT   64
#define STEPS   32
#define CLASSES (EXACT + 58 * STEPS)

static double system_bytes(uint64_t row_bytes)
{
    const double columns = (double)row_bytes / sizeof(double);
    return columns * (columns + 3) / 2 * sizeof(double);
}

double row_deal_kept_bytes(const struct process_grid *grid, int kept, uint64_t row_bytes)
{
    double rows = 0;
    for (int n = 0; n < grid->shape.order; n++)
        rows += n == kept ? 0 : (double)grid->shape.dims[n];
    return rows * system_bytes(row_bytes);
}

int row_deal_kept(const struct process_grid *grid, uint64_t row_bytes)
{
    int kept = 0; /* the only mode that is cut */
    while (kept < grid->shape.order && grid->parts[kept] == 1)
        kept++;
    if (kept == grid->shape.order || grid->parts[kept] != grid->ranks)
        return -1;
    for (int n = 0; n < grid->shape.order; n++)
        if (n != kept && (double)grid->shape.dims[n] * system_bytes(row_bytes) > ROW_DEAL_SENT)
            return -1;
    const double rows = (double)grid->shape.dims[kept] * (double)row_bytes;
    return 2 * row_deal_kept_bytes(grid, kept, row_bytes) < rows ? kept : -1;
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

struct dealing {
    struct row_deal *d;
    const uint64_t *count;
    uint64_t rows;
    int ranks;
    uint64_t most;     /* nonzeros of a row that is not common, at most                     */
    uint64_t *members; /* (CLASSES): rows of each class that are not common                  */
    uint32_t *quota;   /* (CLASSES x ranks): how many of these each rank gets                */
    int *turn;         /* (CLASSES): the rank that gets the next row of the class            */
    struct load *load; /* (ranks): least first, as they stand before a class is dealt        */
    uint64_t *next;    /* (ranks): the place of the next row of each rank                    */
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

/* Decides how many rows of each class each rank gets, largest rows first. Those that are left over
 * go to the ranks that have got least. */
static void deal_classes(struct dealing *g)
{
    const uint64_t ranks = (uint64_t)g->ranks;
    for (int k = 0; k < g->ranks; k++)
        g->load[k] = (struct load){.rows = row_deal_common(g->d->common, k, g->ranks), .rank = k};
    for (unsigned c = CLASSES; c-- > 0;) {
        uint32_t *quota = g->quota + c * ranks;
        const uint64_t evenly = g->members[c] / ranks, left = g->members[c] % ranks;
        if (left > 0)
            qsort(g->load, ranks, sizeof *g->load, compare_loads);
        for (uint64_t k = 0; k < ranks; k++) {
            struct load *load = &g->load[k];
            const uint64_t rows = evenly + (k < left);
            quota[load->rank] = (uint32_t)rows;
            load->rows += rows;
            load->nonzeros += rows * least_of_class(c);
        }
    }
}

static void place_rows(struct dealing *g)
{
    struct row_deal *d = g->d;
    const uint64_t ranks = (uint64_t)g->ranks;
    for (uint64_t i = 0, common = 0; i < g->rows; i++) {
        if (g->count[i] > g->most) {
            d->place[i] = (uint32_t)(common % ranks * d->stripe + common / ranks);
            common++;
            continue;
        }
        const unsigned c = class_of(g->count[i]);
        uint32_t *quota = g->quota + c * ranks;
        while (quota[g->turn[c]] == 0)
            g->turn[c]++;
        const int k = g->turn[c];
        quota[k]--;
        d->place[i] = (uint32_t)g->next[k]++;
        d->own[k] += g->count[i];
    }
}

enum status row_deal_make(struct row_deal *d, const uint64_t *count, uint64_t rows, int ranks,
                          bool all_common, struct error *error)
{
    struct dealing g = {.d = d, .count = count, .rows = rows, .ranks = ranks};
    *d = (struct row_deal){0};
    d->rows = memory_zeros((size_t)ranks, sizeof *d->rows, error);
    d->own = memory_zeros((size_t)ranks, sizeof *d->own, error);
    d->place = memory_array(rows, sizeof *d->place, error);
    g.members = memory_zeros(CLASSES, sizeof *g.members, error);
    g.quota = memory_array(CLASSES * (size_t)ranks, sizeof *g.quota, error);
    g.turn = memory_zeros(CLASSES, sizeof *g.turn, error);
    g.load = memory_array((size_t)ranks, sizeof *g.load, error);
    g.next = memory_array((size_t)ranks, sizeof *g.next, error);
    TRY_OR(done, error->status);
    uint64_t all = 0;
    for (uint64_t i = 0; i < rows; i++)
        all += count[i];
    g.most = all_common ? 0 : all / ((uint64_t)ranks * ROW_DEAL_SHARES);
    for (uint64_t i = 0; i < rows; i++) {
        if (count[i] > g.most)
            d->common++;
        else
            g.members[class_of(count[i])]++;
    }
    deal_classes(&g);
    for (int k = 0; k < ranks; k++) {
        const struct load *load = &g.load[k];
        d->rows[load->rank] = load->rows;
        d->stripe = load->rows > d->stripe ? load->rows : d->stripe;
    }
    for (int k = 0; k < ranks; k++)
        g.next[k] = (uint64_t)k * d->stripe + row_deal_common(d->common, k, ranks);
    if (d->stripe * (uint64_t)ranks > MAX_LENGTH)
        error_set(error, STATUS_MEMORY, "a mode of %llu rows is too long for %d ranks",
                  (unsigned long long)rows, ranks);
    else
        place_rows(&g);
done:
    memory_free(g.members, g.quota, g.turn, g.load, g.next);
    if (error->status != STATUS_OK)
        row_deal_free(d);
    return error->status;
}

void row_deal_free(struct row_deal *d)
{
    memory_free(d->rows, d->own, d->place);
    *d = (struct row_deal){0};
}
