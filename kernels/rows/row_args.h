/* What the kernels of rows are given, and what they give back; they are declared in row_systems.h.
 */
#pragma once

#include <stdint.h>

#include "kernels/mttkrp/mttkrp_args.h"
#include "numerics/row_rules.h"

/* What is known after a pass over the rows of a mode: of a chunk, of a join, or of
 * all. */
struct row_totals {
    double misfit;    /* sum of v (x - m)^2 - h m^2, with the new rows; of counts, where no row is
                       * solved: sum of v (m - x - x log(m / x)) - h m                    */
    double size;      /* the sum of the magnitudes of what it was summed from    */
    double penalty;   /* of a ridge that counts entries                          */
    double violation; /* of counts: the largest |min(a, gradient)| of the old rows */
    double model;     /* where no row is solved: sum of v m^2; of counts, of (v - h) m */
};

/* What all rows of a mode have in common, for products of rows of the factor matrices as they
 * stand. Device, borrowed. */
struct row_common {
    double *v;         /* (R x R) h V                                                      */
    double *v_inverse; /* (R x R): where short rows need it, the inverse of h V + ridge; NaN where
                        * it has too few digits                                          */
    double *ridge;   /* (R) of each component; of counts, times the trace of H in units of `unit` */
    double *inverse; /* (R): its inverse; of counts, that of `linear`, or 0 */
    double *cell;    /* (R) of row_whole (numerics/row_term.h)                            */
    double *now;     /* (R): times the old rows, their weights                           */
    double *out_scale; /* (R): times the solved rows, the new rows                         */
    double *linear;    /* (R) of counts: h times the products of the other modes' column sums */
    double *unit;      /* (R) of counts: by which a solved row is longer than the model's  */
};

/* A row that chunks share. Part 2 s is that of the row that begins before chunk s, part 2 s + 1
 * that of the row that ends after it. */
struct row_join {
    uint32_t row;
    uint32_t first; /* its first part                                       */
    uint32_t last;  /* the last chunk that has one; those between are all its */
};

/* Rows of which other devices have nonzeros, too: in place of solving row `first` + i, a pass
 * leaves its system as part i of `part`, for the devices to sum. */
struct row_sent {
    double *part;  /* NULL: rows are solved                                                     */
    double *least; /* (rows x peers): of counts, the least value of a row that each device has  */
    uint32_t first;
    uint32_t peers; /* 0: there is no `least` */
    uint32_t peer;  /* this device            */
};

/* Room for the parts of rows that chunks share, and for totals. Device. */
struct chunk_room {
    double *part;   /* (2 x chunks x row_system_length(rank, matrix)): of rows that begin before a
                     * chunk, and that end after it                         */
    uint32_t *left; /* (chunks): set by row_short_solve: 1 where it left the short rows */
    struct row_totals *totals; /* (chunks + joins, or sent rows, that are solved)         */
    uint32_t *next;            /* (1): the next chunk or join that is not taken yet       */
};

struct row_systems_args {
    struct mttkrp_args mttkrp; /* nonzeros, bases, gathers, output, vectors, precision; m: the new
                                * rows, of which those without nonzeros are not written */
    const void *old;           /* (I_n x vectors * 16 bytes): the old rows              */
    uint32_t rank;
    struct row_common common;
    struct row_rules rules; /* without `matrix`, the chunks are walked by lane groups
                             * (row_multiply.cu) and no row is short */
    int short_rows; /* rows of up to so many nonzeros that lie in a chunk as a whole are solved by
                     * row_short_solve: of counts at most ROW_SHORT_DIAGONAL and
                     * poisson_short_rows(R), of nonnegative rows ROW_SHORT_DESCENT, of
                     * others ROW_SHORT_EQUATIONS where there is a ridge or, where unlisted is not
                     * 0, none that counts entries */
    uint32_t chunks;
    const uint64_t *chunk;       /* (chunks + 1): the first nonzero of each, and of none   */
    const uint32_t *block;       /* (chunks): the block that a chunk lies in                */
    const uint32_t *continued;   /* (chunks + 1): 1 where the row before goes on           */
    const struct row_join *join; /* (joins); NULL: join i is part i, of row sent.first + i */
    uint32_t joins;
    uint32_t most_parts;             /* of a join                                              */
    int first_is_part, last_is_part; /* the first, the last join is a part of a row that has others
                                      * elsewhere: it is summed and not solved                    */
    int joined;                      /* set by row_systems_join, row_sent_solve: sums are solved, no
                                      * nonzeros are read */
    struct row_sent sent; /* of rows that devices share                                    */
    struct chunk_room room;
};

/* The most nonzeros of a short row: of which the system has one equation for each, and of which the
 * coordinates are improved one after the other. */
#define ROW_SHORT_EQUATIONS 16
#define ROW_SHORT_DESCENT   8
#define ROW_SHORT_DIAGONAL  16 /* ... or take the diagonal step of counts */
