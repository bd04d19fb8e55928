#include "backend/host/host_rows_simd.h"

#include "backend/host/simd_width.h"

#define WIDE_RANK 128 /* above it, matrices of many rows at a time would take much memory */

const struct host_rows_kernels *host_rows_kernels(uint64_t rank)
{
    const uint64_t most = rank <= WIDE_RANK ? HOST_ROWS_MOST : 2;
    return SIMD_DOUBLES(host_rows, simd_width(most, PRECISION_DOUBLE));
}

uint64_t host_rows_room_size(uint64_t rank)
{
    return HOST_ROWS_MOST + rank * host_rows_kernels(rank)->rows * (6 + rank);
}

struct host_rows_room host_rows_room_in(double *scratch, uint64_t rank)
{
    const uint64_t step = rank * host_rows_kernels(rank)->rows;
    struct host_rows_room room = {.settled = scratch, .diagonal = scratch + HOST_ROWS_MOST};
    room.least = room.diagonal + step;
    room.old = room.least + step;
    room.inverse = room.old + step;
    room.q = room.inverse + step;
    room.d = room.q + step;
    room.h = room.d + step;
    room.rest = room.h + rank * step;
    return room;
}

struct host_rows_descent host_rows_descent_in(const struct host_rows_room *room, uint64_t rank,
                                              int passes, struct prox_rule rule)
{
    return (struct host_rows_descent){.rank = rank,
                                      .passes = passes,
                                      .rule = rule,
                                      .h = room->h,
                                      .old = room->old,
                                      .least = room->least,
                                      .settled = room->settled,
                                      .q = room->q,
                                      .d = room->d,
                                      .inverse = room->inverse};
}
