/* From the host's arrays to the device at the rate of the bus: all threads fill one pinned buffer
 * while the copy engine empties the others. */
#ifndef BLCO_DEVICE_STAGING_H
#define BLCO_DEVICE_STAGING_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define STAGING_BUFFERS 4
#define STAGING_BYTES   ((size_t)4 << 20) /* of a buffer: all of them stay in the cores' caches */

struct staging {
    cudaStream_t stream;
    char *pinned; /* (STAGING_BUFFERS x STAGING_BYTES), owned */
    cudaEvent_t emptied[STAGING_BUFFERS];
    int events; /* of these exist          */
    int next;   /* buffer to fill          */
};

/* Copies on `stream`. The caller closes *s, also after a failure. */
enum status staging_open(struct staging *s, cudaStream_t stream, struct error *error);

/* Writes elements [first, first + count) of what is sent to `to`. Called by several threads at
 * once, for ranges that do not overlap. */
typedef void staging_fill(const void *source, uint64_t first, uint64_t count, void *to);

/* Sends `count` elements of `size` bytes to the device array `to`, in the state in which `fill`
 * writes them from `source`. Returns when all are on their way; the stream tells when they are
 * there. */
enum status staging_send(struct staging *s, void *to, uint64_t count, size_t size,
                         staging_fill *fill, const void *source, struct error *error);

/* Waits for the copies on the way and frees the buffers; accepts a half-opened or zeroed one. */
void staging_close(struct staging *s);

#endif
