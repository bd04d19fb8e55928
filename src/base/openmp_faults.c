#include "base/openmp_faults.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/last_words.h"

static struct error noted;

void openmp_faults_note(const char *format, ...)
{
    char text[sizeof noted.message];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_set(&noted, STATUS_INPUT, "%s", text);
}

enum status openmp_faults_check(struct error *error)
{
    if (noted.status == STATUS_OK)
        return STATUS_OK;
    return error_set(error, noted.status, "%s", noted.message);
}

/* The linker's names (ld --wrap) for libgomp's gomp_error, which it calls while it reads its
 * environment, and gomp_fatal, which does not return. */
void __wrap_gomp_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void __wrap_gomp_fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));

void __wrap_gomp_error(const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    openmp_faults_note("OpenMP: %s", text);
}

void __wrap_gomp_fatal(const char *format, ...)
{
    char text[256], all[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(all, sizeof all,
             "%s: fewer threads (-t), or higher limits (ulimit -v, -u), are needed", text);
    last_words("OpenMP", all);
    exit(STATUS_MEMORY);
}
