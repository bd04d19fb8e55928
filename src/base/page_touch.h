/* Pages of arrays that a program writes later: the system clears a page when it is first written,
 * which takes longer than writing a large array. Additional threads write to the pages while the
 * program waits for something else. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define PAGE_TOUCH_ARRAYS  64 /* at most */
#define PAGE_TOUCH_THREADS 4  /* at most */

struct page_touch {
    struct page_touch_array {
        char *first;
        size_t bytes;
    } array[PAGE_TOUCH_ARRAYS];
    int arrays;
    size_t piece; /* bytes that a thread takes at a time */
    pthread_t thread[PAGE_TOUCH_THREADS];
    int threads;
    atomic_size_t next; /* the next piece, counted over all arrays */
    atomic_bool ended;
};

/* *p has no arrays. */
void page_touch_begin(struct page_touch *p);

/* Adds an array that nobody reads or writes until page_touch_end; its bytes may change. Before
 * page_touch_start. */
void page_touch_add(struct page_touch *p, void *array, size_t bytes);

/* Starts the threads where the arrays are large enough; the system may refuse some or all. */
void page_touch_start(struct page_touch *p);

/* Instead of page_touch_start: all OpenMP threads touch the arrays before this returns. Where two
 * threads first write to one huge page at the same time, the system clears a page for each of them;
 * so no two threads touch the same huge page. Arrays of less than 4 MB are left alone. */
void page_touch_now(struct page_touch *p);

/* Ends the threads, whether they are done or not. Accepts one that was not started. */
void page_touch_end(struct page_touch *p);
