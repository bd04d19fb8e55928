/* Arrays whose size is checked for overflow, and a hook by which tests let the k-th allocation
 * fail. Every array of the program is allocated here and freed by memory_free. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* An uninitialised array of `count` elements of `size` bytes, aligned to 64 bytes; also where
 * count is 0. NULL and STATUS_MEMORY where the size overflows or memory runs out. The caller frees
 * the array. */
void *memory_array(size_t count, size_t size, struct error *error);

/* As memory_array: `bytes` bytes, aligned to a page of 4096 bytes, so that a device can copy from
 * them. */
void *memory_pages(size_t bytes, struct error *error);

/* As memory_array, filled with zero bytes. */
void *memory_zeros(size_t count, size_t size, struct error *error);

/* Resizes an array to `count` elements of `size` bytes; `array` points to the pointer to the array,
 * which may be NULL. Alignment is not kept. STATUS_MEMORY leaves the array as it was, still to be
 * freed. */
enum status memory_resize(void *array, size_t count, size_t size, struct error *error);

/* The text that printf would print, in a new array. NULL and STATUS_MEMORY where memory runs out.
 * The caller frees the text. */
char *memory_text(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Frees arrays, each of which may be NULL: memory_free(a, b, c). */
#define memory_free(...)                                                                           \
    memory_free_all((void *const[]){__VA_ARGS__},                                                  \
                    sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
void memory_free_all(void *const *array, size_t count);

/* memcpy, by all OpenMP threads where there are many bytes. */
void memory_copy(void *to, const void *from, size_t bytes);

/* to (count) = from (count), past the caches. The plain way reads a place in memory before it
 * writes there, to fill the rest of a cache line, which takes long where the places lie far from
 * each other. Other threads see the numbers after memory_uncached_end. */
void memory_copy_uncached(double *to, const double *from, size_t count);
void memory_uncached_end(void);

/* From now on arrays of a megabyte or more go back to the system as soon as they are freed, so that
 * the memory of one array serves the next. Only main calls this. */
void memory_return_freed(void);

/* Gives the pages of freed arrays, which the allocator may keep for later arrays, back to the
 * system. */
void memory_give_back(void);

/* Tests only: the allocation after the next `k` fails, once; a negative k switches the hook off.
 * memory_hook_fired: whether an allocation has failed for this reason since memory_hook_set. */
void memory_hook_set(long k);
int memory_hook_fired(void);

/* For allocators of other memory, such as a GPU's: counts an allocation; true if the hook lets it
 * fail. */
int memory_hook_fails(void);
