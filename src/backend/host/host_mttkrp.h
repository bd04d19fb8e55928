/* MTTKRP on the host: M = X_(n) (Khatri-Rao product of the other modes' factors), for any order,
 * rank and ordering, by all OpenMP threads. Everything that a mode needs beside M is prepared once,
 * when the tensor is built; host_mttkrp itself allocates nothing and cannot fail. */
#ifndef BLCO_HOST_MTTKRP_H
#define BLCO_HOST_MTTKRP_H

#include <stdint.h>

#include "backend/host/host_entries.h"
#include "base/error.h"
#include "plan/conflict.h"
#include "tensor/blco.h"

/* Consecutive nonzeros that one thread sums, and the rows of M that they touch: `low` to `high`,
 * which are the rows of the first and the last nonzero where the ordering is the mode's own. */
struct host_run {
    uint64_t first, last; /* nonzeros [first, last)                               */
    uint64_t low, high;   /* rows low to high of M, both included                 */
    uint64_t scratch;     /* this run's first row in the scratch array            */
};

struct host_mttkrp {
    const struct blco *x; /* not owned                                            */
    int mode;
    enum conflict conflict; /* ORDERED: x is in the ordering of `mode`              */
    uint64_t nruns;
    struct host_run *run;  /* (nruns); owned                                       */
    uint64_t scratch_rows; /* rows of R entries that host_mttkrp needs as scratch  */
    uint64_t other_rows;   /* rows of the other modes' factors together            */
    uint64_t near_bytes;   /* factors of so many bytes are as good as in cache     */
};

/* Prepares mode `mode` of x, which must stay as it is while *p is in use. `copies` is the number of
 * private windows that HIERARCHICAL may use; ORDERED needs x in the ordering of `mode`.
 * STATUS_MEMORY; on failure *p is empty. The caller frees *p with host_mttkrp_free. */
enum status host_mttkrp_prepare(struct host_mttkrp *p, const struct blco *x, int mode,
                                enum conflict conflict, uint64_t copies, struct error *error);

/* The rows that are multiplied; borrowed. */
struct host_rows {
    uint64_t rank;                 /* R                                                     */
    enum precision precision;      /* of these entries, and of M's                          */
    const void *of[MAX_ORDER + 1]; /* (I_n x R) of each mode n                              */
};

/* m (I_mode x R) from rows->of[n] for n != mode; scratch (scratch_rows x R) is overwritten. Entries
 * of both have the precision of the rows. With ORDERED and HIERARCHICAL the result does not depend
 * on the number of threads. */
void host_mttkrp(const struct host_mttkrp *p, const struct host_rows *rows, void *m, void *scratch);

/* Accepts an empty *p. */
void host_mttkrp_free(struct host_mttkrp *p);

#endif
