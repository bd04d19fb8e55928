/* The lock on a stem, the common beginning of the names of files that belong together. The file
 * STEM.lock says which process writes these files, and has a log of what it does to them. */
#ifndef BLCO_STEM_LOCK_H
#define BLCO_STEM_LOCK_H

#include <stddef.h>

#include "base/error.h"

struct stem_lock {
    int fd;      /* of the lock's file, or -1                            */
    char *stem;  /* NULL: not held; owned                                */
    char *path;  /* STEM.lock; owned                                     */
    size_t head; /* bytes of the file before the log                     */
    size_t used; /* bytes of the file                                    */
};

/* Takes the lock, until stem_lock_release() or the end of the process. The lock is one of flock(2):
 * it holds among all processes of a host, and among hosts where the file system carries it to the
 * others (NFS and most parallel file systems do, unless they are mounted with locks for one host).
 * Where the file system has no locks at all, the existence of the file is the lock. *log receives
 * the log that an earlier holder has left, which the caller frees with memory_free(); the log is
 * kept until stem_lock_clear(). On failure *l is empty and *log NULL. STATUS_OUTPUT, with the
 * holder in the message; STATUS_MEMORY. */
enum status stem_lock_take(struct stem_lock *l, const char *stem, char **log, struct error *error);

/* Appends `text` to the log, down to the disk. STATUS_OUTPUT. */
enum status stem_lock_append(struct stem_lock *l, const char *text, struct error *error);

/* Empties the log, and names this process in the lock's file. STATUS_OUTPUT. */
enum status stem_lock_clear(struct stem_lock *l, struct error *error);

/* Ends the lock, and removes its file unless there is a log; accepts a lock that is not held. */
void stem_lock_release(struct stem_lock *l);

/* *log = the log of a stem, for a reader of its files; "" where there is no lock. The caller
 * frees *log, which is NULL on failure. STATUS_MEMORY. */
enum status stem_lock_read(const char *stem, char **log, struct error *error);

#endif
