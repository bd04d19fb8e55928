#include "base/last_words.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"

static char program_name[64] = "blco";
static bool rewrites; /* standard error may have a text line of progress */

void last_words_begin(const char *program)
{
    strncpy(program_name, program, sizeof program_name - 1);
    rewrites = progress_rewrites(STDERR_FILENO);
}

/* Appends as much as fits, and leaves room for the newline. */
static void append(char *line, size_t size, size_t *used, const char *more)
{
    size_t length = strlen(more), room = size - 1 - *used;
    length = length < room ? length : room;
    memcpy(line + *used, more, length);
    *used += length;
}

void last_words(const char *about, const char *text)
{
    const char *parts[] = {rewrites ? "\r\x1b[K" : "", program_name, ": ", about, ": ", text};
    char line[1536];
    size_t used = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        append(line, sizeof line, &used, parts[i]);
    line[used++] = '\n';
    if (write(STDERR_FILENO, line, used) < 0)
        return; /* nobody is left to be told */
}
