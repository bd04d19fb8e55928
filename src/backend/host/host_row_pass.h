/* A pass over the nonzeros in the ordering of a mode, which makes new rows of that mode from their
 * systems (host_systems.h): what the rows have in common, and the step of a row. */
#ifndef BLCO_HOST_ROW_PASS_H
#define BLCO_HOST_ROW_PASS_H

#include "backend/host/host_poisson_row.h"
#include "backend/host/host_row_solve.h"
#include "backend/host/host_state.h"

/* Where sinks put what they get. */
struct host_row_pass {
    struct host_state *h;
    struct host_row_solve solve;
    struct host_poisson_rows counts; /* with LOSS_POISSON, in place of `solve` */
    const struct comm *peers;        /* host_row_common.c: who sends systems,     */
    double *sent;                    /* where, borrowed,                          */
    uint64_t from;                   /* and the row whose system is the first one */
};

/* Whether systems have G. */
bool host_row_pass_has_matrix(const struct host_row_systems *s);

/* How many rows are solved together. */
uint64_t host_row_pass_rows(const struct host_row_pass *s);

/* Doubles of scratch memory that they take. */
uint64_t host_row_pass_scratch(const struct host_row_pass *s);

/* A pass of this mode, with the model as it stands; fills h->systems, h->solve.row and .column. */
struct host_row_pass host_row_pass_begin(struct host_state *h, int mode);

/* What the pass is, for host_systems.h. *factors outlives it. */
struct host_systems host_row_pass_systems(struct host_row_pass *s, int mode,
                                          const struct host_rows *factors, host_system_sink *sink);

/* Hands the systems of rows [first, last) that are here to the sink. STATUS_MEMORY. */
enum status host_row_pass_sum(struct host_row_pass *s, int mode, host_system_sink *sink,
                              uint64_t first, uint64_t last, struct error *error);

/* The sink that solves rows from their whole systems, and puts the new rows into h->solve.m;
 * `context` is a struct host_row_pass. */
host_system_sink host_row_pass_solve;

#endif
