/* Ranks work on one tensor together, each rank on a part of it (process_grid.h). Each engine has
 * the same interface: threads of one process, perhaps one alone, and processes that a launcher has
 * started (comm_world.h). All ranks of a communicator call the same operations in the same order;
 * an operation returns when this rank's part of it is done. A rank that cannot go on calls
 * comm_abort: every operation of the other ranks, even one that already waits, then returns that
 * rank's status and reason, or the engine ends the other processes. An operation that finds no
 * memory aborts by itself. Implemented in comm.c and comm_threads.c. */
#pragma once

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

/* Bytes for a rank or from a rank. */
struct comm_parcel {
    char *bytes;
    uint64_t size;
};

/* What an engine implements. Only comm.c calls these, and builds the other operations on them; the
 * functions below of the same names say what they do. */
struct comm_engine {
    /* Sends c->sent[k] to each other rank k, and receives c->received[k], which has the same size
     * there, from rank k. */
    enum status (*exchange)(struct comm *c, struct error *error);
    enum status (*reduce_scatter)(struct comm *c, double *m, const struct comm_rows *rows,
                                  struct error *error);
    enum status (*check)(struct comm *c, struct error *error);
    enum status (*split)(struct comm *c, int color, struct comm **part, struct error *error);
    enum status (*allocate_shared)(struct comm *c, size_t bytes, void **memory,
                                   struct error *error);
    void (*abort)(struct comm *c, const struct error *reason);
    void (*finalize)(struct comm *c);
};

/* A rank's end of a communicator. */
struct comm {
    const struct comm_engine *engine;
    int rank, size;
    int local_rank, local_size; /* this rank's place among the ranks on its host; their number   */
    bool shares_memory;         /* the ranks are threads of one process */
    double seconds;             /* that this rank has spent in operations, waiting included */
    void *state;                /* the engine's */

    struct comm_parcel *sent, *received; /* (size) what goes to and comes from each rank; owned */
    uint64_t *even;                      /* (size + 1) ranges of an array that is summed; owned */
    int *value;                          /* (size) of which the largest is sought; owned        */
};

/* For engines: allocates the arrays of *c, whose size is set, and frees them; comm_free_arrays
 * accepts a zeroed one. STATUS_MEMORY. */
enum status comm_create_arrays(struct comm *c, struct error *error);
void comm_free_arrays(struct comm *c);

/* The communicator of one rank, ended by comm_finalize; NULL on failure. STATUS_MEMORY. */
struct comm *comm_self(struct error *error);

/* comm[0..size) = communicators of `size` ranks that are threads of this process. Only the
 * thread of rank k uses comm[k], and ends it. All NULL on failure. STATUS_MEMORY. */
enum status comm_threads(struct comm **comm, int size, struct error *error);

/* x[0..count) = the sum of all ranks' x, added in the order of the ranks: the same bits on every
 * rank. STATUS_MEMORY. */
enum status comm_allreduce_sum(struct comm *c, double *x, uint64_t count, struct error *error);

/* The same of whole numbers, which must stay below 2^53. All ranks return the failure of one that
 * calls this with a failure in *error, as comm_allreduce_error. */
enum status comm_allreduce_counts(struct comm *c, uint64_t *x, uint64_t count, struct error *error);

/* *value = the largest of all ranks' values: how ranks agree on a status, a stop or a signal. */
enum status comm_allreduce_max(struct comm *c, int *value, struct error *error);

/* Copies the bytes of rank `root` to all ranks. */
enum status comm_bcast(struct comm *c, int root, void *bytes, size_t size, struct error *error);

/* The rows of m that are this rank's become the sums of all ranks' rows there, added in the order
 * of the ranks; the other rows of m are undefined afterwards. */
enum status comm_reduce_scatter(struct comm *c, double *m, const struct comm_rows *rows,
                                struct error *error);

/* Copies every rank's rows of a from that rank to all others. Rank k has the rows first[k] to
 * first[k + 1] - 1, of `row` bytes each; first (size + 1) ascends from 0. */
enum status comm_allgatherv(struct comm *c, void *a, const uint64_t *first, size_t row,
                            struct error *error);

/* Sends the bytes c->sent[k] to each rank k, and receives those of rank k, as many as rank k sends
 * here, at c->received[k]; the caller fills both in, the rank's own too. STATUS_MEMORY. */
enum status comm_exchange(struct comm *c, struct error *error);

/* receive[k] = what rank k has in send[this rank]; both (ranks of c). STATUS_MEMORY. */
enum status comm_alltoall(struct comm *c, const uint64_t *send, uint64_t *receive,
                          struct error *error);

/* all (ranks of c x size) = the `size` bytes of every rank, in the order of the ranks.
 * STATUS_MEMORY. */
enum status comm_allgather(struct comm *c, const void *mine, size_t size, void *all,
                           struct error *error);

/* The status and reason of a rank that has aborted, or STATUS_OK, without waiting. The one
 * operation that a rank may call alone. With processes a rank learns only of its own abort: an
 * abort ends the other processes. */
enum status comm_check(struct comm *c, struct error *error);

/* The communicator of the ranks of c that give the same color (0 or more), in their order. The
 * caller ends *part before c; NULL on failure. An abort of one ends both. STATUS_MEMORY. */
enum status comm_split(struct comm *c, int color, struct comm **part, struct error *error);

/* *memory = `bytes` bytes that all ranks read and write, zeros at first; they stay until c is
 * finalized. The ranks must be on one host (local_size == size). All ranks return the same failure.
 * STATUS_MEMORY; STATUS_INTERNAL where MPI fails. */
enum status comm_allocate_shared(struct comm *c, size_t bytes, void **memory, struct error *error);

/* Every rank calls this after a step of its own that left *error. If some ranks have failed, *error
 * becomes the error of the lowest of them on all ranks; on several hosts, with "rank 3 on host h: "
 * before it unless all ranks have failed. So all go on, or all return
 * the same error, and no abort is needed. Returns the status of *error. Errors as
 * comm_allreduce_max. */
enum status comm_allreduce_error(struct comm *c, struct error *error);

/* Every rank calls this at the end of a phase that left *error. All ranks return the
 * status of the lowest rank that has failed, or STATUS_OK. That rank keeps its message, with
 * "rank 3: ", or "rank 3 on host h: ", before it unless all ranks have failed; the message of the
 * others becomes empty, so that the failure is printed once. */
enum status comm_end_phase(struct comm *c, struct error *error);

/* Puts "rank 3: ", or "rank 3 on host h: " with this process's host, before the message of *error.
 */
enum status comm_name_rank(int rank, bool several_hosts, struct error *error);

/* Makes every operation of the other ranks fail with `reason`, "rank 3: ...", even one that waits.
 * Only the first call counts. With processes, the other processes end when this one exits; the
 * caller exits as soon as it has printed the reason. */
void comm_abort(struct comm *c, const struct error *reason);

/* Ends and frees a communicator. Every rank does this for each of its communicators; processes do
 * it in the same order. For the communicator of all processes, it waits a few seconds for the other
 * ranks; a process that fails and exits without waiting here ends them. Accepts NULL. */
void comm_finalize(struct comm *c);

/* --- Runs a function on ranks that are threads of this process. --- */

/* The work of a rank; c is its end of the communicator, borrowed. A failure ends all ranks. */
typedef enum status comm_work(struct comm *c, void *context, struct error *error);

/* Runs work(c, context) on `size` ranks and waits for all. Each is a thread of its own with an even
 * part of the OpenMP threads, at least one. The failure of a rank ends the others (comm_abort); the
 * error is that of the lowest rank that has a message. STATUS_MEMORY also where a thread cannot be
 * started. */
enum status comm_run_team(int size, comm_work *work, void *context, struct error *error);
