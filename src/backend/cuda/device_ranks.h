/* Collective operations of an iteration, of ranks with a GPU each, queued like all other work. With
 * one rank nothing is queued. */
#pragma once

#include <cuda_runtime.h>

#include "backend/cuda/comm/device_comm.h"
#include "backend/cuda/runtime/device_factor_copy.h"
#include "ranks/rank_rows.h"

#define DEVICE_MOST_MOVES 512 /* timed between two waits of the host; more are not timed */

/* Operations follow each other, whichever stream they are queued on (device_comm.h):
 * `moved` is recorded after each one, and the next one waits for `moved`. */
struct device_ranks {
    const struct rank_rows *ranks;        /* borrowed                                         */
    struct device_comm *all;              /* owned, or ranks->devices; NULL: one rank         */
    struct device_comm *peers[MAX_ORDER]; /* `all`, or owned; NULL: no other rank has them    */
    cudaEvent_t moved;                    /* after the last operation                         */
    cudaEvent_t begin[DEVICE_MOST_MOVES]; /* of the moves of rows since the host last waited; */
    cudaEvent_t end[DEVICE_MOST_MOVES];   /* made when they are first needed                  */
    int moves;                            /* of these                                         */
};

/* On the calling thread's device, of this number; every rank calls it. Waits until the GPUs are
 * connected. *r must be closed, also after a failure. Errors of device_comm_init and
 * device_comm_wait. */
enum status device_ranks_open(struct device_ranks *r, const struct rank_rows *ranks, int device,
                              struct error *error);

/* Accepts an empty one. If a rank has aborted, queued work is dropped. */
void device_ranks_close(struct device_ranks *r);

/* Rows of mode n that an array has room for: those here, filled up to stripes of equal length. */
uint64_t device_ranks_rows(const struct rank_rows *ranks, int n);

/* rank_rows_reduce_scatter and rank_rows_allgather of a matrix in an array (device_ranks_rows x
 * ld). */
enum status device_ranks_scatter(struct device_ranks *r, int n, const struct device_matrix *m,
                                 cudaStream_t stream, struct error *error);
enum status device_ranks_gather(struct device_ranks *r, int n, const struct device_matrix *a,
                                cudaStream_t stream, struct error *error);

/* In an array (peers of mode n x count) in device memory, the `count` numbers at this rank's place
 * become the sums over the peers. */
enum status device_ranks_scatter_numbers(struct device_ranks *r, int n, double *numbers,
                                         uint64_t count, cudaStream_t stream, struct error *error);

/* to[0..count) = the sum over all ranks of from[0..count); device. Nothing is queued where there is
 * one rank: then `to` must be `from`. */
enum status device_ranks_sum(struct device_ranks *r, const double *from, double *to, uint64_t count,
                             cudaStream_t stream, struct error *error);

/* x[0..count) = the largest over all ranks of x[0..count); device. */
enum status device_ranks_max(struct device_ranks *r, double *x, uint64_t count, cudaStream_t stream,
                             struct error *error);

bool device_ranks_alone(const struct device_ranks *r);

/* Waits until the stream is empty, and adds the time of the moves of rows to ranks->all->seconds.
 * If a rank has aborted, returns its status and reason. */
enum status device_ranks_wait(struct device_ranks *r, cudaStream_t stream, struct error *error);

/* To be called before anything waits for the stream without looking for failures of other ranks:
 * queued collectives never complete if another rank fails. With several ranks, waits until the
 * stream is empty; a rank that is alone does not wait. Errors of device_ranks_wait. */
enum status device_ranks_before_wait(struct device_ranks *r, cudaStream_t stream,
                                     struct error *error);
