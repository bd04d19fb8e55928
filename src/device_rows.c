#include "device_rows.h"

#include <string.h>

#include "cuda_error.h"

#define BUFFER_BYTES ((uint64_t)16 << 20)

enum status device_rows_open(struct device_rows *s, struct error *error)
{
    enum status status = STATUS_OK;
    for (int b = 0; b < 2 && status == STATUS_OK; b++) {
        status = cuda_status(cudaMallocHost(&s->buffer[b], BUFFER_BYTES), "a pinned buffer", error);
        if (status == STATUS_OK)
            status = cuda_status(cudaEventCreateWithFlags(&s->moved[b], cudaEventDisableTiming),
                                 "an event", error);
    }
    return status;
}

void device_rows_close(struct device_rows *s)
{
    for (int b = 0; b < 2; b++) {
        cudaFreeHost(s->buffer[b]);
        if (s->moved[b])
            cudaEventDestroy(s->moved[b]);
    }
    *s = (struct device_rows){0};
}

/* Host rows into a buffer of device rows. */
static void pack(const double *host, void *buffer, uint64_t rows, uint64_t columns, uint64_t ld,
                 int single)
{
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < rows; i++) {
        const double *from = host + i * columns;
        float *narrow = (float *)buffer + i * ld;
        double *wide = (double *)buffer + i * ld;
        if (single)
            for (uint64_t r = 0; r < columns; r++)
                narrow[r] = (float)from[r];
        else
            memcpy(wide, from, columns * sizeof *wide);
        for (uint64_t r = columns; r < ld; r++)
            if (single)
                narrow[r] = 0;
            else
                wide[r] = 0;
    }
}

static void unpack(const void *buffer, double *host, uint64_t rows, uint64_t columns, uint64_t ld,
                   int single, const double *scale)
{
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < rows; i++) {
        double *to = host + i * columns;
        const float *narrow = (const float *)buffer + i * ld;
        const double *wide = (const double *)buffer + i * ld;
        for (uint64_t r = 0; r < columns; r++)
            to[r] = (single ? (double)narrow[r] : wide[r]) * (scale ? scale[r] : 1.0);
    }
}

enum status device_rows_upload(struct device_rows *s, const double *host, void *a, uint64_t rows,
                               uint64_t columns, uint64_t ld, int single, cudaStream_t stream,
                               struct error *error)
{
    const uint64_t row_bytes = ld * (single ? sizeof(float) : sizeof(double));
    const uint64_t piece = BUFFER_BYTES / row_bytes;
    enum status status = STATUS_OK;
    int b = 0;
    for (uint64_t first = 0; first < rows && status == STATUS_OK; first += piece, b ^= 1) {
        const uint64_t n = rows - first < piece ? rows - first : piece;
        status = cuda_status(cudaEventSynchronize(s->moved[b]), "uploading a factor", error);
        if (status != STATUS_OK)
            break;
        pack(host + first * columns, s->buffer[b], n, columns, ld, single);
        status = cuda_status(cudaMemcpyAsync((char *)a + first * row_bytes, s->buffer[b],
                                             n * row_bytes, cudaMemcpyHostToDevice, stream),
                             "uploading a factor", error);
        if (status == STATUS_OK)
            status = cuda_status(cudaEventRecord(s->moved[b], stream), "uploading a factor", error);
    }
    if (status == STATUS_OK)
        status = cuda_status(cudaStreamSynchronize(stream), "uploading a factor", error);
    return status;
}

enum status device_rows_download(struct device_rows *s, const void *a, double *host, uint64_t rows,
                                 uint64_t columns, uint64_t ld, int single, const double *scale,
                                 cudaStream_t stream, struct error *error)
{
    const uint64_t row_bytes = ld * (single ? sizeof(float) : sizeof(double));
    const uint64_t piece = BUFFER_BYTES / row_bytes;
    const uint64_t pieces = (rows + piece - 1) / piece;
    enum status status = STATUS_OK;
    /* piece p is on its way while piece p - 1 is unpacked */
    for (uint64_t p = 0; p <= pieces && status == STATUS_OK; p++) {
        const uint64_t first = p * piece, before = first - piece;
        if (p < pieces) {
            const uint64_t n = rows - first < piece ? rows - first : piece;
            status =
                cuda_status(cudaMemcpyAsync(s->buffer[p % 2], (const char *)a + first * row_bytes,
                                            n * row_bytes, cudaMemcpyDeviceToHost, stream),
                            "downloading a factor", error);
            if (status == STATUS_OK)
                status = cuda_status(cudaEventRecord(s->moved[p % 2], stream),
                                     "downloading a factor", error);
        }
        if (p == 0 || status != STATUS_OK)
            continue;
        status =
            cuda_status(cudaEventSynchronize(s->moved[(p - 1) % 2]), "downloading a factor", error);
        if (status == STATUS_OK)
            unpack(s->buffer[(p - 1) % 2], host + before * columns,
                   rows - before < piece ? rows - before : piece, columns, ld, single, scale);
    }
    return status;
}
