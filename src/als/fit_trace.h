/* The fit after each iteration of a run, and when. */
#ifndef BLCO_FIT_TRACE_H
#define BLCO_FIT_TRACE_H

#include <stddef.h>

#include "base/error.h"

/* All zero is an empty trace. */
struct fit_trace {
    int first;          /* the number of the first iteration, from 1                       */
    size_t count, room; /* iterations: noted, and for which there is room                  */
    double *fit;        /* (count) after each iteration; owned                             */
    double *seconds;    /* (count) from fit_trace_begin to the iteration's end; owned      */
    double start;       /* of fit_trace_begin, by clock_now                                */
};

/* The functions from here to fit_trace_correct do nothing where `trace` is NULL. */

/* Forgets what the trace has; iteration `first` is the next. */
void fit_trace_begin(struct fit_trace *trace, int first);

/* Notes the fit of the iteration that has ended. STATUS_MEMORY. */
enum status fit_trace_note(struct fit_trace *trace, double fit, struct error *error);

/* The fit of the last iteration turned out to be this. */
void fit_trace_correct(struct fit_trace *trace, double fit);

/* Accepts an empty one. */
void fit_trace_free(struct fit_trace *trace);

#endif
