/* A GPU by its number: which one the calling thread uses, what it is, what it has. */
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

#include "backend/backend_kind.h"

/* `device` is the number of a GPU as the CUDA runtime counts them, from 0. All return
 * STATUS_INTERNAL where that GPU does not answer. */

/* Makes the device the calling thread's: the thread's allocations, streams, events and launches are
 * that device's until the next call. Every entry of the backend calls this first. */
enum status device_use(int device, struct error *error);

/* One of the runtime's numbers about the device. */
enum status device_attribute(int device, enum cudaDeviceAttr attribute, int *value,
                             struct error *error);

/* Bytes of device memory that are free, and all that the device has. Makes the device the calling
 * thread's, since the runtime answers for no other. */
enum status device_memory_free(int device, uint64_t *bytes, uint64_t *all, struct error *error);

/* *count = how many GPUs the runtime sees. */
enum status device_count(int *count, struct error *error);

/* Name of the device, versions of the driver and of the runtime. */
enum status device_info(int device, struct backend_device *info, struct error *error);
