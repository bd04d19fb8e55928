#include "base/memory.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/number.h"

#define ALIGNMENT 64
#define PAGE      4096
#define COPIED    ((size_t)1 << 20) /* bytes that a thread copies at a time */
#define RETURNED  (1 << 20) /* bytes of an array that the system gets back when it is freed */

/* Arrays from this size on ask for huge pages: a first touch then costs a third as much, and
 * scattered access misses the translation buffers less. */
#define HUGE_ARRAY ((size_t)16 << 20)
#define HUGE_PAGE  ((size_t)2 << 20)

static atomic_long hook_countdown = -1;
static atomic_int hook_fired;

void memory_hook_set(long k)
{
    atomic_store(&hook_fired, 0);
    atomic_store(&hook_countdown, k);
}

int memory_hook_fired(void)
{
    return atomic_load(&hook_fired);
}

int memory_hook_fails(void)
{
    if (atomic_load_explicit(&hook_countdown, memory_order_relaxed) < 0)
        return 0;
    if (atomic_fetch_sub(&hook_countdown, 1) != 0)
        return 0;
    atomic_store(&hook_fired, 1);
    return 1;
}

/* The array's size in bytes, a multiple of the alignment, or 0 where it overflows. */
static size_t byte_size(size_t count, size_t size, size_t alignment)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - 2 * HUGE_PAGE)
        return 0;
    size_t rounded = (bytes + alignment - 1) & ~(alignment - 1);
    return rounded ? rounded : alignment;
}

static enum status out_of_memory(size_t count, size_t size, struct error *error)
{
    return error_set(error, STATUS_MEMORY,
                     "out of memory: an array of %zu elements of %zu bytes (%s) is too large",
                     count, size, NUMBER_SIZE(number_whole((double)count * (double)size)));
}

static void *aligned_array(size_t count, size_t size, size_t alignment, struct error *error)
{
    size_t bytes = byte_size(count, size, alignment);
    const bool huge = bytes >= HUGE_ARRAY;
    if (huge)
        bytes = (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    void *array =
        bytes && !memory_hook_fails() ? aligned_alloc(huge ? HUGE_PAGE : alignment, bytes) : NULL;
    if (!array)
        out_of_memory(count, size, error);
    else if (huge)
        madvise(array, bytes, MADV_HUGEPAGE); /* a hint; may be refused */
    return array;
}

void *memory_array(size_t count, size_t size, struct error *error)
{
    return aligned_array(count, size, ALIGNMENT, error);
}

void *memory_pages(size_t bytes, struct error *error)
{
    return aligned_array(bytes, 1, PAGE, error);
}

void *memory_zeros(size_t count, size_t size, struct error *error)
{
    char *array = memory_array(count, size, error);
    const size_t bytes = count * size;
    if (!array)
        return NULL;
#pragma omp parallel for schedule(static) if (bytes >= HUGE_ARRAY)
    for (size_t first = 0; first < bytes; first += HUGE_PAGE)
        memset(array + first, 0, bytes - first < HUGE_PAGE ? bytes - first : HUGE_PAGE);
    return array;
}

/* The bytes of an array that has asked for huge pages, at least, where the C library tells; else 0.
 */
static size_t huge_bytes(void *array)
{
    size_t bytes = 0;
#ifdef __GLIBC__
    bytes = array ? malloc_usable_size(array) : 0;
#endif
    return bytes >= HUGE_ARRAY && (uintptr_t)array % HUGE_PAGE == 0 ? bytes : 0;
}

enum status memory_resize(void *array, size_t count, size_t size, struct error *error)
{
    void *old, *resized;
    memcpy(&old, array, sizeof old);
    const size_t bytes = byte_size(count, size, ALIGNMENT), huge = huge_bytes(old);
    /* of an array that is partly in huge pages the system moves no page, and realloc copies it with
     * one thread; one that has grown is in small pages, and moves */
    const bool copies = huge > 0 && bytes > huge;
    if (!bytes || memory_hook_fails())
        return out_of_memory(count, size, error);
    resized = copies ? aligned_alloc(ALIGNMENT, bytes) : realloc(old, bytes);
    if (!resized)
        return out_of_memory(count, size, error);
    if (copies) {
        memory_copy(resized, old, huge);
        free(old);
    }
    memcpy(array, &resized, sizeof resized);
    return STATUS_OK;
}

char *memory_text(struct error *error, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    size_t size = length < 0 ? 1 : (size_t)length + 1;
    char *text = memory_array(size, 1, error);
    if (text) {
        text[0] = '\0';
        vsnprintf(text, size, format, again);
    }
    va_end(again);
    return text;
}

void memory_free_all(void *const *array, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(array[i]);
}

void memory_return_freed(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, RETURNED); /* left alone, the threshold rises to 32 MiB */
#endif
}

void memory_give_back(void)
{
#ifdef __GLIBC__
    malloc_trim(0); /* other allocators have no such call, and keep less */
#endif
}

void memory_copy(void *to, const void *from, size_t bytes)
{
    const size_t parts = (bytes + COPIED - 1) / COPIED;
#pragma omp parallel for schedule(static) if (parts > 1)
    for (size_t p = 0; p < parts; p++) {
        size_t first = p * COPIED, length = bytes - first < COPIED ? bytes - first : COPIED;
        memcpy((char *)to + first, (const char *)from + first, length);
    }
}

void memory_copy_uncached(double *to, const double *from, size_t count)
{
    size_t i = 0;
#ifdef __SSE2__
    for (; i < count && (uintptr_t)(to + i) % sizeof(__m128d) != 0; i++)
        to[i] = from[i];
    for (; i + 2 <= count; i += 2)
        _mm_stream_pd(to + i, _mm_loadu_pd(from + i));
#endif
    memcpy(to + i, from + i, (count - i) * sizeof *to);
}

void memory_uncached_end(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}
