#include "backend/cuda/rows/device_row_room.h"

#include "backend/cuda/runtime/device_memory.h"

uint64_t device_row_room_span_bytes(uint64_t rank, bool matrix)
{
    return 2 * row_system_length((uint32_t)rank, matrix) * sizeof(double);
}

enum status device_row_room_open(struct device_row_room *room, uint64_t span_bytes, uint64_t spans,
                                 uint64_t totals, struct error *error)
{
    TRY(device_array_into(&room->part, spans, span_bytes, error));
    TRY(device_array_into(&room->left, spans, sizeof *room->left, error));
    TRY(device_array_into(&room->totals, totals, sizeof *room->totals, error));
    return device_array_into(&room->next, 1, sizeof *room->next, error);
}

void device_row_room_close(struct device_row_room *room)
{
    device_free(room->part);
    device_free(room->left);
    device_free(room->totals);
    device_free(room->next);
    *room = (struct device_row_room){0};
}

void device_row_room_args(const struct device_row_room *room, struct row_systems_args *args)
{
    args->part = room->part;
    args->left = room->left;
    args->totals = room->totals;
    args->next = room->next;
}
