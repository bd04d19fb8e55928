/* Fit, held-out error and time of each iteration of a run; in a run of more than FIT_TRACE_MOST
 * iterations, of every second, fourth, ... iteration. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define FIT_TRACE_MOST 65536 /* a power of two */

/* All zero is an empty trace. */
struct fit_trace {
    int first;             /* the number of the first iteration, from 1                        */
    uint64_t iterations;   /* that have ended since fit_trace_begin                            */
    uint64_t every;        /* the trace has the iterations first, first + every, ...           */
    size_t count, room;    /* iterations: in the trace, and for which there is room            */
    double *fit;           /* (count) after the iteration; owned                               */
    double *holdout_error; /* (count) the held-out error, 0 where nothing is held out; owned */
    double *seconds;       /* (count) from fit_trace_begin to the iteration's end; owned       */
    double start;          /* of fit_trace_begin, by clock_now                                 */
};

/* The functions from here to fit_trace_correct do nothing where `trace` is NULL. */

/* Forgets what the trace has; iteration `first` is the next. */
void fit_trace_begin(struct fit_trace *trace, int first);

/* Appends the fit and the held-out error of the iteration that has just ended. STATUS_MEMORY. */
enum status fit_trace_note(struct fit_trace *trace, double fit, double holdout_error,
                           struct error *error);

/* Corrects the fit of the last iteration. */
void fit_trace_correct(struct fit_trace *trace, double fit);

/* Exchanges two traces. */
void fit_trace_swap(struct fit_trace *a, struct fit_trace *b);

/* Accepts an empty one. */
void fit_trace_free(struct fit_trace *trace);
