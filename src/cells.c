#include "cells.h"

#include <omp.h>
#include <stdbool.h>
#include <string.h>

#include "memory.h"
#include "ordering.h"
#include "radix.h"
#include "random_stream.h"

#define PARTS_PER_THREAD 8          /* of a merge, so that uneven ones even out */
#define STREAM_FILL      UINT64_MAX /* names the random streams of cells_fill */

enum status cell_layout_create(struct cell_layout *layout, int order, const uint64_t *dims,
                               struct error *error)
{
    memset(layout, 0, sizeof *layout);
    layout->order = order;
    for (int n = order - 1; n >= 0; n--) {
        int bits = ordering_bits(dims[n]);
        layout->dims[n] = dims[n];
        layout->mask[n] = (UINT64_C(1) << bits) - 1;
        layout->shift[n] = bits ? layout->bits : 0;
        layout->bits += bits;
    }
    if (layout->bits > CELL_BITS)
        return error_set(error, STATUS_INPUT,
                         "the lengths of the modes need %d bits for an index, at most %d are "
                         "possible",
                         layout->bits, CELL_BITS);
    return STATUS_OK;
}

cell_key cell_layout_cells(const struct cell_layout *layout)
{
    cell_key cells = 1;
    for (int n = 0; n < layout->order; n++)
        if (__builtin_mul_overflow(cells, layout->dims[n], &cells))
            return ~(cell_key)0;
    return cells;
}

enum status cells_create(struct cells *cells, uint64_t count, struct error *error)
{
    cells->count = count;
    cells->low = memory_array(count, sizeof *cells->low, error);
    cells->high = memory_array(count, sizeof *cells->high, error);
    if (!cells->low || !cells->high)
        cells_free(cells);
    return error->status;
}

void cells_free(struct cells *cells)
{
    memory_free(cells->low);
    memory_free(cells->high);
    memset(cells, 0, sizeof *cells);
}

enum status cells_sort(struct cells *cells, const struct cell_layout *layout, struct error *error)
{
    int low_bits = layout->bits < 64 ? layout->bits : 64;
    if (radix_sort(cells->low, cells->high, cells->count, low_bits, error) != STATUS_OK)
        return error->status;
    return radix_sort(cells->high, cells->low, cells->count, layout->bits - low_bits, error);
}

enum status cells_check_memory(int order, double count, double more, struct error *error)
{
    double key = 16, entry = (double)order * sizeof(uint32_t) + sizeof(double);
    double needed = more + count * (key * 5 / 4 + (entry > key ? entry : key));
    double available = (double)memory_available();
    if (needed > available)
        return error_set(error, STATUS_MEMORY,
                         "%.0f nonzeros take %.1f GB of memory to make, %.1f GB are available",
                         count, needed / 1e9, available / 1e9);
    return STATUS_OK;
}

/* The first position in [0, count] whose cell is not below `key`. */
static uint64_t lower_bound(const struct cells *cells, cell_key key)
{
    uint64_t first = 0, count = cells->count;
    while (count > 0) {
        uint64_t half = count / 2;
        if (cells_get(cells, first + half) < key) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first;
}

/* Where the distinct cells of a merge go: cell number p of `total` to place p, or, where fewer than
 * `total` may stay, to place p * most / total if it is the last that has that place. */
struct thinning {
    uint64_t total, most;
};

static bool thinned_place(const struct thinning *thin, uint64_t p, uint64_t *place)
{
    *place = p;
    if (thin->total <= thin->most)
        return true;
    *place = (uint64_t)((cell_key)p * thin->most / thin->total);
    return (uint64_t)((cell_key)(p + 1) * thin->most / thin->total) > *place;
}

/* A range of keys: what of both lists lies in it, and the number of its first distinct cell. */
struct merge_part {
    uint64_t a, a_end, b, b_end;
    uint64_t number;
};

/* Walks the distinct cells of a part; where `out` is not NULL it stores them. Returns their number.
 */
static uint64_t walk_part(const struct merge_part *part, const struct cells *x,
                          const struct cells *y, const struct thinning *thin, struct cells *out)
{
    uint64_t a = part->a, b = part->b, distinct = 0;
    while (a < part->a_end || b < part->b_end) {
        cell_key key = a < part->a_end ? cells_get(x, a) : ~(cell_key)0;
        if (b < part->b_end && cells_get(y, b) < key)
            key = cells_get(y, b);
        a += a < part->a_end && cells_get(x, a) == key;
        while (b < part->b_end && cells_get(y, b) == key)
            b++;
        uint64_t place;
        if (out && thinned_place(thin, part->number + distinct, &place))
            cells_set(out, place, key);
        distinct++;
    }
    return distinct;
}

/* Cuts both lists at the same keys, so that no cell is in two parts. */
static void cut_parts(struct merge_part *part, int parts, const struct cells *x,
                      const struct cells *y)
{
    const struct cells *longer = x->count > y->count ? x : y;
    for (int i = 0; i < parts; i++) {
        uint64_t a = 0, b = 0;
        if (i > 0) {
            uint64_t at = longer->count / (uint64_t)parts * (uint64_t)i;
            cell_key key = longer->count ? cells_get(longer, at) : 0;
            a = lower_bound(x, key);
            b = lower_bound(y, key);
            part[i - 1].a_end = a;
            part[i - 1].b_end = b;
        }
        part[i] = (struct merge_part){a, x->count, b, y->count, 0};
    }
}

enum status cells_merge(struct cells *cells, const struct cells *more, uint64_t most,
                        struct error *error)
{
    int parts = PARTS_PER_THREAD * omp_get_max_threads();
    struct merge_part *part = memory_array((size_t)parts, sizeof *part, error);
    struct cells merged = {0};
    if (!part)
        return error->status;
    cut_parts(part, parts, cells, more);

#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < parts; i++)
        part[i].number = walk_part(&part[i], cells, more, NULL, NULL);
    uint64_t total = 0;
    for (int i = 0; i < parts; i++) {
        uint64_t distinct = part[i].number;
        part[i].number = total;
        total += distinct;
    }

    struct thinning thin = {total, most};
    if (cells_create(&merged, total < most ? total : most, error) == STATUS_OK) {
#pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < parts; i++)
            walk_part(&part[i], cells, more, &thin, &merged);
        cells_free(cells);
        *cells = merged;
    }
    memory_free(part);
    return error->status;
}

/* A cell's number in lexicographic order, and back. */
static cell_key cell_to_number(const struct cell_layout *layout, cell_key key)
{
    cell_key number = 0;
    for (int n = 0; n < layout->order; n++)
        number = number * layout->dims[n] + cell_coordinate(layout, key, n);
    return number;
}

static cell_key cell_from_number(const struct cell_layout *layout, cell_key number)
{
    uint64_t coordinate[MAX_ORDER];
    for (int n = layout->order - 1; n >= 0; n--) {
        coordinate[n] = (uint64_t)(number % layout->dims[n]);
        number /= layout->dims[n];
    }
    return cell_pack(layout, coordinate);
}

enum status cells_fill(struct cells *cells, const struct cell_layout *layout, uint64_t count,
                       uint64_t seed, struct error *error)
{
    if (count <= cells->count)
        return STATUS_OK;
    struct cells more;
    if (cells_create(&more, count - cells->count, error) != STATUS_OK)
        return error->status;

    /* The free cells, numbered in order, are cut into as many ranges as cells are missing, and one
     * is drawn from each; with i taken cells before it, free cell number f is cell f + i. */
    cell_key free_cells = cell_layout_cells(layout) - cells->count;
    cell_key width = free_cells / more.count, wider = free_cells % more.count;
    cell_key first = 0;
    uint64_t i = 0;
    for (uint64_t j = 0; j < more.count; j++) {
        struct random_stream stream = random_stream_at(seed, STREAM_FILL, j);
        cell_key bits = (cell_key)random_next(&stream) << 64;
        bits |= random_next(&stream);
        cell_key size = width + ((j + 1) * wider / more.count - j * wider / more.count);
        cell_key chosen = first + bits % size;
        first += size;
        while (i < cells->count && cell_to_number(layout, cells_get(cells, i)) <= chosen + i)
            i++;
        cells_set(&more, j, cell_from_number(layout, chosen + i));
    }
    cells_merge(cells, &more, count, error);
    cells_free(&more);
    return error->status;
}

enum status cells_to_coo(const struct cells *cells, const struct cell_layout *layout, struct coo *x,
                         struct error *error)
{
    if (coo_create(x, layout->order, layout->dims, cells->count, error) != STATUS_OK)
        return error->status;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < cells->count; i++) {
        cell_key key = cells_get(cells, i);
        for (int n = 0; n < layout->order; n++)
            x->index[n][i] = (uint32_t)cell_coordinate(layout, key, n);
    }
    return STATUS_OK;
}
