/* Ranks work on one tensor together, each rank on a part of the tensor (process_grid.h). One
 * interface for every engine: one rank alone, threads of one process, and processes that a launcher
 * has started (comm_world.h). All ranks of a communicator call the same operations in the same
 * order; an operation returns when this rank's part of it is done. A rank that cannot go on calls
 * comm_abort: every operation of the other ranks, also one that waits, then returns that rank's
 * status and reason, or the engine ends the other processes. An operation that finds no memory
 * aborts by itself. Implemented in comm.c, comm_self.c and comm_threads.c. */
#ifndef BLCO_COMM_H
#define BLCO_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct comm;

/* Ranges of rows of a matrix, one for each rank: rank k has the rows first[k] to first[k + 1] - 1.
 */
struct comm_rows {
    const uint64_t *first; /* (size + 1) ascending, from 0; borrowed        */
    uint64_t columns;      /* doubles in a row; rows follow each other       */
};

/* What an engine implements. Only comm.c calls these; the functions below that do, such as
 * comm_allreduce_sum, say what each operation does. */
struct comm_engine {
    enum status (*allreduce_sum)(struct comm *c, double *x, uint64_t count, struct error *error);
    enum status (*allreduce_max)(struct comm *c, int *value, struct error *error);
    enum status (*bcast)(struct comm *c, int root, void *bytes, size_t size, struct error *error);
    enum status (*reduce_scatter)(struct comm *c, double *m, const struct comm_rows *rows,
                                  struct error *error);
    enum status (*allgatherv)(struct comm *c, double *a, const struct comm_rows *rows,
                              struct error *error);
    enum status (*alltoallv)(struct comm *c, const void *send, const uint64_t *send_first,
                             void *receive, const uint64_t *receive_first, struct error *error);
    enum status (*check)(struct comm *c, struct error *error);
    enum status (*split)(struct comm *c, int color, struct comm **part, struct error *error);
    void (*abort)(struct comm *c, const struct error *reason);
    void (*close)(struct comm *c);
};

/* A rank's end of a communicator. */
struct comm {
    const struct comm_engine *engine;
    int rank, size;
    int local_rank, local_size; /* of c's ranks on this rank's host: this one's place, how many */
    bool shares_memory;         /* the ranks are threads of one process */
    double seconds;             /* that this rank has spent in operations, waiting included */
    void *state;                /* the engine's */
};

/* The communicator of one rank. Closed by comm_close; NULL on failure. STATUS_MEMORY. */
struct comm *comm_self(struct error *error);

/* comm[0..size) = communicators of `size` ranks that are threads of this process. The thread of
 * rank k alone uses comm[k], and closes it. All NULL on failure. STATUS_MEMORY. */
enum status comm_threads(struct comm **comm, int size, struct error *error);

/* x[0..count) = the sum of all ranks' x, added in the order of the ranks: the same bits on every
 * rank. STATUS_MEMORY. */
enum status comm_allreduce_sum(struct comm *c, double *x, uint64_t count, struct error *error);

/* *value = the largest of all ranks' values: how ranks agree on a status, a stop or a signal. */
enum status comm_allreduce_max(struct comm *c, int *value, struct error *error);

/* The bytes of rank `root` go to all. */
enum status comm_bcast(struct comm *c, int root, void *bytes, size_t size, struct error *error);

/* The rows of m that are this rank's become the sums of all ranks' rows there, added in the order
 * of the ranks; the other rows of m are undefined afterwards. */
enum status comm_reduce_scatter(struct comm *c, double *m, const struct comm_rows *rows,
                                struct error *error);

/* Every rank's rows of a are copied from that rank. */
enum status comm_allgatherv(struct comm *c, double *a, const struct comm_rows *rows,
                            struct error *error);

/* Bytes from every rank to every rank. The bytes send_first[k] to send_first[k + 1] - 1 of `send`
 * go to rank k; those of rank k arrive at receive_first[k] to receive_first[k + 1] - 1 of
 * `receive`: both sides know how many they are. send_first, receive_first (size + 1) ascend from 0.
 * STATUS_MEMORY. */
enum status comm_alltoallv(struct comm *c, const void *send, const uint64_t *send_first,
                           void *receive, const uint64_t *receive_first, struct error *error);

/* receive[k] = what rank k has in send[this rank]; both (ranks of c). STATUS_MEMORY. */
enum status comm_alltoall(struct comm *c, const uint64_t *send, uint64_t *receive,
                          struct error *error);

/* all (ranks of c x size) = the `size` bytes of every rank, in the order of the ranks: a few bytes,
 * since each rank makes a copy for each other. STATUS_MEMORY. */
enum status comm_allgather(struct comm *c, const void *mine, size_t size, void *all,
                           struct error *error);

/* Whether some rank has aborted, without waiting: its status and reason, or STATUS_OK. The one
 * operation that a rank may call alone. On an engine whose abort ends the other processes, a rank
 * learns of its own abort only. */
enum status comm_check(struct comm *c, struct error *error);

/* The communicator of the ranks of c that give the same color (0 or more), in their order. The
 * caller closes *part before c; NULL on failure. An abort of one ends both. STATUS_MEMORY. */
enum status comm_split(struct comm *c, int color, struct comm **part, struct error *error);

/* Every rank calls this with the outcome of what it did alone, *error; if some rank has failed, the
 * lowest such rank's error becomes the error of all, word for word. So all ranks go on, or all
 * return the same error and nobody waits for anybody: no abort is needed. Returns the status of
 * *error. STATUS_MEMORY, and an abort, as of comm_allreduce_max. */
enum status comm_allreduce_error(struct comm *c, struct error *error);

/* At the end of a phase, in which each rank has filled its *error or has not: all ranks return the
 * status of the lowest rank that has failed, or STATUS_OK where none has. That rank keeps its
 * message, with "rank 3: " before it unless all ranks have failed; the message of the others
 * becomes empty, so that the failure is told once. */
enum status comm_end_phase(struct comm *c, struct error *error);

/* Ends every operation that other ranks wait in or begin, with `reason`, "rank 3: ...". The first
 * call counts. An engine of processes ends the other processes when this process exits, which the
 * caller does as soon as it has told the reason. */
void comm_abort(struct comm *c, const struct error *reason);

/* This rank is done with c. All ranks close the communicators of processes in the same order. The
 * communicator of all processes waits a few seconds here for the other ranks; a process that exits
 * with a failure without having met them here ends them. Accepts NULL. */
void comm_close(struct comm *c);

#endif
