/* A device that a thread makes ready while the caller reads a tensor. */
#ifndef BLCO_BACKEND_WAKE_H
#define BLCO_BACKEND_WAKE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "backend/backend_kind.h"

/* Zeroed where nothing has begun. The struct must not move between begin and end. */
struct backend_wake {
    const struct backend_kind *kind;
    int device;
    bool running;         /* the thread has not been joined       */
    atomic_bool unwanted; /* the device is not needed any more    */
    struct error error;   /* the thread's, until it is joined     */
    pthread_t thread;
};

/* Starts a thread that makes the device ready; for the host backend, does nothing. The caller calls
 * backend_wake_end. */
void backend_wake_begin(struct backend_wake *w, const struct backend_kind *kind, int device);

/* Waits until the device is ready; a second call returns the same. STATUS_OK for a zeroed *w.
 * Errors of `wake` in struct backend_kind. */
enum status backend_wake_wait(struct backend_wake *w, struct error *error);

/* Ends the thread after the step in which it is. Accepts a zeroed *w, and one that has been waited
 * for. */
void backend_wake_end(struct backend_wake *w);

/* Makes the device ready and waits for it; for the host backend, does nothing. Errors of `wake` in
 * struct backend_kind. */
enum status backend_wake_now(const struct backend_kind *kind, int device, struct error *error);

#endif
