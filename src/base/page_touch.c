#include "base/page_touch.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define PIECE     ((size_t)16 << 20) /* bytes that a thread takes at a time             */
#define LEAST     ((size_t)64 << 20) /* bytes that are worth threads                    */
#define PIECE_NOW ((size_t)2 << 20)  /* a huge page, which no two threads clear ...     */
#define LEAST_NOW ((size_t)4 << 20)  /* ... where these bytes are worth OpenMP's threads */

/* A piece ends where its size divides the address. */
static size_t pieces_of(const struct page_touch_array *a, size_t piece)
{
    return ((uintptr_t)a->first % piece + a->bytes + piece - 1) / piece;
}

static size_t bytes_of(const struct page_touch *p)
{
    size_t bytes = 0;
    for (int k = 0; k < p->arrays; k++)
        bytes += p->array[k].bytes;
    return bytes;
}

/* Writes to one page after the other. A thread that maps memory meanwhile, as the driver does when
 * it loads a kernel, then waits for one page at most; for madvise(MADV_POPULATE_WRITE) it would
 * wait until the whole piece is filled. */
static void *touch_pieces(void *pages)
{
    struct page_touch *p = pages;
    const size_t piece = p->piece, page = (size_t)sysconf(_SC_PAGESIZE);
    while (!atomic_load(&p->ended)) {
        size_t number = atomic_fetch_add(&p->next, 1);
        const struct page_touch_array *a = p->array;
        for (; a < p->array + p->arrays && number >= pieces_of(a, piece); a++)
            number -= pieces_of(a, piece);
        if (a == p->array + p->arrays)
            return NULL;
        const size_t skipped = (uintptr_t)a->first % piece, end = (number + 1) * piece - skipped;
        const size_t begin = number ? number * piece - skipped : 0;
        const size_t bytes = (end < a->bytes ? end : a->bytes) - begin;
        for (size_t i = 0; i < bytes; i += page)
            *(volatile char *)(a->first + begin + i) = 0;
    }
    return NULL;
}

void page_touch_begin(struct page_touch *p)
{
    memset(p, 0, sizeof *p);
    p->piece = PIECE;
}

void page_touch_add(struct page_touch *p, void *array, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE),
                 before = (page - (uintptr_t)array % page) % page;
    if (p->arrays < PAGE_TOUCH_ARRAYS && bytes >= before + page) /* whole pages alone */
        p->array[p->arrays++] =
            (struct page_touch_array){(char *)array + before, (bytes - before) / page * page};
}

void page_touch_start(struct page_touch *p)
{
    size_t bytes = bytes_of(p);
    while (bytes >= LEAST && p->threads < PAGE_TOUCH_THREADS &&
           pthread_create(&p->thread[p->threads], NULL, touch_pieces, p) == 0)
        p->threads++;
}

void page_touch_end(struct page_touch *p)
{
    atomic_store(&p->ended, true);
    for (int t = 0; t < p->threads; t++)
        pthread_join(p->thread[t], NULL);
    p->threads = 0;
}

void page_touch_now(struct page_touch *p)
{
    p->piece = PIECE_NOW;
    if (bytes_of(p) < LEAST_NOW)
        return;
#pragma omp parallel
    touch_pieces(p);
}
