/* Solves the system of a row (numerics/row_term.h) on the host. */
#ifndef BLCO_HOST_ROW_SOLVE_H
#define BLCO_HOST_ROW_SOLVE_H

#include <stdbool.h>
#include <stdint.h>

/* What all rows of a mode have in common. Arrays are borrowed. */
struct host_row_solve {
    uint64_t rank, ld;   /* rows of matrices have ld entries, the last ones 0         */
    const double *v;     /* (R x ld) h V, whole; NULL where it is 0                   */
    const double *ridge; /* (R) of each component                                    */
    const double *cell;  /* (R) of row_whole                                         */
    bool nonneg;         /* a + d >= 0                                               */
};

/* The system of one row: b (ld) and G (ld x ld), of which entries (i, j) with i <= j count. */
struct host_row_system {
    const double *b, *g;
    double ridge;  /* by which the common ridge is multiplied */
    double change; /* host_rows_solve's answer: by how much the misfit of the listed entries
                    * changes, d G d' - 2 d b' */
};

/* Doubles of scratch memory that host_rows_solve takes. */
uint64_t host_row_solve_room(uint64_t rank, uint64_t ld);

/* Each a (ld) of `count` rows, at most as many as host_rows_kernels takes, becomes a + d. Free
 * rows: by Cholesky's factors of H; where H is singular, a small multiple of the identity is added
 * to it, which leaves d near the shortest of all solutions. Nonnegative rows: by passes of
 * coordinate descent (HALS) on H. */
void host_rows_solve(const struct host_row_solve *s, struct host_row_system *x, uint64_t count,
                     double *const *a, double *scratch);

#endif
