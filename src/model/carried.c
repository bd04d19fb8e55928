#include "model/carried.h"

#include <string.h>

#include "base/memory.h"

enum status carried_create(struct carried *c, int order, uint64_t rank, struct error *error)
{
    uint64_t rows = (uint64_t)order * rank;
    c->scale = memory_array(rows, sizeof *c->scale, error);
    c->gram = memory_array(rows, rank * sizeof *c->gram, error);
    if (error->status != STATUS_OK)
        carried_free(c);
    return error->status;
}

void carried_copy(struct carried *to, const struct carried *from, int order, uint64_t rank)
{
    uint64_t rows = (uint64_t)order * rank;
    memcpy(to->scale, from->scale, rows * sizeof *to->scale);
    memcpy(to->gram, from->gram, rows * rank * sizeof *to->gram);
    to->precision = from->precision;
}

void carried_free(struct carried *c)
{
    memory_free(c->scale);
    memory_free(c->gram);
    *c = (struct carried){0};
}
