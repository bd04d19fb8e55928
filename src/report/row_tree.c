#include "report/row_tree.h"

#include <math.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/vector_clones.h"

#define DEEPEST   48   /* ranges below are divided in halves, whatever their entries */
#define TASK_ROWS 4096 /* of a range that a thread of its own divides                */

/* A row by the column that divides a range. */
struct keyed_row {
    double key;
    uint32_t index;
};

/* What building needs besides the tree. */
struct builder {
    struct row_tree *tree;
    double *scaled; /* (rows x stride) the rows of the tree, in the order of the matrix; owned */
    const struct row_tree_form *form;
    struct keyed_row *keyed; /* (rows) owned */
};

static bool is_before(const struct keyed_row *a, const struct keyed_row *b)
{
    return a->key < b->key || (a->key == b->key && a->index < b->index);
}

/* Orders row[0..count) so that none of the first `cut` is after one of the others. */
static void divide(struct keyed_row *row, uint64_t count, uint64_t cut)
{
    uint64_t begin = 0, end = count;
    while (end - begin > 1) {
        const struct keyed_row pivot = row[begin + (end - begin - 1) / 2];
        uint64_t i = begin, j = end - 1;
        for (;;) {
            while (is_before(&row[i], &pivot))
                i++;
            while (is_before(&pivot, &row[j]))
                j--;
            if (i >= j)
                break;
            const struct keyed_row between = row[i];
            row[i++] = row[j];
            row[j--] = between;
        }
        /* row[begin..j] are not after the pivot, row[j + 1..end) not before it */
        if (cut <= j)
            end = j + 1;
        else
            begin = j + 1;
        if (cut == begin || cut == end)
            return;
    }
}

/* low and high (stride) become the least and largest entries of the columns of these rows. Returns
 * the longest norm. */
VECTOR_CLONES static double measure(const double *scaled, const uint32_t *index, uint64_t count,
                                    uint64_t stride, double *low, double *high)
{
    double longest = 0;
    memcpy(low, scaled + index[0] * stride, stride * sizeof *low);
    memcpy(high, low, stride * sizeof *high);
    for (uint64_t i = 0; i < count; i++) {
        const double *row = scaled + index[i] * stride;
        double squares[8] = {0};
        for (uint64_t r = 0; r < stride; r += 8)
            for (uint64_t j = 0; j < 8; j++) {
                const double x = row[r + j], l = low[r + j], h = high[r + j];
                low[r + j] = x < l ? x : l;
                high[r + j] = x > h ? x : h;
                squares[j] += x * x;
            }
        double sum = 0;
        for (int j = 0; j < 8; j++)
            sum += squares[j];
        longest = sum > longest ? sum : longest;
    }
    return sqrt(longest);
}

/* Divides the range with this number, and its parts. Where entries are far apart, the middle
 * between them divides, so that few large ones stand alone. */
static void build(const struct builder *b, uint64_t number, int depth)
{
    struct row_tree *t = b->tree;
    struct row_range *range = &t->range[number];
    double *low = t->box + number * 2 * t->stride, *high = low + t->stride;
    const uint64_t count = range->end - range->begin;
    uint64_t column = 0, below = count / 2;
    uint32_t *index = t->index + range->begin;
    range->norm = measure(b->scaled, index, count, t->stride, low, high);
    if (count <= ROW_GROUP || count <= b->form->leaf)
        return;
    for (uint64_t r = 1; r < t->rank; r++)
        if ((high[r] - low[r]) * b->form->weight[r] >
            (high[column] - low[column]) * b->form->weight[column])
            column = r;
    struct keyed_row *keyed = b->keyed + range->begin;
    for (uint64_t i = 0; i < count; i++)
        keyed[i] = (struct keyed_row){b->scaled[index[i] * t->stride + column], index[i]};
    if (depth < DEEPEST) {
        const double middle = low[column] / 2 + high[column] / 2;
        below = 0;
        for (uint64_t i = 0; i < count; i++)
            below += keyed[i].key < middle;
    }
    uint64_t cut = (below + ROW_GROUP / 2) / ROW_GROUP * ROW_GROUP;
    cut = least_of(cut > 0 ? cut : ROW_GROUP, (count - 1) / ROW_GROUP * ROW_GROUP);
    divide(keyed, count, cut);
    for (uint64_t i = 0; i < count; i++)
        index[i] = keyed[i].index;
#pragma omp atomic capture
    {
        range->child = t->ranges;
        t->ranges += 2;
    }
    t->range[range->child] = (struct row_range){.begin = range->begin, .end = range->begin + cut};
    t->range[range->child + 1] = (struct row_range){.begin = range->begin + cut, .end = range->end};
#pragma omp task if (cut > TASK_ROWS)
    build(b, range->child, depth + 1);
#pragma omp task if (count - cut > TASK_ROWS)
    build(b, range->child + 1, depth + 1);
}

/* Makes the rows as form says, in the order of the matrix. */
static void scale_rows(const struct builder *b, const double *a)
{
    struct row_tree *t = b->tree;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < t->rows; i++) {
        double *row = b->scaled + i * t->stride, squares = 0;
        for (uint64_t r = 0; r < t->rank; r++) {
            row[r] = a[i * t->rank + r] * b->form->scale[r];
            squares += row[r] * row[r];
        }
        for (uint64_t r = t->rank; r < t->stride; r++)
            row[r] = 0;
        if (!t->length)
            continue;
        t->length[i] = squares > 0 && isfinite(squares) ? sqrt(squares) : 1;
        for (uint64_t r = 0; r < t->rank; r++)
            row[r] /= t->length[i];
    }
}

/* Puts them into the order of the tree. */
static void order_rows(const struct builder *b)
{
    struct row_tree *t = b->tree;
#pragma omp parallel for schedule(static)
    for (uint64_t k = 0; k < t->rows; k++) {
        const double *row = b->scaled + t->index[k] * t->stride;
        double *packed = t->row + (k - k % ROW_GROUP) * t->rank + k % ROW_GROUP;
        if (!b->form->packed)
            memcpy(t->row + k * t->stride, row, t->stride * sizeof *row);
        for (uint64_t r = 0; b->form->packed && r < t->rank; r++)
            packed[r * ROW_GROUP] = row[r];
    }
}

enum status row_tree_create(struct row_tree *t, const double *a, uint64_t rows, uint64_t rank,
                            const struct row_tree_form *form, struct error *error)
{
    const uint64_t groups = (rows + ROW_GROUP - 1) / ROW_GROUP;
    const uint64_t most = ROW_RANGES(rows);
    *t = (struct row_tree){.rows = rows, .rank = rank, .stride = ROW_STRIDE(rank), .ranges = 1};
    struct builder b = {.tree = t, .form = form};
    b.keyed = memory_array(rows, sizeof *b.keyed, error);
    b.scaled = memory_array(rows, t->stride * sizeof *b.scaled, error);
    t->index = memory_array(rows, sizeof *t->index, error);
    t->row = memory_zeros(groups * ROW_GROUP, t->stride * sizeof *t->row, error);
    t->range = memory_zeros(most, sizeof *t->range, error);
    t->box = memory_array(most, 2 * t->stride * sizeof *t->box, error);
    t->length = form->unit ? memory_array(rows, sizeof *t->length, error) : NULL;
    TRY_OR(done, error->status);
    scale_rows(&b, a);
    for (uint64_t i = 0; i < rows; i++)
        t->index[i] = (uint32_t)i;
    t->range[0].end = rows;
#pragma omp parallel
#pragma omp single
    build(&b, 0, 0);
    order_rows(&b);
done:
    memory_free(b.keyed);
    memory_free(b.scaled);
    if (error->status != STATUS_OK)
        row_tree_free(t);
    return error->status;
}

void row_tree_free(struct row_tree *t)
{
    memory_free(t->index);
    memory_free(t->row);
    memory_free(t->length);
    memory_free(t->range);
    memory_free(t->box);
    *t = (struct row_tree){0};
}
