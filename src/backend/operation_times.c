#include "backend/operation_times.h"

#include "base/clock.h"

const char *operation_name(enum operation op)
{
    static const char *const names[OP_COUNT] = {"open", "load",     "mttkrp",     "update",
                                                "fit",  "residual", "components", "store"};
    return names[op];
}

bool operation_has_modes(enum operation op)
{
    return op == OP_MTTKRP || op == OP_UPDATE;
}

/* Whether the operation is done when its call returns, queue or not. */
static bool ends_with_call(const struct operation_clock *c, enum operation op)
{
    return !c->events || op == OP_LOAD || op >= OP_RESIDUAL;
}

static void book(struct operation_clock *c, enum operation op, int mode, double seconds)
{
    c->times.seconds[op][mode] += seconds;
    c->times.calls[op][mode]++;
    if (c->sample)
        *c->sample++ = seconds;
}

enum status operation_wait(struct operation_clock *c, struct error *error)
{
    const int queued = c->queued;
    c->queued = 0;
    if (!c->events)
        return STATUS_OK;
    for (int i = 1; i <= queued; i++) {
        double seconds;
        TRY(c->events->elapsed(c->queue, i - 1, i, &seconds, error));
        book(c, c->operation[i].op, c->operation[i].mode, seconds);
    }
    return c->events->record(c->queue, 0, error);
}

enum status operation_begin(struct operation_clock *c, enum operation op, struct error *error)
{
    if (ends_with_call(c, op) && c->queued > 0)
        TRY(operation_wait(c, error));
    c->start = clock_now();
    return STATUS_OK;
}

enum status operation_end(struct operation_clock *c, enum operation op, int mode,
                          struct error *error)
{
    if (ends_with_call(c, op)) {
        book(c, op, mode, clock_now() - c->start);
        return operation_wait(c, error);
    }
    TRY(c->events->record(c->queue, c->queued + 1, error));
    c->queued++;
    c->operation[c->queued].op = op;
    c->operation[c->queued].mode = mode;
    if (op == OP_FIT || c->queued == OPERATION_EVENTS - 1)
        return operation_wait(c, error);
    return STATUS_OK;
}

void operation_add(struct operation_clock *c, enum operation op, int mode)
{
    if (!c->events)
        c->times.seconds[op][mode] += clock_now() - c->start;
}
