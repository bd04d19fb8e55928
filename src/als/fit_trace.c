#include "als/fit_trace.h"

#include "base/clock.h"
#include "base/memory.h"

#define FIRST_ROOM 64

void fit_trace_begin(struct fit_trace *trace, int first)
{
    if (!trace)
        return;
    trace->first = first;
    trace->count = 0;
    trace->start = clock_now();
}

static enum status make_room(struct fit_trace *trace, struct error *error)
{
    size_t room = trace->room ? 2 * trace->room : FIRST_ROOM;
    if (memory_resize(&trace->fit, room, sizeof *trace->fit, error) == STATUS_OK &&
        memory_resize(&trace->seconds, room, sizeof *trace->seconds, error) == STATUS_OK)
        trace->room = room;
    return error->status;
}

enum status fit_trace_note(struct fit_trace *trace, double fit, struct error *error)
{
    if (!trace || (trace->count == trace->room && make_room(trace, error) != STATUS_OK))
        return error->status;
    trace->fit[trace->count] = fit;
    trace->seconds[trace->count++] = clock_now() - trace->start;
    return STATUS_OK;
}

void fit_trace_correct(struct fit_trace *trace, double fit)
{
    if (trace && trace->count > 0)
        trace->fit[trace->count - 1] = fit;
}

void fit_trace_free(struct fit_trace *trace)
{
    memory_free(trace->fit);
    memory_free(trace->seconds);
    *trace = (struct fit_trace){0};
}
