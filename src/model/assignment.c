#include "model/assignment.h"

#include <math.h>
#include <stdbool.h>

#include "base/memory.h"

#define NOBODY UINT64_MAX

/* The cost of a pair is row_price + column_price - score. Prices are such that no cost is negative
 * and the cost of each assigned pair is 0: the assignment is then the best one. Rows are assigned
 * one after the other. The search for a row's column begins at an additional column, number
 * `columns`, which this row has meanwhile. */
struct search {
    const double *score; /* (rows x columns); borrowed                                       */
    uint64_t rows, columns;
    double *row_price;    /* (rows)                                                           */
    double *column_price; /* (columns + 1)                                                    */
    uint64_t *row;        /* (columns + 1) the row that has the column, or NOBODY             */
    double *distance;     /* (columns) the least cost of a path to the column                 */
    uint64_t *previous;   /* (columns) the column before it on that path                      */
    bool *reached;        /* (columns + 1) whether the path is known to be the shortest       */
};

static enum status search_create(struct search *s, struct error *error)
{
    s->row_price = memory_zeros(s->rows, sizeof *s->row_price, error);
    s->column_price = memory_zeros(s->columns + 1, sizeof *s->column_price, error);
    s->row = memory_array(s->columns + 1, sizeof *s->row, error);
    s->distance = memory_array(s->columns, sizeof *s->distance, error);
    s->previous = memory_array(s->columns, sizeof *s->previous, error);
    s->reached = memory_array(s->columns + 1, sizeof *s->reached, error);
    TRY(error->status);
    for (uint64_t c = 0; c <= s->columns; c++)
        s->row[c] = NOBODY;
    return STATUS_OK;
}

/* Continues the paths by the row that has column `from`. Returns the nearest column that is not yet
 * reached. */
static uint64_t extend(struct search *s, uint64_t from)
{
    uint64_t row = s->row[from], nearest = NOBODY;
    const double *score = s->score + row * s->columns;
    for (uint64_t c = 0; c < s->columns; c++) {
        if (s->reached[c])
            continue;
        double cost = s->row_price[row] + s->column_price[c] - score[c];
        if (cost < s->distance[c]) {
            s->distance[c] = cost;
            s->previous[c] = from;
        }
        if (nearest == NOBODY || s->distance[c] < s->distance[nearest])
            nearest = c;
    }
    return nearest;
}

/* Gives the row a column; rows that have columns already may change them. */
static void assign(struct search *s, uint64_t row)
{
    uint64_t start = s->columns, at = start;
    for (uint64_t c = 0; c <= s->columns; c++)
        s->reached[c] = false;
    for (uint64_t c = 0; c < s->columns; c++)
        s->distance[c] = INFINITY;
    s->row[start] = row;
    while (s->row[at] != NOBODY) {
        s->reached[at] = true;
        uint64_t nearest = extend(s, at);
        /* The prices change so that the path to the nearest column costs 0. */
        const double step = s->distance[nearest];
        for (uint64_t c = 0; c <= s->columns; c++)
            if (s->reached[c]) {
                s->row_price[s->row[c]] -= step;
                s->column_price[c] += step;
            } else if (c < s->columns) {
                s->distance[c] -= step;
            }
        at = nearest;
    }
    while (at != start) {
        s->row[at] = s->row[s->previous[at]];
        at = s->previous[at];
    }
}

enum status assignment_solve(const double *score, uint64_t rows, uint64_t columns, uint64_t *column,
                             struct error *error)
{
    struct search s = {.score = score, .rows = rows, .columns = columns};
    TRY_OR(done, search_create(&s, error));
    for (uint64_t r = 0; r < rows; r++)
        assign(&s, r);
    for (uint64_t c = 0; c < columns; c++)
        if (s.row[c] != NOBODY)
            column[s.row[c]] = c;
done:
    memory_free(s.row_price);
    memory_free(s.column_price);
    memory_free(s.row);
    memory_free(s.distance);
    memory_free(s.previous);
    memory_free(s.reached);
    return error->status;
}
