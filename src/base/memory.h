/* Arrays whose size is checked for overflow, and a hook by which tests let the k-th allocation
 * fail. Every array of the program comes from here and goes back through memory_free. */
#ifndef BLCO_MEMORY_H
#define BLCO_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* An uninitialised array of `count` elements of `size` bytes, aligned to 64 bytes; never NULL for
 * count 0. NULL and STATUS_MEMORY when the size overflows or memory runs out. The caller frees it.
 */
void *memory_array(size_t count, size_t size, struct error *error);

/* The same of `bytes` bytes, aligned to a page: what a device can be given to copy from. */
void *memory_pages(size_t bytes, struct error *error);

/* An array, filled with zero bytes. */
void *memory_zeros(size_t count, size_t size, struct error *error);

/* Changes *array (a pointer to the pointer of an array from here, which may be NULL) to `count`
 * elements. On failure *array is left as it was, still to be freed. Alignment is not kept. */
enum status memory_resize(void *array, size_t count, size_t size, struct error *error);

/* The text that printf would print, in an array of its own. NULL and STATUS_MEMORY when memory runs
 * out. The caller frees it. */
char *memory_text(struct error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void memory_free(void *array);

/* Tests only: the allocation after the next `k` fails, once; a negative k switches the hook off.
 * memory_hook_fired says whether it has failed one since. */
void memory_hook_set(long k);
int memory_hook_fired(void);

/* For allocators of other memory, such as a GPU's: whether the hook lets this allocation fail. */
int memory_hook_fails(void);

#endif
