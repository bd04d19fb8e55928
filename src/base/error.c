#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum status error_set(struct error *error, enum status status, const char *format, ...)
{
    TRY(error->status);
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    return error->status = status;
}

void error_take(struct error *error, const struct error *own)
{
    if (own->status != STATUS_OK)
#pragma omp critical(error)
        error_set(error, own->status, "%s", own->message);
}

void error_take_first(struct error *error, uint64_t *first, uint64_t i, const struct error *own)
{
    if (own->status == STATUS_OK)
        return;
#pragma omp critical(error)
    if (i < *first) {
        *first = i;
        *error = *own;
    }
}

enum status error_prefix(struct error *error, const char *format, ...)
{
    char cause[sizeof error->message];
    memcpy(cause, error->message, sizeof cause);

    va_list args;
    va_start(args, format);
    int length = vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);

    size_t used = length < 0 ? 0 : (size_t)length;
    if (used < sizeof error->message)
        snprintf(error->message + used, sizeof error->message - used, "%s", cause);
    return error->status;
}

enum status error_append(struct error *error, const char *format, ...)
{
    size_t used = strlen(error->message);
    va_list args;
    va_start(args, format);
    vsnprintf(error->message + used, sizeof error->message - used, format, args);
    va_end(args);
    return error->status;
}
