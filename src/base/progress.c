#include "base/progress.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

#define INTERVAL      0.1 /* seconds between two states of the text line */
#define FIRST_LINE    10  /* seconds                                     */
#define MOST_INTERVAL 600 /* seconds                                     */
#define DEFAULT_WIDTH 80
#define TEXT_ROOM     8192 /* bytes of a text line: two paths and some words */

/* Takes a terminal's cursor back to the beginning of the text line and clears the text line. */
#define WIPE "\r\033[K"

bool progress_rewrites(int fd)
{
    const char *kind = getenv("TERM");
    return isatty(fd) && kind && *kind && strcmp(kind, "dumb") != 0;
}

void progress_init(struct progress *p, FILE *stream, enum progress_kind kind)
{
    *p = (struct progress){.stream = stream, .stage_start = clock_now()};
    p->terminal = kind == PROGRESS_AUTO && stream && progress_rewrites(fileno(stream));
    p->lines = kind != PROGRESS_NEVER;
}

static bool is_quiet(const struct progress *p)
{
    return !p || !p->stream;
}

void progress_clear(struct progress *p)
{
    if (is_quiet(p) || !p->open)
        return;
    fputs(WIPE, p->stream);
    fflush(p->stream);
    p->open = false;
}

/* Shows the text on the terminal, cut to one text line, since WIPE clears no more. */
static void show(struct progress *p, const char *text)
{
    char shown[PRINTABLE_ROOM(1024)];
    struct winsize size;
    const bool known = ioctl(fileno(p->stream), TIOCGWINSZ, &size) == 0 && size.ws_col >= 2;
    const size_t width = known ? size.ws_col : DEFAULT_WIDTH;
    printable(text, shown, sizeof shown);
    fprintf(p->stream, WIPE "%.*s", (int)printable_cut(shown, width - 1), shown);
    fflush(p->stream);
    p->open = true;
}

void progress_stage(struct progress *p, const char *format, ...)
{
    if (is_quiet(p))
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(p->stage, sizeof p->stage, format, args);
    va_end(args);
    p->stage_start = clock_now();
    p->last_shown = 0;
    p->next_line = FIRST_LINE;
    p->interval = 2 * FIRST_LINE;
    p->skipped = 0;
    if (p->terminal)
        show(p, p->stage);
}

void progress_skip(struct progress *p, double fraction)
{
    if (!is_quiet(p))
        p->skipped = fraction;
}

/* left[0..size) = ", 3 s left", ", 4 min left" or ", 2.5 h left". */
static void describe_left(double seconds, char *left, size_t size)
{
    if (seconds < 100)
        snprintf(left, size, ", %.0f s left", seconds);
    else if (seconds < 6000)
        snprintf(left, size, ", %.0f min left", seconds / 60);
    else
        snprintf(left, size, ", %.1f h left", seconds / 3600);
}

/* Whether the state of the stage is to be shown now; if so, chooses the next time. */
static bool is_due(struct progress *p, double now)
{
    if (p->terminal) {
        bool due = now - p->last_shown >= INTERVAL;
        p->last_shown = due ? now : p->last_shown;
        return due;
    }
    if (!p->lines || now - p->stage_start < p->next_line)
        return false;
    while (p->next_line <= now - p->stage_start) {
        p->next_line += p->interval;
        p->interval = 2 * p->interval < MOST_INTERVAL ? 2 * p->interval : MOST_INTERVAL;
    }
    return true;
}

static void print_line(struct progress *p, const char *text)
{
    char shown[PRINTABLE_ROOM(TEXT_ROOM)];
    progress_clear(p);
    fprintf(p->stream, "%s\n", printable(text, shown, sizeof shown));
    fflush(p->stream);
}

/* Prints a text line that stays; the stage, where not empty, comes first. */
static void print_text_line(struct progress *p, const char *stage, const char *format, va_list args)
{
    char text[TEXT_ROOM];
    int used = snprintf(text, sizeof text, "%s%s", stage, stage[0] ? ": " : "");
    vsnprintf(text + used, sizeof text - (size_t)used, format, args);
    print_line(p, text);
}

void progress_update(struct progress *p, double fraction, const char *format, ...)
{
    double now = clock_now();
    if (is_quiet(p) || !is_due(p, now))
        return;
    char detail[256], text[1024], left[48] = "", percent[16] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    if (p->terminal && fraction > 0 && fraction <= 1)
        snprintf(percent, sizeof percent, ", %.0f %%", 100 * fraction);
    if (fraction > p->skipped && fraction <= 1)
        describe_left((now - p->stage_start) * (1 - fraction) / (fraction - p->skipped), left,
                      sizeof left);
    snprintf(text, sizeof text, "%s: %s%s%s", p->stage, detail, percent, left);
    if (p->terminal)
        show(p, text);
    else
        print_line(p, text);
}

void progress_done(struct progress *p, const char *format, ...)
{
    if (is_quiet(p))
        return;
    va_list args;
    va_start(args, format);
    print_text_line(p, p->stage, format, args);
    va_end(args);
    p->stage[0] = '\0';
}

void progress_note(struct progress *p, const char *format, ...)
{
    if (is_quiet(p))
        return;
    va_list args;
    va_start(args, format);
    print_text_line(p, "", format, args);
    va_end(args);
}
