#include "ranks/held_out.h"

uint64_t held_out_bytes(int order, uint64_t count)
{
    return coo_bytes(order, count) + count * sizeof(double);
}

void held_out_free(struct held_out *held)
{
    coo_free(&held->x);
    *held = (struct held_out){0};
}
