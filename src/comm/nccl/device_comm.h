/* Collective operations on arrays in the memory of GPUs, one GPU a rank, by NCCL. Every operation
 * is queued on a stream; all ranks queue the same operations of all their communicators in the same
 * order, and on one stream or in an order that events fix, since NCCL's kernels of two
 * communicators that run at a time could wait for each other. */
#ifndef BLCO_DEVICE_COMM_H
#define BLCO_DEVICE_COMM_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "comm/comm.h"
#include "numerics/precision.h"

struct device_comm;

/* Starts connecting the GPUs of the ranks of `host`, in a thread of its own. `host` must outlive
 * *c; every rank of it calls this, each with the number of its GPU. The caller ends *c with
 * device_comm_finalize; it is NULL on failure. STATUS_MEMORY; STATUS_INPUT where NCCL cannot be
 * loaded; STATUS_INTERNAL where NCCL fails. */
enum status device_comm_init(struct device_comm **c, struct comm *host, int device,
                             struct error *error);

/* Waits until the GPUs are connected, which the operations below need; every rank calls it. Returns
 * at once afterwards. STATUS_INTERNAL where NCCL fails, which ends the other ranks (comm_abort),
 * and errors of other ranks. */
enum status device_comm_wait(struct device_comm *c, struct error *error);

/* Ends operations that wait for ranks that have failed; nothing may be queued afterwards. */
void device_comm_abort(struct device_comm *c);

/* Accepts NULL. Waits for the connecting thread. Unless a rank has aborted, queued work must be
 * done. */
void device_comm_finalize(struct device_comm *c);

/* device_comm_finalize in a process that ends soon: NCCL's communicator is left, since ending it
 * takes as long as connecting. */
void device_comm_leave(struct device_comm *c);

/* An array in device memory of `size` stripes, one for each rank, of `stripe` numbers each, and
 * where this rank's stripe comes from or goes to: its place in that array, or an array of its own.
 */
struct device_stripes {
    void *numbers;
    void *own;
    uint64_t stripe;
    enum precision precision;
};

/* m->own becomes the sum of all ranks' numbers in this rank's stripe; where that is its place in
 * m->numbers, the other stripes are undefined afterwards. */
enum status device_comm_reduce_scatter(struct device_comm *c, const struct device_stripes *m,
                                       cudaStream_t stream, struct error *error);

/* Every stripe of a->numbers is copied from the `own` of the rank that the stripe belongs to. */
enum status device_comm_allgather(struct device_comm *c, const struct device_stripes *a,
                                  cudaStream_t stream, struct error *error);

/* to[0..count) = the sum of all ranks' from[0..count), the same bits on every rank; `to` may be
 * `from`. */
enum status device_comm_allreduce_sum(struct device_comm *c, const double *from, double *to,
                                      uint64_t count, cudaStream_t stream, struct error *error);

/* The same of the largest number. */
enum status device_comm_allreduce_max(struct device_comm *c, const double *from, double *to,
                                      uint64_t count, cudaStream_t stream, struct error *error);

/* Whether NCCL has found an error in what was queued: STATUS_INTERNAL. Does not wait. */
enum status device_comm_check(struct device_comm *c, struct error *error);

#endif
