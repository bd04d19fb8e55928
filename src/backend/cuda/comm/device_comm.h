/* Collective operations on arrays in the memory of GPUs, one GPU a rank. GPUs of one host that see
 * each other's memory read from there; others use NCCL. Every operation is queued on a stream;
 * all ranks queue the same operations of all their communicators in the same order, and on one
 * stream or in an order that events fix, since NCCL's kernels of two communicators that run at a
 * time could wait for each other. Arrays are those of device_array; what an operation reads and
 * writes does not overlap, but for an own stripe in its place. */
#pragma once

#include <pthread.h>

#include "backend/cuda/comm/device_engine.h"

/* The operations are c->engine->allreduce(c->state, ...) and others of struct device_engine. */
struct device_comm {
    const struct device_engine *engine;
    void *state;       /* the engine's; owned     */
    struct comm *host; /* borrowed                */
    int *devices;      /* (ranks of host); owned  */
    pthread_t thread;  /* connects the GPUs       */
    bool connecting;   /* the thread has not been joined                  */
    bool connected;    /* every rank knows that all GPUs are connected    */
    struct error failure;
};

/* Starts connecting the GPUs of the ranks of `host`, in a thread of its own. `host` must outlive
 * *c; every rank of it calls this, each with the number of its GPU. The caller ends *c with
 * device_comm_finalize; it is NULL on failure. STATUS_MEMORY; STATUS_INPUT where NCCL is needed and
 * cannot be loaded; STATUS_INTERNAL where NCCL fails. */
enum status device_comm_init(struct device_comm **c, struct comm *host, int device,
                             struct error *error);

/* Waits until the GPUs are connected, which the operations need; every rank calls it. Returns
 * at once afterwards. STATUS_MEMORY; STATUS_INTERNAL where CUDA or NCCL fails; both end the other
 * ranks (comm_abort); and errors of other ranks. */
enum status device_comm_wait(struct device_comm *c, struct error *error);

/* Every rank calls it, unless one has aborted, before it frees arrays that operations have read.
 * Accepts NULL. */
void device_comm_release(struct device_comm *c);

/* After a rank has aborted: ends operations that wait for other ranks. Nothing may be queued
 * afterwards. With peer memory, waits until no rank's GPU reads from others, so that arrays may be
 * freed; every rank calls it for each of its communicators, or ends them. */
void device_comm_abort(struct device_comm *c);

/* Accepts NULL. Waits for the connecting thread. Unless a rank has aborted, queued work must be
 * done. */
void device_comm_finalize(struct device_comm *c);

/* device_comm_finalize in a process that ends soon: NCCL's communicator is left, since ending it
 * takes as long as connecting. */
void device_comm_leave(struct device_comm *c);
