/* Shows progress to the user: on a terminal one text line with stage and progress, rewritten in
 * place; elsewhere one text line a stage. Control characters are shown as printable() shows them. A
 * NULL progress, or a quiet one, shows nothing. */
#ifndef BLCO_PROGRESS_H
#define BLCO_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

struct progress {
    FILE *stream;       /* NULL: quiet; borrowed                            */
    bool terminal;      /* rewrite one text line in place                   */
    double stage_start; /* seconds, clock_now                               */
    double last_shown;  /* seconds, clock_now, of the last progress_update  */
    bool open;          /* an unfinished text line stands on the terminal   */
    char stage[512];    /* name of the stage; empty outside a stage         */
};

/* Shows progress on `stream`, which the caller closes; NULL: quiet. */
void progress_init(struct progress *p, FILE *stream);

/* Begins a stage ("reading x.tns"). Name and arguments as for printf, here and below. */
void progress_stage(struct progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* On a terminal: shows how far the stage is, at most ten times a second; elsewhere nothing.
 * `fraction`, from which the time left is estimated, is in [0, 1], or negative where it is unknown.
 * One thread only. */
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

#endif
