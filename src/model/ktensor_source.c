#include "model/ktensor_source.h"

#include "base/least.h"
#include "base/memory.h"

uint64_t ktensor_rows_of_bytes(uint64_t bytes, uint64_t rank)
{
    const uint64_t row = rank * sizeof(double);
    return row < bytes ? bytes / row : 1;
}

enum status ktensor_pieces(const struct ktensor_source *from, uint64_t most, ktensor_take *take,
                           void *context, struct error *error)
{
    const struct ktensor *k = from->k;
    uint64_t longest = 0;
    if (!from->bring)
        return take(context, k, error);
    for (int n = 0; n < k->shape.order; n++)
        longest = k->shape.dims[n] > longest ? k->shape.dims[n] : longest;
    const uint64_t step = least_of(most, longest);
    double *rows = memory_array(step * k->rank, sizeof *rows, error);
    TRY(error->status);
    for (int n = 0; n < k->shape.order; n++)
        for (uint64_t first = 0; first < k->shape.dims[n]; first += step) {
            struct ktensor piece = {.shape.order = k->shape.order, .rank = k->rank};
            piece.lambda = k->lambda;
            piece.factor[n] = rows;
            piece.first[n] = first;
            piece.shape.dims[n] = least_of(step, k->shape.dims[n] - first);
            TRY_OR(done, from->bring(from->context, n, first, piece.shape.dims[n], rows, error));
            TRY_OR(done, take(context, &piece, error));
        }
done:
    memory_free(rows);
    return error->status;
}
