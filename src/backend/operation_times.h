/* How long the operations of a backend take. An operation is timed by the host's clock where it is
 * done when its call returns, otherwise between two events in the backend's queue. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "tensor/shape.h"

/* The operations whose time is booked. */
enum operation {
    OP_OPEN,
    OP_LOAD,
    OP_MTTKRP,
    OP_UPDATE,
    OP_FIT,
    OP_RESIDUAL,
    OP_COMPONENTS,
    OP_STORE,
    OP_COUNT
};

/* The operation's name as records and summaries print it ("mttkrp"). */
const char *operation_name(enum operation op);

/* Whether an iteration does the operation once for each mode. */
bool operation_has_modes(enum operation op);

/* The times booked. Operations without a mode use [0]. */
struct operation_times {
    double seconds[OP_COUNT][MAX_ORDER];
    uint64_t calls[OP_COUNT][MAX_ORDER];
};

#define OPERATION_EVENTS 128

/* A queue that runs operations after their calls have returned, and CUDA's events in it, which are
 * numbered from 0 to OPERATION_EVENTS - 1. */
struct event_ops {
    /* Puts the event at the end of the queue. */
    enum status (*record)(void *queue, int event, struct error *error);

    /* Waits until the queue has passed event `to`; *seconds = the time since it passed `from`. */
    enum status (*elapsed)(void *queue, int from, int to, double *seconds, struct error *error);
};

/* Times the operations of one backend. */
struct operation_clock {
    struct operation_times times;
    const struct event_ops *events; /* NULL where every operation is done when its call returns */
    void *queue;
    double start;   /* of the operation that is called              */
    double *sample; /* where the next times are also written, or NULL */
    int queued;     /* operations after event 0 that are not booked */
    struct {
        enum operation op;
        int mode;
    } operation[OPERATION_EVENTS]; /* [i]: between the events i - 1 and i */
};

/* To be called before and after each operation that succeeds. `end` books it at once or, if it is
 * queued, later: after a fit, which waits for the queue in any case; before a load, a residual and
 * the operations listed after it, which are done when their calls return; or when no event is
 * left. Errors of struct event_ops. */
enum status operation_begin(struct operation_clock *c, enum operation op, struct error *error);
enum status operation_end(struct operation_clock *c, enum operation op, int mode,
                          struct error *error);

/* In place of operation_end, for work that belongs to an operation before it: adds the time since
 * operation_begin to that operation. Work in a queue counts for the operation that follows. */
void operation_add(struct operation_clock *c, enum operation op, int mode);

/* Waits for the queue, books what is in it, and puts event 0 at its end. */
enum status operation_wait(struct operation_clock *c, struct error *error);
