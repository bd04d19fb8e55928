#include "ranks/rank_census.h"

#include <string.h>

#include "base/memory.h"
#include "plan/process_grid.h"

#define SAMPLE UINT64_C(200000) /* nonzeros of the sample, about                            */
#define COUNTED                                                                                    \
    (UINT64_C(1) << 28) /* nonzeros of all ranks that are counted: enough for even cuts */

/* *sample, of this rank, becomes the samples of all ranks, in their order. */
static enum status gather_sample(struct comm *c, struct coo *sample, struct error *error)
{
    struct coo whole = {0};
    uint64_t first[MAX_RANKS + 1] = {0};
    TRY(comm_allgather(c, &sample->nnz, sizeof sample->nnz, first + 1, error));
    for (int k = 0; k < c->size; k++)
        first[k + 1] += first[k];
    coo_create(&whole, &sample->shape, first[c->size], error);
    if (comm_allreduce_error(c, error) != STATUS_OK) {
        coo_free(&whole);
        return error->status;
    }
    coo_move(&whole, first[c->rank], sample, 0, sample->nnz);
    coo_free(sample);
    *sample = whole;
    for (int k = 0; k < COO_COLUMNS; k++)
        if (sample->column[k])
            TRY(comm_allgatherv(c, sample->column[k], first, coo_column_bytes(k), error));
    return STATUS_OK;
}

enum status rank_census(struct share *s, struct comm *c, struct coo_census *census,
                        struct error *error)
{
    struct coo_pieces pieces = share_pieces(s);
    coo_pieces_census(&pieces, coo_census_stride(s->total, SAMPLE),
                      coo_census_stride(s->total, COUNTED), census, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    for (int n = 0; n < s->shape.order; n++)
        TRY_OR(done, comm_allreduce_counts(c, census->count[n], s->shape.dims[n], error));
    gather_sample(c, &census->sample, error);
done:
    if (error->status != STATUS_OK)
        coo_census_free(census);
    return error->status;
}
