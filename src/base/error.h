/* What went wrong: a status, which is also the program's exit code, and one sentence for the user.
 */
#ifndef BLCO_ERROR_H
#define BLCO_ERROR_H

enum status {
    STATUS_OK = 0,
    STATUS_INTERNAL = 1,  /* a bug of ours or a library that failed            */
    STATUS_INPUT = 2,     /* the command line or an input file is wrong        */
    STATUS_MEMORY = 3,    /* host or device memory ran out                     */
    STATUS_NUMERICAL = 4, /* a NaN or an infinity turned up in the computation */
    STATUS_OUTPUT = 5     /* writing a result failed                           */
};

struct error {
    enum status status;
    char message[1024]; /* no newline, no program name */
};

/* Records the cause and returns `status`. Only the first call counts: the deepest cause is the one
 * that the user should read, so callers pass a failure on without rewording it. */
enum status error_set(struct error *error, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts context ("iteration 3: ") before a message that is already there and returns its status. */
enum status error_prefix(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
