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

void last_words(const char *about, const char *text)
{
    const char *parts[] = {rewrites ? "\r\x1b[K" : "", program_name, ": ", about, ": ", text};
    char line[1536];
    size_t used = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const size_t length = strlen(parts[i]), room = sizeof line - 1 - used; /* and the newline */
        memcpy(line + used, parts[i], length < room ? length : room);
        used += length < room ? length : room;
    }
    line[used++] = '\n';
    if (write(STDERR_FILENO, line, used) < 0)
        return; /* nobody is left to be told */
}
