/* Copies between host and device arrays at the rate of the bus, and converts elements on the way.
 * An array is cut into parts, which are handed out to the threads in order. A thread has a slot of
 * two buffers: it converts a part in one of them while the copy engine moves the previous part from
 * or to the other. No thread waits for another. */
#pragma once

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define DEVICE_STAGING_SLOTS 16 /* threads at most: enough for the bus                 */
#define DEVICE_STAGING_BYTES ((size_t)1 << 20) /* of a buffer: half as much is a third slower */

/* The buffers of one thread. */
struct device_staging_slot {
    char *buffer[2];      /* (DEVICE_STAGING_BYTES) each                            */
    cudaEvent_t moved[2]; /* the last copy from or to each of them; owned           */
};

struct device_staging {
    int device; /* number of the device that `stream` is on */
    cudaStream_t stream;
    char *buffers; /* of the slots, host memory; owned */
    bool pinned;   /* `buffers`; else copies take longer */
    int slots;     /* one for each thread */
    struct device_staging_slot slot[DEVICE_STAGING_SLOTS];
};

/* Copies on `stream`, which is on the device of this number. The caller closes *s, also after a
 * failure. STATUS_MEMORY. */
enum status device_staging_open(struct device_staging *s, int device, cudaStream_t stream,
                                struct error *error);

/* A device array. */
struct device_elements {
    void *array;    /* (count); borrowed                        */
    uint64_t count; /* elements                                 */
    size_t size;    /* bytes of one, at most DEVICE_STAGING_BYTES */
};

/* Writes elements [first, first + count) of `from` to `to`. Called by several threads at once, for
 * ranges that do not overlap. False ends the sending, without an error; the device array is then
 * undefined. */
typedef bool device_staging_write(const void *from, uint64_t first, uint64_t count, void *to);

/* Takes elements [first, first + count) from `from`, in the same way. */
typedef void device_staging_read(void *to, uint64_t first, uint64_t count, const void *from);

/* Sends the elements to the device, as `write` writes them from `host`, or as they are in that
 * array where `write` is NULL. Returns when all copies are queued and `host` has been read; the
 * elements are on the device when the stream gets there. The first error of any thread wins;
 * STATUS_INTERNAL. */
enum status device_staging_send(struct device_staging *s, const struct device_elements *to,
                                device_staging_write *write, const void *host, struct error *error);

/* Fetches the elements from the device through `read`, or into the array `host` where that is NULL.
 * Returns when it is done. */
enum status device_staging_fetch(struct device_staging *s, const struct device_elements *from,
                                 device_staging_read *read, void *host, struct error *error);

/* Waits for queued copies and frees the buffers; accepts a half-opened or zeroed one. */
void device_staging_close(struct device_staging *s);
