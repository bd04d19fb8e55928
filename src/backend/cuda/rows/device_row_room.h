/* Room on the device for systems of rows: the parts of rows that spans share, and the totals. */
#ifndef BLCO_DEVICE_ROW_ROOM_H
#define BLCO_DEVICE_ROW_ROOM_H

#include <stdbool.h>

#include "base/error.h"
#include "kernels/rows/row_systems.h"

/* As in struct row_systems_args. Device, owned. */
struct device_row_room {
    double *part;
    uint32_t *left;
    struct row_totals *totals;
    uint32_t *next;
};

/* Bytes of a span's two parts, with G or without. */
uint64_t device_row_room_span_bytes(uint64_t rank, bool matrix);

/* For so many spans of so many bytes, and totals. The caller closes it, also after a failure.
 * STATUS_MEMORY. */
enum status device_row_room_open(struct device_row_room *room, uint64_t span_bytes, uint64_t spans,
                                 uint64_t totals, struct error *error);

/* Accepts a zeroed one. */
void device_row_room_close(struct device_row_room *room);

/* args->part, left, totals and next. */
void device_row_room_args(const struct device_row_room *room, struct row_systems_args *args);

#endif
