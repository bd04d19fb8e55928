#include "base/filemap.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/infile.h"
#include "base/last_words.h"

#define NAME_BYTES 1024

/* The map that is guarded. The handler reads it while a thread may change it: `begin`, which is 0
 * where there is none, is set first and cleared last, `end` the other way round. */
static struct {
    atomic_uintptr_t begin, end;
    char name[NAME_BYTES];
} guarded;

static int exit_status;
static struct sigaction before;

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    uintptr_t at = (uintptr_t)info->si_addr;
    if (at < atomic_load(&guarded.end) && at >= atomic_load(&guarded.begin)) {
        last_words(guarded.name, "became shorter while it was read, or its disk failed");
        _exit(exit_status);
    }
    sigaction(SIGBUS, &before, NULL); /* the access is made again, with the handler before */
}

void map_guard_install(const char *program, int status)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    last_words_begin(program);
    exit_status = status;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &before);
}

enum status filemap_open(struct filemap *f, const char *path, struct error *error)
{
    struct infile file;
    *f = (struct filemap){.bytes = ""};
    TRY(infile_open(&file, path, error));
    const size_t size = (size_t)file.size;
    void *bytes = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, file.fd, 0) : NULL;
    const int reason = errno;
    infile_close(&file);
    if (bytes == MAP_FAILED)
        return error_set(error, STATUS_INPUT, "%s: cannot be read: %s", path, strerror(reason));
    if (size == 0)
        return STATUS_OK;
    *f = (struct filemap){.bytes = bytes, .size = size};
    uintptr_t none = 0;
    if (!atomic_compare_exchange_strong(&guarded.begin, &none, (uintptr_t)bytes))
        return STATUS_OK;
    strncpy(guarded.name, path, NAME_BYTES - 1);
    atomic_store(&guarded.end, (uintptr_t)bytes + size);
    return STATUS_OK;
}

void filemap_let_go(const struct filemap *f, size_t begin, size_t end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    begin = begin / page * page; /* the last page is kept: the reader goes on in it */
    end = end / page * page;
    if (begin < end && end <= f->size)
        madvise((void *)(uintptr_t)(f->bytes + begin), end - begin, MADV_DONTNEED); /* a hint */
}

void filemap_close(struct filemap *f)
{
    const uintptr_t begin = (uintptr_t)f->bytes;
    if (atomic_load(&guarded.begin) == begin) {
        atomic_store(&guarded.end, 0);
        atomic_store(&guarded.begin, 0);
    }
    if (f->size > 0)
        munmap((void *)begin, f->size);
    *f = (struct filemap){.bytes = ""};
}
