/* Failing file systems, for the tests of output files. Include it after cmocka.h, in one source
 * file of a program. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/outfile.h"
#include "support/scratch.h"

/* The functions below replace those of the C library, so that a test can make any call fail or
 * kill the process before it. */
#define PLENTY 1000000000 /* more than any test does */

static int no_unnamed_files; /* as on NFS                                              */
static int no_naming;        /* unnamed files that cannot be given a name              */
static int no_hard_links;    /* as on FAT                                              */
static int no_fsync;
static int no_locks;                    /* as on NFS without its lock service              */
static int kill_at = -1;                /* the process is killed before the call after so many */
static int renames_left = PLENTY;       /* the one after these fails                           */
static atomic_int writes_left = PLENTY; /* the disk is full after these pwrites                */

static void count_call(void)
{
    if (kill_at >= 0 && kill_at-- == 0)
        kill(getpid(), SIGKILL);
}

int open(const char *path, int flags, ...)
{
    count_call();
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (no_unnamed_files && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int linkat(int from, const char *path, int to, const char *name, int flags)
{
    count_call();
    if (no_naming) {
        errno = EXDEV;
        return -1;
    }
    return (int)syscall(SYS_linkat, from, path, to, name, flags);
}

int link(const char *path, const char *name)
{
    count_call();
    if (no_hard_links) {
        errno = EPERM;
        return -1;
    }
    return (int)syscall(SYS_linkat, AT_FDCWD, path, AT_FDCWD, name, 0);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    count_call();
    if (writes_left-- == 0) {
        errno = ENOSPC;
        return -1;
    }
    return (ssize_t)syscall(SYS_pwrite64, fd, bytes, size, offset);
}

int fsync(int fd)
{
    count_call();
    if (no_fsync) {
        errno = EIO;
        return -1;
    }
    return fcntl(fd, F_GETFD) < 0 ? -1 : 0; /* no test pulls the plug, and the disk may be busy */
}

int rename(const char *from, const char *to)
{
    count_call();
    if (renames_left-- == 0) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path)
{
    count_call();
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int ftruncate(int fd, off_t size)
{
    count_call();
    return (int)syscall(SYS_ftruncate, fd, size);
}

int flock(int fd, int operation)
{
    count_call();
    if (no_locks) {
        errno = ENOLCK;
        return -1;
    }
    return (int)syscall(SYS_flock, fd, operation);
}

/* cmocka setup of one test: a file system without faults. */
static inline int set_up(void **state)
{
    no_unnamed_files = no_naming = no_hard_links = no_fsync = no_locks = 0;
    kill_at = -1;
    renames_left = PLENTY;
    writes_left = PLENTY;
    signal(SIGXFSZ, SIG_IGN);
    return scratch_make(state);
}

static inline void assert_content(const char *name, const char *expected)
{
    char bytes[256];
    assert_int_equal(scratch_read(scratch_path(name), bytes, sizeof bytes), strlen(expected));
    assert_string_equal(bytes, expected);
}

/* Writes the text to an outfile and commits it. */
static inline enum status write_file(const char *path, const char *text, struct error *error)
{
    struct outfile f;
    TRY(outfile_open(&f, path, error));
    if (outfile_write(&f, text, strlen(text), error) != STATUS_OK) {
        outfile_discard(&f);
        return error->status;
    }
    return outfile_commit(&f, error);
}

/* Sets the next kind of file system: with unnamed files, with unnamed files that cannot be named,
 * without unnamed files; 0 after the last. */
static inline int next_file_system(void)
{
    if (!no_unnamed_files && !no_naming)
        return no_naming = 1;
    if (no_naming) {
        no_naming = 0;
        return no_unnamed_files = 1;
    }
    return no_unnamed_files = 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, scratch_remove)
