/* What went wrong: a status, which is also the exit status, and one sentence for the user. */
#pragma once

#include <stdint.h>

enum status {
    STATUS_OK = 0,
    STATUS_INTERNAL = 1,    /* a fault in blco, or a library that failed         */
    STATUS_INPUT = 2,       /* the command line or an input file is wrong        */
    STATUS_MEMORY = 3,      /* host or device memory ran out                     */
    STATUS_NUMERICAL = 4,   /* a NaN or an infinity turned up in the computation */
    STATUS_OUTPUT = 5,      /* writing a result failed                           */
    STATUS_UNLIKE = 6,      /* models are less alike than the user asked for     */
    STATUS_UNCONVERGED = 7, /* a run had to converge, and did not                */
    STATUS_UNREAD = 141     /* nobody reads standard output any more: 128 + SIGPIPE */
};

struct error {
    enum status status;
    char message[1024]; /* no newline, no program name; empty if another process reports it */
};

/* Records the cause and returns the status that *error holds. Only the first call counts: the user
 * should read the deepest cause, so callers pass a failure on without rewording the message. */
enum status error_set(struct error *error, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts context ("iteration 3: ") before the message that *error holds; returns the status that
 * *error holds. */
enum status error_prefix(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts more ("; the model went to ...") after the message that *error holds; returns the status
 * that *error holds. */
enum status error_append(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same by one of several threads: takes over the failure *own of the calling thread, if it is
 * one. */
void error_take(struct error *error, const struct error *own);

/* The same where the failure that comes first in the work counts, whichever thread meets it: *own
 * is of item i, and *first, which begins as UINT64_MAX, is the item that *error is of. */
void error_take_first(struct error *error, uint64_t *first, uint64_t i, const struct error *own);

/* Ends the calling function where a call fails. The call has described the failure in the
 * function's parameter `error`, whose status is returned. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((call) != STATUS_OK)                                                                   \
            return error->status;                                                                  \
    } while (0)

/* The same where something must be freed first: goes to LABEL. */
#define TRY_OR(label, call)                                                                        \
    do {                                                                                           \
        if ((call) != STATUS_OK)                                                                   \
            goto label;                                                                            \
    } while (0)
