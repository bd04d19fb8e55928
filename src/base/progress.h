/* What the user sees while it runs: on a terminal one line that shows stage and progress, rewritten
 * in place; otherwise a plain line per stage. A NULL progress, or a quiet one, shows nothing. */
#ifndef BLCO_PROGRESS_H
#define BLCO_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

struct progress {
    FILE *stream;
    bool terminal;      /* rewrite one line in place                  */
    double stage_start; /* seconds, clock_now                      */
    double last_shown;
    bool open; /* a line stands on the terminal, unfinished  */
    char stage[64];
};

/* `stream` NULL: quiet. */
void progress_init(struct progress *p, FILE *stream);

/* Begins a stage ("reading x.tns"). */
void progress_stage(struct progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* On a terminal: shows how far the stage is, at most ten times a second; elsewhere nothing.
 * `fraction` in [0, 1], negative where unknown: time left is derived from it. One thread only. */
void progress_update(struct progress *p, double fraction, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the stage with a line that stays. */
void progress_done(struct progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A line of its own that stays, within or outside a stage. */
void progress_note(struct progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Clears an unfinished line; called before anything else is printed. */
void progress_clear(struct progress *p);

#endif
