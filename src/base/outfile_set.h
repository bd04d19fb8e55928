/* Output files that belong together, STEM.SUFFIX each. New ones replace old ones together, and old
 * ones without a successor are taken away. A process that is killed at any time leaves all old
 * files or all new ones to readers that call outfile_set_find.
 *
 * The files' bytes go to the disk first, under temporary names. The log of the stem's lock
 * (struct stem_lock) then says what happens to the names:
 *
 *     files 3
 *     1f2e3d4c5b6a7980 old mode1.mat
 *     1f2e3d4c00000001 new lambda.mat
 *     1f2e3d4cf0f1f2f3 gone mode2.mat
 *     replace
 *
 * "files" is the number of text lines that follow, one for each file: the key of the hidden names
 * .blco-KEY (new contents) and .blco-KEY-old (old contents); "new" where there is no old file,
 * "old" where there is one, "gone" where there is an old file only, which is taken away; the
 * suffix. After the text line "replace" the new files count: files that still have their hidden
 * names are to be renamed, and files that are gone are to lose their names. After the text line
 * "back", which follows a failure, the old files count. In the end the log is emptied. The process
 * that takes the lock next finishes what a killed process has begun. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "base/outfile.h"

/* The lock on a stem, the common beginning of the names of files that belong together. The file
 * STEM.lock says which process writes these files, and has a log of what it does to them. */
struct stem_lock {
    int fd;      /* of the lock's file, or -1                            */
    char *stem;  /* NULL: not held; owned                                */
    char *path;  /* STEM.lock; owned                                     */
    size_t head; /* bytes of the file before the log                     */
    size_t used; /* bytes of the file                                    */
};

/* Ends the lock, and removes its file unless there is a log; accepts a lock that is not held. */
void stem_lock_release(struct stem_lock *l);

/* *log = the log of a stem, for a reader of its files; "" where there is no lock. The caller
 * frees *log, which is NULL on failure. STATUS_MEMORY. */
enum status stem_lock_read(const char *stem, char **log, struct error *error);

/* Takes the lock of the stem, until stem_lock_release() or the end of the process, finishes what a
 * killed process has begun, and removes the temporary files that killed processes have left. The
 * lock is one of flock(2): it holds among all processes of a host, and among hosts where the file
 * system carries it to the others (NFS and most parallel file systems do, unless they are mounted
 * with locks for one host). Where the file system has no locks at all, the existence of the file is
 * the lock. On failure *lock is empty. STATUS_OUTPUT, with the holder in the message;
 * STATUS_MEMORY. */
enum status outfile_set_lock(struct stem_lock *lock, const char *stem, struct error *error);

/* *f = an old file that outfile_set_replace takes away. The caller ends with outfile_discard; *f is
 * empty on failure. STATUS_MEMORY. */
enum status outfile_set_take_away(struct outfile *f, const char *path, struct error *error);

/* Gives `count` files of the lock's stem their final names, or takes them away; there is one at
 * least. On failure the old files have been put back. In any case the files are discarded.
 * STATUS_OUTPUT, STATUS_MEMORY. */
enum status outfile_set_replace(struct stem_lock *lock, struct outfile *files, int count,
                                struct error *error);

/* *path = the name of the file that counts as STEM.SUFFIX: this name, unless the log of a killed
 * process says otherwise; NULL where there is no such file, or the log says that there is none.
 * `log` is the stem's log (stem_lock_read). The caller frees *path. STATUS_MEMORY. */
enum status outfile_set_find(char **path, const char *log, const char *stem, const char *suffix,
                             struct error *error);
