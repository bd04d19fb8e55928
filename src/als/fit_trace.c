#include "als/fit_trace.h"

#include <stdbool.h>

#include "base/clock.h"
#include "base/memory.h"

#define FIRST_ROOM 64

void fit_trace_begin(struct fit_trace *trace, int first)
{
    if (!trace)
        return;
    trace->first = first;
    trace->iterations = 0;
    trace->every = 1;
    trace->count = 0;
    trace->start = clock_now();
}

enum status fit_trace_note(struct fit_trace *trace, double fit, double holdout_error,
                           struct error *error)
{
    if (!trace)
        return STATUS_OK;
    if (trace->iterations++ % trace->every != 0)
        return STATUS_OK;
    if (trace->count == FIT_TRACE_MOST) { /* every other one stays, and this one after them */
        trace->count /= 2;
        trace->every *= 2;
        for (size_t i = 1; i < trace->count; i++) {
            trace->fit[i] = trace->fit[2 * i];
            trace->holdout_error[i] = trace->holdout_error[2 * i];
            trace->seconds[i] = trace->seconds[2 * i];
        }
    }
    if (trace->count == trace->room) {
        const size_t room = trace->room ? 2 * trace->room : FIRST_ROOM;
        TRY(memory_resize(&trace->fit, room, sizeof *trace->fit, error));
        TRY(memory_resize(&trace->holdout_error, room, sizeof *trace->holdout_error, error));
        TRY(memory_resize(&trace->seconds, room, sizeof *trace->seconds, error));
        trace->room = room;
    }
    trace->fit[trace->count] = fit;
    trace->holdout_error[trace->count] = holdout_error;
    trace->seconds[trace->count++] = clock_now() - trace->start;
    return STATUS_OK;
}

void fit_trace_correct(struct fit_trace *trace, double fit)
{
    bool noted =
        trace && trace->count > 0 && trace->iterations - 1 == (trace->count - 1) * trace->every;
    if (noted)
        trace->fit[trace->count - 1] = fit;
}

void fit_trace_swap(struct fit_trace *a, struct fit_trace *b)
{
    const struct fit_trace of_a = *a;
    *a = *b;
    *b = of_a;
}

void fit_trace_free(struct fit_trace *trace)
{
    memory_free(trace->fit, trace->holdout_error, trace->seconds);
    *trace = (struct fit_trace){0};
}
