/* The assignment problem: each row of a matrix of scores gets a column of its own so that the sum
 * of their scores is the largest possible. */
#ifndef BLCO_ASSIGNMENT_H
#define BLCO_ASSIGNMENT_H

#include <stdint.h>

#include "base/error.h"

/* column (rows) = the column of each row. score (rows x columns, row-major) is finite, and
 * rows <= columns. By shortest augmenting paths, in rows^2 * columns steps at most (R. Jonker and
 * A. Volgenant: A shortest augmenting path algorithm for dense and sparse linear assignment
 * problems, Computing 38, 1987). The sum is the largest up to rounding. STATUS_MEMORY. */
enum status assignment_solve(const double *score, uint64_t rows, uint64_t columns, uint64_t *column,
                             struct error *error);

#endif
