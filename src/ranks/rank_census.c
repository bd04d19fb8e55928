#include "ranks/rank_census.h"

#include <string.h>

#include "base/memory.h"

#define SAMPLE UINT64_C(200000)    /* nonzeros of the sample, about                            */
#define CHUNK  ((uint64_t)1 << 18) /* rows whose counts are summed at a time                   */
#define COUNTED                                                                                    \
    (UINT64_C(1) << 28) /* nonzeros of all ranks that are counted: enough for even cuts */

/* Counts are whole numbers below 2^53, so that sums of doubles are exact. */
enum status rank_census_sum(struct comm *c, uint64_t *count, uint64_t rows, struct error *error)
{
    double *chunk = memory_array(CHUNK, sizeof *chunk, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    for (uint64_t first = 0; first < rows; first += CHUNK) {
        uint64_t some = rows - first < CHUNK ? rows - first : CHUNK;
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < some; i++)
            chunk[i] = (double)count[first + i];
        TRY_OR(done, comm_allreduce_sum(c, chunk, some, error));
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < some; i++)
            count[first + i] = (uint64_t)chunk[i];
    }
done:
    memory_free(chunk);
    return error->status;
}

/* *sample, of this rank, becomes the samples of all ranks, in their order. */
static enum status gather_sample(struct comm *c, struct coo *sample, struct error *error)
{
    struct coo whole = {0};
    /* the nonzeros of all samples, and of those of the ranks before this one */
    uint64_t mine = 0, all = 0, own = sample->nnz;
    for (int k = 0; k < c->size; k++) {
        uint64_t its = own;
        TRY(comm_bcast(c, k, &its, sizeof its, error));
        mine += k < c->rank ? its : 0;
        all += its;
    }
    coo_create(&whole, &sample->shape, all, error);
    if (comm_allreduce_error(c, error) != STATUS_OK) {
        coo_free(&whole);
        return error->status;
    }
    coo_move(&whole, mine, sample, 0, own);
    coo_free(sample);
    *sample = whole;
    for (int k = 0; k < c->size; k++) {
        uint64_t its[2] = {mine, own};
        TRY(comm_bcast(c, k, its, sizeof its, error));
        for (int column = 0; column < COO_COLUMNS; column++)
            if (sample->column[column])
                TRY(comm_bcast(c, k, coo_at(sample, column, its[0]),
                               its[1] * coo_column_bytes(column), error));
    }
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
        TRY_OR(done, rank_census_sum(c, census->count[n], s->shape.dims[n], error));
    gather_sample(c, &census->sample, error);
done:
    if (error->status != STATUS_OK)
        coo_census_free(census);
    return error->status;
}
