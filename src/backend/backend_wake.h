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
    atomic_bool unwanted; /* nobody waits for the device any more */
    struct error error;   /* the thread's, until it is joined     */
    pthread_t thread;
};

/* A thread begins to make the device ready. Where the host is the machine there is nothing to make
 * ready, and no thread. The caller calls backend_wake_end. */
void backend_wake_begin(struct backend_wake *w, const struct backend_kind *kind, int device);

/* Waits until the device is ready; called again, it has the same outcome. STATUS_OK of a zeroed *w.
 * Errors of `wake` in struct backend_kind. */
enum status backend_wake_wait(struct backend_wake *w, struct error *error);

/* Ends the thread, which finishes at most the step that it is at. Accepts a zeroed *w, and one that
 * has been waited for. */
void backend_wake_end(struct backend_wake *w);

/* Makes the device ready and waits for it. STATUS_OK where the host is the machine. Errors of
 * `wake` in struct backend_kind. */
enum status backend_wake_now(const struct backend_kind *kind, int device, struct error *error);

#endif
