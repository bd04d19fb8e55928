/* Shows progress to the user: on a terminal one text line with stage and progress, rewritten in
 * place; elsewhere a text line at the end of each stage, and within a long stage one after 10
 * seconds and more at intervals that double, up to 10 minutes. Control characters are
 * shown as printable() shows them. A NULL progress, or a quiet one, shows nothing. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* How progress within a stage is shown: rewritten in place on a terminal that can do that, else as
 * text lines; always as text lines; not at all. */
enum progress_kind { PROGRESS_AUTO, PROGRESS_LINES, PROGRESS_NEVER };

struct progress {
    FILE *stream;       /* NULL: quiet; borrowed                            */
    bool terminal;      /* rewrite one text line in place                   */
    bool lines;         /* otherwise: show progress within a stage          */
    double stage_start; /* seconds, clock_now                               */
    double last_shown;  /* seconds, clock_now, of the last progress_update  */
    double next_line;   /* seconds from stage_start to the next text line   */
    double interval;    /* seconds from that one to the one that follows    */
    double skipped;     /* the fraction of the stage that was done before   */
    bool open;          /* the terminal shows an unfinished text line       */
    char stage[512];    /* name of the stage; empty outside a stage         */
};

/* Whether the stream of this descriptor is a terminal on which a text line can be rewritten: not
 * where TERM is dumb or not set. */
bool progress_rewrites(int fd);

/* Shows progress on `stream`, which the caller closes; NULL: quiet. */
void progress_init(struct progress *p, FILE *stream, enum progress_kind kind);

/* Begins a stage ("reading x.tns"). Name and arguments as for printf, here and below. */
void progress_stage(struct progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The stage goes on where an earlier run has stopped: `fraction` of it, in [0, 1], took no time. */
void progress_skip(struct progress *p, double fraction);

/* Shows how far the stage is: on a terminal at most ten times a second, elsewhere as the top of
 * this file says. `fraction`, from which the time left is estimated, is in [0, 1], or negative
 * where it is unknown. One thread only. */
void progress_update(struct progress *p, double fraction, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the stage with a text line that stays. */
void progress_done(struct progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints a text line that stays, within or outside a stage. */
void progress_note(struct progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Clears an unfinished text line; to be called before anything else is printed. */
void progress_clear(struct progress *p);
