/* MTTKRP on the host: M = X_(n) (Khatri-Rao product of the other modes' factors), for any order,
 * rank and ordering, by all OpenMP threads. All arrays but M are prepared once, when the tensor is
 * built; host_mttkrp itself allocates nothing and cannot fail. */
#pragma once

#include <stdint.h>

#include "backend/host/host_entries.h"
#include "backend/host/host_slices.h"
#include "base/error.h"
#include "plan/conflict.h"
#include "tensor/blco.h"

/* Consecutive nonzeros that one thread sums, and the rows of M that they touch. */
struct host_run {
    uint64_t first, last; /* nonzeros [first, last)                                        */
    uint64_t slice;       /* ORDERED: the slice of the first                               */
    uint64_t low, high;   /* ORDERED: rows of the first and the last nonzero; HIERARCHICAL:
                           * rows low to high of M, both included; else the first nonzero's  */
    uint64_t scratch;     /* this run's first row in the scratch array                     */
};

/* Trial of whether prefetching rows pays: the times of calls with and without it. */
struct host_trial {
    int calls;
    double least[2]; /* seconds, without and with prefetching */
};

struct host_mttkrp {
    const struct blco *x;             /* not owned; NULL for ORDERED                        */
    const struct host_slices *slices; /* not owned; NULL for all others                     */
    struct shape shape;
    uint64_t nnz;
    int mode;
    enum conflict conflict;
    uint64_t nruns;
    struct host_run *run;       /* (nruns); owned                                           */
    struct host_row_list *list; /* REGISTER: as many as wait at a time (host_mttkrp.c); owned */
    uint64_t scratch_rows;      /* rows of R entries that host_mttkrp needs as scratch      */
    uint64_t other_rows;        /* rows of the other modes' factors together                */
    uint64_t near_bytes;        /* factors of up to this size count as in a core's cache    */
    uint64_t far_bytes;         /* larger factors count as in memory                        */
    struct host_trial trial[2]; /* [precision]: for factors of a size between these two     */
    uint64_t ahead;             /* of the present call, as in struct host_row_sums          */
};

/* Prepares ORDERED for the mode of *slices, which must stay as it is while *p is in use.
 * STATUS_MEMORY; on failure *p is empty. The caller frees *p with host_mttkrp_free. */
enum status host_mttkrp_prepare_ordered(struct host_mttkrp *p, const struct host_slices *slices,
                                        struct error *error);

/* The same for any other conflict resolution, for mode `mode` of x in any ordering. `copies` is the
 * number of private windows that HIERARCHICAL may use. */
enum status host_mttkrp_prepare(struct host_mttkrp *p, const struct blco *x, int mode,
                                enum conflict conflict, uint64_t copies, struct error *error);

/* m (I_mode x R) from rows->of[n] for n != mode; scratch (scratch_rows x R) is overwritten. Entries
 * of both have the precision of the rows. The result does not depend on the number of threads,
 * except with ATOMIC. The first calls find out whether prefetching pays, which changes no result.
 * One call at a time for one *p. */
void host_mttkrp(struct host_mttkrp *p, const struct host_rows *rows, void *m, void *scratch);

/* Accepts an empty *p. */
void host_mttkrp_free(struct host_mttkrp *p);

/* How many sums of rows wait at most where an MTTKRP of nnz nonzeros uses REGISTER: those that are
 * being made, and those that are added at the same time. */
uint64_t host_mttkrp_waiting_rows(uint64_t nnz);
