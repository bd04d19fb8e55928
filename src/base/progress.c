#include "base/progress.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/printable.h"

#define INTERVAL      0.1 /* seconds between two states of the text line */
#define DEFAULT_WIDTH 80
#define TEXT_ROOM     8192 /* bytes of a text line: two paths and some words */

/* Takes a terminal's cursor back to the beginning of the text line and clears the text line. */
#define WIPE "\r\033[K"

void progress_init(struct progress *p, FILE *stream)
{
    *p = (struct progress){.stream = stream, .stage_start = clock_now()};
    p->terminal = stream && isatty(fileno(stream));
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

static size_t terminal_width(const struct progress *p)
{
    struct winsize size;
    if (ioctl(fileno(p->stream), TIOCGWINSZ, &size) != 0 || size.ws_col < 2)
        return DEFAULT_WIDTH;
    return size.ws_col;
}

/* Shows the text on the terminal, cut to one text line, since WIPE clears no more. */
static void show(struct progress *p, const char *text)
{
    char shown[PRINTABLE_ROOM(1024)];
    printable(text, shown, sizeof shown);
    fprintf(p->stream, WIPE "%.*s", (int)printable_cut(shown, terminal_width(p) - 1), shown);
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
    if (p->terminal)
        show(p, p->stage);
}

/* "3 s", "4 min", "2.5 h" */
static void describe_seconds(double seconds, char *text, size_t size)
{
    if (seconds < 100)
        snprintf(text, size, "%.0f s", seconds);
    else if (seconds < 6000)
        snprintf(text, size, "%.0f min", seconds / 60);
    else
        snprintf(text, size, "%.1f h", seconds / 3600);
}

void progress_update(struct progress *p, double fraction, const char *format, ...)
{
    if (is_quiet(p) || !p->terminal)
        return;
    double now = clock_now();
    if (now - p->last_shown < INTERVAL)
        return;
    p->last_shown = now;

    char detail[256], text[1024], left[32];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    if (fraction > 0 && fraction <= 1) {
        describe_seconds((now - p->stage_start) * (1 - fraction) / fraction, left, sizeof left);
        snprintf(text, sizeof text, "%s: %s, %.0f %%, %s left", p->stage, detail, 100 * fraction,
                 left);
    } else {
        snprintf(text, sizeof text, "%s: %s", p->stage, detail);
    }
    show(p, text);
}

/* Prints a text line that stays; the stage, where not empty, comes first. */
static void print_text_line(struct progress *p, const char *stage, const char *format, va_list args)
{
    char text[TEXT_ROOM], shown[PRINTABLE_ROOM(TEXT_ROOM)];
    int used = snprintf(text, sizeof text, "%s%s", stage, stage[0] ? ": " : "");
    vsnprintf(text + used, sizeof text - (size_t)used, format, args);
    progress_clear(p);
    fprintf(p->stream, "%s\n", printable(text, shown, sizeof shown));
    fflush(p->stream);
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
