#include "backend/cuda/runtime/device_rates.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_info.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "base/least.h"
#include "kernels/measure/peak_rates.h"
#include "numerics/vector_bytes.h"

#define REPEATS      5            /* of a measurement; the fastest counts                        */
#define ENOUGH       1e-3         /* seconds that a launch should take at the least              */
#define FIRST_COUNT  (1u << 18)   /* rows of the first launch                                    */
#define MOST_ROWS    (1ull << 34) /* of a launch, at most                                        */
#define COPY_BYTES   (1ull << 30) /* of each of the arrays: far more than caches hold            */
#define UPLOAD_BYTES (128ull << 20)

/* cuda_status of a step of a measurement. */
static enum status step(cudaError_t code, struct error *error)
{
    return cuda_status(code, "measuring the GPU", error);
}

struct rate_timer {
    const struct device_rates_request *request;
    cudaStream_t stream;
    cudaEvent_t start, stop;
    uint32_t processors;
    uint64_t free_bytes; /* of device memory that may be used */
};

static enum status open_timer(struct rate_timer *t, struct error *error)
{
    const int device = t->request->device;
    int processors;
    uint64_t free_bytes, all_bytes;
    TRY(device_memory_free(device, &free_bytes, &all_bytes, error));
    TRY(device_attribute(device, cudaDevAttrMultiProcessorCount, &processors, error));
    TRY(step(device_queue_create(&t->stream, QUEUE_NORMAL), error));
    TRY(step(device_event_create_timed(&t->start), error));
    TRY(step(device_event_create_timed(&t->stop), error));
    t->processors = (uint32_t)processors;
    t->free_bytes = free_bytes;
    if (t->request->memory && t->request->memory < free_bytes)
        t->free_bytes = t->request->memory;
    return STATUS_OK;
}

static void close_timer(struct rate_timer *t)
{
    device_event_destroy(t->start);
    device_event_destroy(t->stop);
    device_queue_destroy(t->stream);
}

static enum status start_timer(struct rate_timer *t, struct error *error)
{
    return step(cudaEventRecord(t->start, t->stream), error);
}

/* *seconds = the time since start_timer; waits for the stream. */
static enum status stop_timer(struct rate_timer *t, double *seconds, struct error *error)
{
    TRY(step(cudaEventRecord(t->stop, t->stream), error));
    return step(device_event_seconds(t->start, t->stop, seconds), error);
}

typedef cudaError_t (*row_launcher)(struct peak_rows *r, cudaStream_t stream);

/* *rate = rows per second of a launch that takes long enough to be timed; the first launch of all
 * only loads the kernel. */
static enum status measure_rows(struct rate_timer *t, row_launcher launch, void *table,
                                uint64_t rows, double *rate, struct error *error)
{
    struct peak_rows r = {.table = table,
                          .rows = (uint32_t)rows,
                          .vectors = (uint32_t)t->request->vectors,
                          .precision = t->request->precision,
                          .processors = t->processors,
                          .count = FIRST_COUNT};
    double seconds = 0;
    *rate = 0;
    TRY(step(launch(&r, t->stream), error));
    for (int repeat = 0; repeat < REPEATS;) {
        TRY(start_timer(t, error));
        TRY(step(launch(&r, t->stream), error));
        TRY(stop_timer(t, &seconds, error));
        if (seconds < ENOUGH && r.count < MOST_ROWS) {
            r.count *= 4;
            continue;
        }
        if ((double)r.count / seconds > *rate)
            *rate = (double)r.count / seconds;
        repeat++;
    }
    return STATUS_OK;
}

/* Gathers from and adds to a table as long as the longest mode, or as half of the free memory
 * holds. */
static enum status measure_modes(struct rate_timer *t, struct backend_rates *rates,
                                 struct error *error)
{
    const struct device_rates_request *request = t->request;
    double rate;
    uint64_t row = request->vectors * VECTOR_BYTES, most = t->free_bytes / 2 / row, longest = 1;
    for (int n = 0; n < request->shape->order; n++)
        longest = request->shape->dims[n] > longest ? request->shape->dims[n] : longest;
    longest = longest > most && most > 0 ? most : longest;
    void *table = device_array(longest, row, error);
    TRY(error->status);
    cudaError_t code = peak_fill(table, longest * request->vectors, request->precision, t->stream);
    TRY_OR(done, step(code, error));
    /* rows that L1 of each multiprocessor holds */
    const uint64_t cached = least_of(longest, BACKEND_CACHED_BYTES / row);
    TRY_OR(done, measure_rows(t, peak_gather, table, cached > 0 ? cached : 1, &rate, error));
    rates->cache_bytes_per_second = rate * (double)request->row_bytes;
    for (int n = 0; n < request->shape->order; n++) {
        const uint64_t rows = least_of(request->shape->dims[n], longest);
        TRY_OR(done, measure_rows(t, peak_gather, table, rows, &rate, error));
        rates->gather_bytes_per_second[n] = rate * (double)request->row_bytes;
        TRY_OR(done,
               measure_rows(t, peak_atomic, table, rows, &rates->atomic_rows_per_second[n], error));
    }
done:
    device_free(table);
    return error->status;
}

/* *rate = bytes per second that are read and written in a copy of so many on the device, or that an
 * upload from pinned memory brings; the first copy only loads the kernel. */
static enum status measure_bytes(struct rate_timer *t, bool uploads, uint64_t bytes, double *rate,
                                 struct error *error)
{
    const uint64_t count = bytes / VECTOR_BYTES;
    double seconds = 0;
    void *from = uploads ? device_pinned_array(bytes, 1, error) : device_array(bytes, 1, error);
    void *to = from ? device_array(bytes, 1, error) : NULL;
    *rate = 0;
    TRY_OR(done, error->status);
    if (uploads)
        memset(from, 1, bytes);
    else
        TRY_OR(done, step(peak_fill(from, count, PRECISION_DOUBLE, t->stream), error));
    for (int repeat = 0; repeat <= REPEATS; repeat++) {
        TRY_OR(done, start_timer(t, error));
        const cudaError_t code =
            uploads ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, t->stream)
                    : peak_copy(to, from, count, t->stream);
        TRY_OR(done, step(code, error));
        TRY_OR(done, stop_timer(t, &seconds, error));
        const double moved = (uploads ? 1 : 2) * (double)bytes / seconds;
        if (repeat > 0 && moved > *rate)
            *rate = moved;
    }
done:
    if (uploads)
        device_pinned_free(from);
    else
        device_free(from);
    device_free(to);
    return error->status;
}

enum status device_rates_upload(int device, uint64_t bytes, double *bytes_per_second,
                                struct error *error)
{
    const struct device_rates_request any = {.device = device};
    struct rate_timer t = {.request = &any};
    TRY_OR(done, open_timer(&t, error));
    measure_bytes(&t, true, bytes, bytes_per_second, error);
done:
    close_timer(&t);
    return error->status;
}

enum status device_rates(const struct device_rates_request *request, struct backend_rates *rates,
                         struct error *error)
{
    struct rate_timer t = {.request = request};
    *rates = (struct backend_rates){0};
    TRY_OR(done, open_timer(&t, error));
    uint64_t bytes = least_of(COPY_BYTES, t.free_bytes / 4) / VECTOR_BYTES * VECTOR_BYTES;
    TRY_OR(done, measure_bytes(&t, false, bytes, &rates->copy_bytes_per_second, error));
    bytes = least_of(UPLOAD_BYTES, t.free_bytes / 2);
    TRY_OR(done, measure_bytes(&t, true, bytes, &rates->upload_bytes_per_second, error));
    measure_modes(&t, rates, error);
done:
    close_timer(&t);
    return error->status;
}
