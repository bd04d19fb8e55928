/* Arrays in device memory and in pinned host memory, and spare device arrays that one step hands on
 * to the next, since the driver takes as long to give and to take back a large array as a kernel to
 * fill it. */
#ifndef BLCO_DEVICE_MEMORY_H
#define BLCO_DEVICE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

/* An uninitialised device array of `count` elements of `size` bytes; never NULL for count 0. NULL
 * and STATUS_MEMORY when the size overflows or the device has no room. Freed by device_free. */
void *device_array(uint64_t count, size_t size, struct error *error);
void device_free(void *array);

/* The same in host memory that the copy engines can reach. Freed by pinned_free. */
void *pinned_array(uint64_t count, size_t size, struct error *error);
void pinned_free(void *array);

#define DEVICE_SPARES 8

/* Device arrays that nobody uses at present. All their users work on one stream. */
struct device_spares {
    int count;
    struct {
        void *array; /* device, owned */
        uint64_t bytes;
    } spare[DEVICE_SPARES];
};

/* As device_array; a spare one of exactly this size where there is one. The spares are freed before
 * memory is said to have run out. */
void *device_spares_take(struct device_spares *s, uint64_t count, size_t size, struct error *error);

/* Hands an array of `count` elements of `size` bytes back; NULL is ignored. */
void device_spares_give(struct device_spares *s, void *array, uint64_t count, size_t size);

void device_spares_free(struct device_spares *s);

#endif
