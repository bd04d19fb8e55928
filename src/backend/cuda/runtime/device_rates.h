/* Measures how fast a GPU handles the rows of a factorisation (struct backend_rates). */
#pragma once

#include "backend/backend_kind.h"

struct device_rates_request {
    int device;                /* its number */
    const struct shape *shape; /* of the tensor                                     */
    uint64_t row_bytes;        /* of a factor's row, without padding                */
    uint64_t vectors;          /* 16-byte vectors in a row                          */
    enum precision precision;  /* of the rows' entries                              */
    uint64_t memory;           /* device bytes that may be used; 0: what is free    */
};

/* Takes up to half of that memory while it runs. Makes the device the calling thread's.
 * STATUS_MEMORY, device or pinned host. */
enum status device_rates(const struct device_rates_request *request, struct backend_rates *rates,
                         struct error *error);

/* *bytes_per_second = the rate of the bus from pinned host memory to the device of this number,
 * measured with copies of `bytes`, which it takes on both sides while it runs. Makes the device the
 * calling thread's. STATUS_MEMORY. */
enum status device_rates_upload(int device, uint64_t bytes, double *bytes_per_second,
                                struct error *error);
