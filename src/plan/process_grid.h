/* The grid of ranks over a tensor's modes, after the medium-grained algorithm (S. Smith, G.
 * Karypis: A medium-grained algorithm for distributed sparse tensor factorization, IPDPS 2016):
 * mode n is cut into parts[n] ranges of rows, and a rank has the nonzeros whose every coordinate
 * lies in its ranges. These are an ordinary tensor, of the lengths of the ranges. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "tensor/coo_census.h"
#include "tensor/shape.h"

#define MAX_RANKS 4096

struct process_grid {
    struct shape shape; /* of the whole tensor                                                   */
    int ranks;
    int parts[MAX_ORDER];     /* p_n for n < order; their product is `ranks`                     */
    uint64_t *cut[MAX_ORDER]; /* (p_n + 1) ascending: range c of mode n has the rows cut[n][c] to
                               * cut[n][c + 1] - 1, which may be none; owned                     */
};

/* The numbers by which a grid is chosen. */
struct grid_request {
    int ranks;                     /* 1 to MAX_RANKS                                            */
    int parts[MAX_ORDER];          /* fixed by the user, their product is `ranks`; or 0: chosen */
    uint64_t row_bytes;            /* of a factor matrix's row                                  */
    double seconds_per_nonzero;    /* of all MTTKRPs of a sweep together                        */
    double bytes_per_second;       /* that a rank sends and receives, of rows                   */
    double seconds_per_collective; /* that a gather or a scatter takes at the least             */
    double solve_bytes_per_second; /* of rows read and written by solves; 0: solves cost nothing */
};

/* Ranks treat rows that only one rank touches separately (rank_rows.h) where at most this fraction
 * of a range's rows is common. */
#define GRID_MOST_COMMON 0.75

/* What a sweep costs on a grid, by a model. The rank with most nonzeros sets the time of the
 * MTTKRPs. The P ranks that have the same range of mode n scatter the sums of its common rows of M,
 * solve an equal part of the rows each, and gather the common rows of the factor. The number of
 * common rows is estimated as for nonzeros at random: one rank alone has all c nonzeros of a row
 * with the probability P^(1-c). */
struct grid_cost {
    uint64_t largest_nnz;  /* of a rank                                                          */
    double imbalance;      /* largest_nnz over the mean, less 1                                  */
    uint64_t moved_bytes;  /* that the rank with the longest ranges sends in a sweep             */
    double mttkrp_seconds; /* of the rank with most nonzeros                                     */
    double move_seconds;
    double solve_seconds; /* of the rank with the longest ranges */
};

/* Steps parts[0..order) to the next way to write `ranks` as a product of `order` factors, in
 * lexicographic order; {1, ..., 1, ranks} comes first, from all zero. False after the last. */
bool process_grid_next(int *parts, int order, int ranks);

/* Chooses the grid with the least cost of all (the first of equal ones), or the one that the
 * request fixes, and its cuts, for a tensor of `nnz` nonzeros and this census; largest_nnz is
 * estimated from the census' sample. By all OpenMP threads. The caller frees *g with
 * process_grid_free; it is empty on failure. STATUS_INPUT where the product of
 * the fixed parts is not the number of ranks, STATUS_MEMORY. */
enum status process_grid_choose(struct process_grid *g, struct grid_cost *cost,
                                const struct grid_request *request, const struct coo_census *census,
                                uint64_t nnz, struct error *error);

/* The grid of one rank, which has the whole tensor. The caller frees *g with process_grid_free; it
 * is empty on failure. STATUS_MEMORY. */
enum status process_grid_alone(struct process_grid *g, const struct shape *shape,
                               struct error *error);

/* Accepts an empty one. */
void process_grid_free(struct process_grid *g);

/* coordinate[0..order) = the number of this rank's range in each mode; that of the last mode
 * changes fastest from rank to rank. */
void process_grid_coordinates(const struct process_grid *g, int rank, int *coordinate);

/* The rows in this rank's ranges. */
struct part process_grid_part(const struct process_grid *g, int rank);

/* The rank that has the nonzero with these indices (order). */
int process_grid_rank(const struct process_grid *g, const uint32_t *index);

/* "2x2x1" into text[0..size). */
void process_grid_name(const int *parts, int order, char *text, uint64_t size);
