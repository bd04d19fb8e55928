#include "report/top_entries.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>

#include "base/memory.h"
#include "base/vector_clones.h"
#include "model/factor_columns.h"

/* --- a heap of `count` entries whose root, heap[0], is the weakest --- */

static double strength(double value)
{
    return isnan(value) ? -1 : fabs(value);
}

static bool weaker(const struct top_entry *a, const struct top_entry *b)
{
    double strength_a = strength(a->value), strength_b = strength(b->value);
    return strength_a < strength_b || (!(strength_a > strength_b) && a->index > b->index);
}

/* Lets heap[at] sink to its place; all below it are in order. */
static void sink(struct top_entry *heap, uint64_t count, uint64_t at)
{
    struct top_entry moved = heap[at];
    for (uint64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && weaker(&heap[child + 1], &heap[child]))
            child++;
        if (!weaker(&heap[child], &moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* The entry takes the place of the weakest one where it is stronger. */
static void offer(struct top_entry *heap, uint64_t count, const struct top_entry *entry)
{
    if (!weaker(&heap[0], entry))
        return;
    heap[0] = *entry;
    sink(heap, count, 0);
}

/* Brings the heap's entries into order, the strongest first. */
static void sort(struct top_entry *heap, uint64_t count)
{
    for (uint64_t left = count; left > 1; left--) {
        struct top_entry weakest = heap[0];
        heap[0] = heap[left - 1];
        heap[left - 1] = weakest;
        sink(heap, left - 1, 0);
    }
}

/* --- the passes --- */

/* Whether an entry of the row is stronger than the weakest of its component so far. */
VECTOR_CLONES static bool any_stronger(const double *row, const double *weakest, uint64_t rank)
{
    int any = 0;
    for (uint64_t r = 0; r < rank; r++)
        any |= fabs(row[r]) > weakest[r];
    return any;
}

/* heap (R x count) = the strongest entries of the rows, of which there are `count` or more, as a
 * heap for each component. weakest (R) is scratch: the strength of each heap's root. */
static void scan(struct top_entry *heap, uint64_t count, const struct factor_rows *rows,
                 double *weakest)
{
    const double *a = rows->a;
    const uint64_t rank = rows->rank, first = rows->first;
    for (uint64_t r = 0; r < rank; r++) {
        struct top_entry *h = heap + r * count;
        for (uint64_t i = 0; i < count; i++)
            h[i] = (struct top_entry){first + i, a[i * rank + r]};
        for (uint64_t at = count / 2; at-- > 0;)
            sink(h, count, at);
        weakest[r] = strength(h[0].value);
    }
    for (uint64_t i = count; i < rows->rows; i++) {
        const double *row = a + i * rank;
        if (!any_stronger(row, weakest, rank))
            continue;
        for (uint64_t r = 0; r < rank; r++)
            if (fabs(row[r]) > weakest[r]) {
                offer(heap + r * count, count, &(struct top_entry){first + i, row[r]});
                weakest[r] = strength(heap[r * count].value);
            }
    }
}

/* How many portions of the rows are scanned at a time: one for each thread, but so few that the
 * heaps are small beside A. */
static uint64_t portions_of(uint64_t rows, uint64_t count)
{
    uint64_t threads = (uint64_t)omp_get_max_threads(), most = rows / 8 / count;
    return most < 1 ? 1 : most < threads ? most : threads;
}

enum status top_entries_find(struct top_entries *top, const double *a, uint64_t rows, uint64_t rank,
                             uint64_t count, struct error *error)
{
    *top = (struct top_entries){.count = count < rows ? count : rows};
    if (top->count == 0)
        return STATUS_OK;
    uint64_t size = rank * top->count, portions = portions_of(rows, top->count);
    struct top_entry *heap = memory_array(size, portions * sizeof *heap, error);
    double *weakest = memory_array(rank, portions * sizeof *weakest, error);
    if (!heap || !weakest)
        goto done;
#pragma omp parallel for schedule(static)
    for (uint64_t p = 0; p < portions; p++) {
        const uint64_t step = rows / portions, first = p * step;
        const struct factor_rows portion = {.a = a + first * rank,
                                            .rows = p + 1 < portions ? step : rows - first,
                                            .rank = rank,
                                            .first = first};
        scan(heap + p * size, top->count, &portion, weakest + p * rank);
    }
#pragma omp parallel for schedule(static)
    for (uint64_t r = 0; r < rank; r++) {
        struct top_entry *best = heap + r * top->count;
        for (uint64_t p = 1; p < portions; p++)
            for (uint64_t i = 0; i < top->count; i++)
                offer(best, top->count, &best[p * size + i]);
        sort(best, top->count);
    }
    top->entry = heap;
    heap = NULL;
done:
    memory_free(heap);
    memory_free(weakest);
    if (error->status != STATUS_OK)
        top_entries_free(top);
    return error->status;
}

void top_entries_free(struct top_entries *top)
{
    memory_free(top->entry);
    *top = (struct top_entries){0};
}
