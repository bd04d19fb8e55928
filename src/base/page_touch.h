/* Pages of arrays that a program writes later: the system clears a page when it is first written,
 * which takes longer than to write a large array. Threads of their own have that done while the
 * program waits for something else. */
#ifndef BLCO_PAGE_TOUCH_H
#define BLCO_PAGE_TOUCH_H

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
    atomic_size_t next; /* the next piece of the arrays, counted through */
    atomic_bool ended;
};

/* *p has no arrays. */
void page_touch_begin(struct page_touch *p);

/* Adds an array that nobody reads or writes until page_touch_end; its bytes may change. Before
 * page_touch_start. */
void page_touch_add(struct page_touch *p, void *array, size_t bytes);

/* Starts the threads, where there is enough to do; does without those that the system refuses. */
void page_touch_start(struct page_touch *p);

/* Instead of starting threads: all OpenMP threads touch the arrays, and return when they are done.
 * Where threads write neighbouring parts of an array, and meet in a huge page that nobody has
 * written, the system clears one for each of them; so each thread touches huge pages of its own.
 * Arrays of less than 4 MB are left alone. */
void page_touch_now(struct page_touch *p);

/* Ends the threads, whether they are done or not. Accepts one that was not started. */
void page_touch_end(struct page_touch *p);

#endif
