#include "model/carried.h"

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

void carried_free(struct carried *c)
{
    memory_free(c->scale);
    memory_free(c->gram);
    *c = (struct carried){0};
}
