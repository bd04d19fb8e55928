#include "base/page_touch.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE ((size_t)16 << 20) /* bytes that a thread takes at a time */
#define LEAST ((size_t)64 << 20) /* bytes that are worth threads        */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14 */
#endif

static size_t pieces_of(const struct page_touch_array *a)
{
    return (a->bytes + PIECE - 1) / PIECE;
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Writes a byte of each page, which any system understands. */
static void write_pages(char *first, size_t bytes, size_t page)
{
    for (size_t i = 0; i < bytes; i += page)
        *(volatile char *)(first + i) = 0;
}

static void touch(char *first, size_t bytes)
{
    if (madvise(first, bytes, MADV_POPULATE_WRITE) != 0)
        write_pages(first, bytes, page_size());
}

static void *touch_pieces(void *of)
{
    struct page_touch *p = of;
    while (!atomic_load(&p->ended)) {
        size_t piece = atomic_fetch_add(&p->next, 1);
        int k = 0;
        while (k < p->arrays && piece >= pieces_of(&p->array[k]))
            piece -= pieces_of(&p->array[k++]);
        if (k == p->arrays)
            return NULL;
        size_t first = piece * PIECE, left = p->array[k].bytes - first;
        touch(p->array[k].first + first, left < PIECE ? left : PIECE);
    }
    return NULL;
}

void page_touch_begin(struct page_touch *p)
{
    memset(p, 0, sizeof *p);
}

void page_touch_add(struct page_touch *p, void *array, size_t bytes)
{
    const size_t page = page_size(), before = (page - (uintptr_t)array % page) % page;
    if (p->arrays < PAGE_TOUCH_ARRAYS && bytes >= before + page) /* whole pages alone */
        p->array[p->arrays++] =
            (struct page_touch_array){(char *)array + before, (bytes - before) / page * page};
}

void page_touch_start(struct page_touch *p)
{
    size_t bytes = 0;
    for (int k = 0; k < p->arrays; k++)
        bytes += p->array[k].bytes;
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
