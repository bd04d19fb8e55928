/* Staging and a pool of memory on device 0 and its default stream, for tests that build on the
 * device: open_device and close_device are the set-up and tear-down of such tests. Include it after
 * cmocka.h.
 */
#pragma once

#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_staging.h"
#include "backend/cuda/tensor/device_blco.h"
#include "support/gpu_arrays.h"

#define POOL_BYTES (UINT64_C(64) << 20) /* taken at once */

static struct device_staging staging;
static struct device_pool pool;

static inline int open_device(void **state)
{
    (void)state;
    struct error error = {0};
    return device_staging_open(&staging, 0, NULL, &error) != STATUS_OK ||
           device_pool_open(&pool, 0, NULL, POOL_BYTES, &error) != STATUS_OK;
}

static inline int close_device(void **state)
{
    (void)state;
    device_pool_close(&pool);
    device_staging_close(&staging);
    return 0;
}

/* The caller frees *d, before the pool is closed. */
static inline void upload_coo(struct device_coo *d, const struct coo *x)
{
    struct error error = {0};
    ok(device_coo_upload(d, x, &staging, &pool, &error), &error);
}
