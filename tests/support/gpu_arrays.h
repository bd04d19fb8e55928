/* Host and device arrays, and comparisons, for tests that need a GPU. Include it after
 * cmocka.h. */
#pragma once

#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "numerics/precision.h"
#include "numerics/vector_bytes.h"
#include "support/naive.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const uint64_t ranks[] = {1, 2, 3, 7, 8, 16, 17, 32, 33, 64, 65, 100, 200};

static inline void ok(enum status status, const struct error *error)
{
    if (status != STATUS_OK)
        fail_msg("status %d: %s", (int)status, error->message);
}

static inline void good(cudaError_t code)
{
    if (code != cudaSuccess)
        fail_msg("%s", cudaGetErrorString(code));
}

static inline void *host_array(uint64_t count, size_t size)
{
    struct error error = {0};
    void *array = memory_array(count, size, &error);
    assert_non_null(array);
    return array;
}

/* A device array with the host's bytes, or full of NaN if host is NULL. The caller frees it with
 * cudaFree. */
static inline void *uploaded(const void *host, size_t bytes)
{
    void *array = NULL;
    good(cudaMalloc(&array, bytes));
    if (host)
        good(cudaMemcpy(array, host, bytes, cudaMemcpyHostToDevice));
    else
        good(cudaMemset(array, 0xff, bytes)); /* NaN, in either precision */
    return array;
}

static inline void fetch(void *host, const void *device, size_t bytes)
{
    good(cudaDeviceSynchronize());
    good(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

/* The elements of a device array after all queued work. The caller frees them with free. */
static inline void *downloaded(const void *device, uint64_t count, size_t size)
{
    void *host = malloc(count * size + 1);
    assert_non_null(host);
    fetch(host, device, count * size);
    return host;
}

/* A random number in [-1, 1), exact in float. */
static inline double random_entry(uint64_t *state)
{
    return (double)(naive_random(state) >> 40) / (1 << 23) - 1.0;
}

static inline double entry(const void *array, uint64_t i, enum precision precision)
{
    return precision == PRECISION_SINGLE ? (double)((const float *)array)[i]
                                         : ((const double *)array)[i];
}

/* Entries of a row: R, rounded up to whole 16-byte vectors, or some more. */
static inline uint64_t row_length(uint64_t rank, enum precision precision, int loose)
{
    const uint64_t unit = loose ? 16 : VECTOR_BYTES / precision_bytes(precision);
    return (rank + (uint64_t)loose + unit - 1) / unit * unit;
}

/* A random (rows x ld) matrix of this precision, NaN in the columns from `rank` on. */
static inline void *random_matrix(uint64_t rows, uint64_t rank, uint64_t ld,
                                  enum precision precision, uint64_t seed)
{
    void *matrix = host_array(rows * ld, precision_bytes(precision));
    for (uint64_t i = 0; i < rows * ld; i++) {
        const double x = i % ld < rank ? random_entry(&seed) : (double)NAN;
        if (precision == PRECISION_SINGLE)
            ((float *)matrix)[i] = (float)x;
        else
            ((double *)matrix)[i] = x;
    }
    return matrix;
}

/* max |x - expected| <= tolerance * max |expected|; false for NaN. */
static inline void near(const double *x, const long double *expected, uint64_t n, double tolerance)
{
    long double largest = 0;
    for (uint64_t i = 0; i < n; i++)
        largest = fmaxl(largest, fabsl(expected[i]));
    for (uint64_t i = 0; i < n; i++)
        if (!(fabsl((long double)x[i] - expected[i]) <= (long double)tolerance * largest))
            fail_msg("entry %llu of %llu: %.17g, expected %.17Lg of at most %Lg",
                     (unsigned long long)i, (unsigned long long)n, x[i], expected[i], largest);
}
