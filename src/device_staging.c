#include "device_staging.h"

#include <omp.h>
#include <string.h>

#include "cuda_error.h"
#include "device_memory.h"

static const char doing[] = "copying to the GPU";

enum status staging_open(struct staging *s, cudaStream_t stream, struct error *error)
{
    memset(s, 0, sizeof *s);
    s->stream = stream;
    s->pinned = pinned_array(STAGING_BUFFERS, STAGING_BYTES, error);
    if (!s->pinned)
        return error->status;
    for (; s->events < STAGING_BUFFERS; s->events++) {
        cudaError_t code = cudaEventCreateWithFlags(&s->emptied[s->events], cudaEventDisableTiming);
        if (code != cudaSuccess)
            return cuda_status(code, doing, error);
    }
    return STATUS_OK;
}

/* Elements [first, first + count) into the buffer, by all threads. */
static void fill_buffer(char *buffer, uint64_t first, uint64_t count, size_t size,
                        staging_fill *fill, const void *source)
{
#pragma omp parallel
    {
        uint64_t threads = (uint64_t)omp_get_num_threads(), t = (uint64_t)omp_get_thread_num();
        uint64_t begin = count * t / threads, end = count * (t + 1) / threads;
        fill(source, first + begin, end - begin, buffer + begin * size);
    }
}

enum status staging_send(struct staging *s, void *to, uint64_t count, size_t size,
                         staging_fill *fill, const void *source, struct error *error)
{
    uint64_t piece = STAGING_BYTES / size;
    for (uint64_t first = 0; first < count; first += piece) {
        uint64_t elements = count - first < piece ? count - first : piece;
        char *buffer = s->pinned + (size_t)s->next * STAGING_BYTES;
        cudaEvent_t emptied = s->emptied[s->next];

        cudaError_t code = cudaEventSynchronize(emptied);
        if (code != cudaSuccess)
            return cuda_status(code, doing, error);
        fill_buffer(buffer, first, elements, size, fill, source);
        code = cudaMemcpyAsync((char *)to + first * size, buffer, elements * size,
                               cudaMemcpyHostToDevice, s->stream);
        if (code == cudaSuccess)
            code = cudaEventRecord(emptied, s->stream);
        if (code != cudaSuccess)
            return cuda_status(code, doing, error);
        s->next = (s->next + 1) % STAGING_BUFFERS;
    }
    return STATUS_OK;
}

void staging_close(struct staging *s)
{
    if (s->pinned)
        (void)cudaStreamSynchronize(s->stream);
    while (s->events > 0)
        (void)cudaEventDestroy(s->emptied[--s->events]);
    pinned_free(s->pinned);
    memset(s, 0, sizeof *s);
}
