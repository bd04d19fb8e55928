#include "base/threads.h"

#include <dlfcn.h>
#include <malloc.h>
#include <omp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/last_words.h"
#include "base/memory.h"
#include "base/number.h"

/* --- What libgomp finds wrong. On its own it prints, and ends the program with exit status 1 where
 * a thread cannot be started. Where libgomp is a part of the program (the Makefile), the linker
 * leads its calls here instead. --- */

static struct error noted; /* what is wrong with a variable of the environment */

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
    error_set(&noted, STATUS_INPUT, "OpenMP: %s", text);
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

/* --- The threads of this process. --- */

/* Turns of libgomp's waiting loop, of about 20 ns to 50 ns each (libgomp's manual,
 * "GOMP_SPINCOUNT"): 300000 by default. With 1000, threads sleep while one of them
 * solves for R = 40, and iterations of 0.4 ms take longer. */
#define TURNS "3000"

#define MOST_THREADS 1000000
#define LEAST_STACK  (200 * 1024) /* bytes: with 64 kB some commands crash */

/* Whether the text is a list of numbers from 1, as of nested teams. */
static bool is_list_of_threads(const char *text)
{
    const char *end = text + strlen(text);
    uint64_t number = 0;
    for (;; text++) {
        text = number_parse_unsigned(text, end, &number);
        if (!text || number < 1 || number > MOST_THREADS)
            return false;
        if (text == end)
            return true;
        if (*text != ',')
            return false;
    }
}

/* libgomp reads its environment before main, but after constructors of this priority: the Makefile
 * links libgomp into the program. */
__attribute__((constructor(101))) static void prepare_environment(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    if (!getenv("OMP_WAIT_POLICY"))
        setenv("GOMP_SPINCOUNT", TURNS, 0);
    if (!text || is_list_of_threads(text))
        return;
    if (*text) /* an empty one is none, as a batch script may leave one */
        error_set(&noted, STATUS_INPUT,
                  "OMP_NUM_THREADS=%s: expected a number of threads from 1 to %d", text,
                  MOST_THREADS);
    unsetenv("OMP_NUM_THREADS");
}

static void *wait_at(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* Starts as many threads as OpenMP will start, and ends them. */
static enum status try_threads(int count, struct error *error)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    int started = 0, code = 0;
    pthread_t *thread = memory_array((size_t)count, sizeof *thread, error);
    TRY(error->status);
    pthread_mutex_lock(&gate);
    while (started < count && (code = pthread_create(&thread[started], NULL, wait_at, &gate)) == 0)
        started++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    memory_free(thread);
    if (code)
        error_set(error, STATUS_MEMORY,
                  "%d threads cannot be started (%s): fewer (-t), or higher limits (ulimit -v, -u) "
                  "are needed",
                  count + 1, strerror(code));
    return error->status;
}

/* Bytes of the stack of this thread; for the first thread, the most that it may have. */
static size_t stack_size(void)
{
    pthread_attr_t attributes;
    size_t bytes = SIZE_MAX;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &bytes);
        pthread_attr_destroy(&attributes);
    }
    return bytes;
}

static enum status check_stack(size_t bytes, struct error *error)
{
    if (bytes >= LEAST_STACK)
        return STATUS_OK;
    return error_set(error, STATUS_MEMORY,
                     "a thread has a stack of %zu kB, expected %d kB or more (ulimit -s, "
                     "OMP_STACKSIZE)",
                     bytes / 1024, LEAST_STACK / 1024);
}

enum status threads_check_first(struct error *error)
{
    return check_stack(stack_size(), error);
}

/* glibc loads libgcc_s when the first thread ends, and aborts where it cannot. */
enum status threads_can_end(struct error *error)
{
#ifdef __GLIBC__
    if (!dlopen("libgcc_s.so.1", RTLD_NOW))
        return error_set(error, STATUS_MEMORY, "no thread can be started: %s", dlerror());
#endif
    return error->status;
}

enum status threads_start(struct error *error)
{
    int others = omp_get_max_threads() - 1;
    if (noted.status != STATUS_OK)
        return error_set(error, noted.status, "%s", noted.message);
    if (others > 0)
        TRY(threads_can_end(error));
#ifdef __GLIBC__
    /* malloc reserves 64 MiB of addresses for each thread, which count where they are limited. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        mallopt(M_ARENA_MAX, 1);
#endif
    TRY(try_threads(others, error));
    size_t least = SIZE_MAX;
#pragma omp parallel reduction(min : least) /* OpenMP's threads stay */
    least = stack_size();
    return check_stack(least, error);
}
