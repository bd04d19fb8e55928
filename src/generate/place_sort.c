#include "generate/place_sort.h"

#include <stdbool.h>

#include "base/memory.h"

enum status place_sort(struct coo *x, const struct ordering *o, struct error *error)
{
    uint64_t *position = memory_array(x->nnz, sizeof *position, error);
    uint64_t *key = position ? memory_array(x->nnz, sizeof *key, error) : NULL;
    uint32_t *index = (uint32_t *)key;
    if (!key)
        goto done;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < x->nnz; i++)
        position[i] = i;
    TRY_OR(done, ordering_sort(o, x, position, x->nnz, key, error));
    for (int n = 0; n < x->shape.order; n++) {
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < x->nnz; i++)
            index[i] = x->index[n][position[i]];
        memory_copy(x->index[n], index, x->nnz * sizeof *index);
    }
    uint64_t kept = 0;
    for (uint64_t i = 0; i < x->nnz; i++) { /* drops places that repeat the one before them */
        bool same = kept > 0;
        for (int n = 0; same && n < x->shape.order; n++)
            same = x->index[n][i] == x->index[n][kept - 1];
        for (int n = 0; !same && n < x->shape.order; n++)
            x->index[n][kept] = x->index[n][i];
        kept += !same;
    }
    x->nnz = kept;
done:
    memory_free(key);
    memory_free(position);
    return error->status;
}

uint64_t place_count(const struct shape *shape)
{
    uint64_t places = 1;
    for (int n = 0; n < shape->order; n++)
        if (__builtin_mul_overflow(places, shape->dims[n], &places))
            return UINT64_MAX;
    return places;
}
