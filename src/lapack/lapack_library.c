#include "lapack/lapack_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/number.h"
#include "base/shared_library.h"

/* Bytes: the libraries take about 50 MiB of address space and OpenBLAS's work buffer takes 128 MiB;
 * the rest is room to spare. */
#define ROOM ((size_t)256 << 20)

/* The smallest systems are solved without the work buffer. */
#define FIRST_SYSTEM 64

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t caller = PTHREAD_MUTEX_INITIALIZER;
static struct lapack_library library;
static struct error failure;

static void *open_library(const char *name, int flags, struct error *error)
{
    void *handle = dlopen(name, RTLD_NOW | flags);
    if (!handle)
        error_set(error, STATUS_INTERNAL, "LAPACK cannot be loaded: %s", dlerror());
    return handle;
}

/* OpenBLAS is loaded first, so that its functions are taken and not those of another BLAS that
 * LAPACK may have been linked with. Upstream's OpenBLAS contains LAPACKE; Debian's does not. */
static void load(void)
{
    static double unit[FIRST_SYSTEM * FIRST_SYSTEM];
    const struct library_function functions[] = {
        {&library.dpotrf, "LAPACKE_dpotrf"},
        {&library.dpocon_work, "LAPACKE_dpocon_work"},
        {&library.dtrtri, "LAPACKE_dtrtri"},
        {&library.dsyevd_work, "LAPACKE_dsyevd_work"},
    };
    /* OpenBLAS asks for ever for memory that it does not get, so this is tried before. */
    void *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) {
        error_set(&failure, STATUS_MEMORY,
                  "out of memory: OpenBLAS needs %s of address space (see ulimit -v)",
                  NUMBER_SIZE(ROOM));
        return;
    }
    munmap(room, ROOM);
    setenv("OPENBLAS_NUM_THREADS", "1", 1); /* read while OpenBLAS is loaded */
    void *lapacke = open_library("libopenblas.so.0", RTLD_GLOBAL, &failure);
    if (lapacke && !dlsym(lapacke, "LAPACKE_dpotrf"))
        lapacke = open_library("liblapacke.so.3", RTLD_LOCAL, &failure);
    if (!lapacke)
        return;
    const char *missing =
        shared_library_bind(lapacke, functions, sizeof functions / sizeof *functions);
    if (missing) {
        error_set(&failure, STATUS_INTERNAL, "LAPACKE has no %s", missing);
        return;
    }
    /* Makes OpenBLAS take its work buffer now, while there is memory for it. */
    for (int i = 0; i < FIRST_SYSTEM; i++)
        unit[i * FIRST_SYSTEM + i] = 1.0;
    if (library.dpotrf(LAPACK_COL_MAJOR, 'L', FIRST_SYSTEM, unit, FIRST_SYSTEM) != 0)
        error_set(&failure, STATUS_INTERNAL, "LAPACK does not factorise the unit matrix");
}

const struct lapack_library *lapack_library(struct error *error)
{
    pthread_once(&once, load);
    if (failure.status == STATUS_OK)
        return &library;
    error_set(error, failure.status, "%s", failure.message);
    return NULL;
}

void lapack_library_enter(void)
{
    pthread_mutex_lock(&caller);
}

void lapack_library_leave(void)
{
    pthread_mutex_unlock(&caller);
}
