/* What the present GPU can do with the rows of a factorisation: struct backend_limits, measured. */
#ifndef BLCO_DEVICE_RATES_H
#define BLCO_DEVICE_RATES_H

#include "backend/backend.h"

struct device_rates_request {
    int order;
    const uint64_t *dims; /* (order)                                           */
    uint64_t row_bytes;   /* of a factor's row, without what pads it           */
    uint64_t vectors;     /* 16-byte vectors in a row                          */
    int single;           /* float instead of double                           */
    uint64_t memory;      /* device bytes that may be used; 0: what is free    */
};

/* Takes up to half of that memory while it runs. */
enum status device_rates(const struct device_rates_request *request, struct backend_limits *limits,
                         struct error *error);

/* Bytes a second that the bus moves to the device from pinned memory, tried with so many, which it
 * takes on both sides while it runs. */
enum status device_rates_upload(uint64_t bytes, double *bytes_per_second, struct error *error);

#endif
