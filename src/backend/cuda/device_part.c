#include "backend/cuda/device_part.h"

#include "base/memory.h"

/* Segments are chosen by lines of the file's directory, which nothing has checked. Since each rank
 * checks the segments that it reads, a wrong line shows as a wrong number of nonzeros of all ranks.
 */
static enum status check_all_read(const struct device_coo *d, const struct tensor_source *source,
                                  double *norm_sq, struct error *error)
{
    double sum[] = {(double)d->nnz, *norm_sq};
    uint64_t nnz = source->file->header->nnz;
    TRY(comm_allreduce_sum(source->ranks->all, sum, 2, error));
    *norm_sq = sum[1];
    if ((uint64_t)sum[0] == nnz)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT, "%s: damaged: %.0f nonzeros, expected %ju",
                     source->file->name, sum[0], (uintmax_t)nnz);
}

/* Divides the rows of mode n, by which rows each rank has nonzeros in. */
static enum status divide_rows(const struct device_coo *d, struct rank_rows *r, int n,
                               struct error *error)
{
    uint64_t rows = r->range.here.dims[n];
    if (!rank_rows_compares(r, n))
        return rank_rows_divide_mode(r, n, NULL, error);
    unsigned char *touched = memory_zeros(rows, sizeof *touched, error);
    if (!touched)
        return error->status;
    if (d->nnz > 0)
        TRY_OR(done, device_coo_touched(d, n, touched, rows, error));
    rank_rows_divide_mode(r, n, touched, error);
done:
    memory_free(touched);
    return error->status;
}

/* Every rank calls this once, however often it opens a backend. No rank could try again after a
 * failure: the others would be elsewhere. */
static enum status divide(const struct device_coo *d, const struct tensor_source *source,
                          struct error *error)
{
    struct rank_rows *r = source->ranks;
    r->norm_sq = d->norm_sq;
    TRY(check_all_read(d, source, &r->norm_sq, error));
    for (int n = 0; n < d->shape.order; n++)
        TRY(divide_rows(d, r, n, error));
    return STATUS_OK;
}

/* Gives the nonzeros the numbers of the rows that are here. */
static enum status renumber(struct device_coo *d, const struct rank_rows *r, int n,
                            struct error *error)
{
    uint64_t rows = r->range.here.dims[n];
    if (!r->mode[n].row || d->nnz == 0)
        return STATUS_OK;
    uint32_t *place = memory_array(rows, sizeof *place, error);
    if (!place)
        return error->status;
    rank_rows_places(r, n, place);
    device_coo_renumber(d, n, place, rows, error);
    memory_free(place);
    return error->status;
}

enum status device_part_read(struct device_coo *d, const struct tensor_source *source,
                             double *norm_sq, struct device_staging *staging,
                             const struct device_pool *pool, struct error *error)
{
    struct rank_rows *r = source->ranks;
    TRY(device_coo_decode_part(d, source->file, &r->range, staging, pool, error));
    if (!r->divided && divide(d, source, error) != STATUS_OK) {
        comm_abort(r->all, error);
        goto done;
    }
    *norm_sq = r->norm_sq;
    for (int n = 0; n < d->shape.order; n++)
        TRY_OR(done, renumber(d, r, n, error));
    const struct shape here = part_shape(&r->part);
    device_coo_linearise(d, &here, error);
done:
    if (error->status != STATUS_OK)
        device_coo_free(d);
    return error->status;
}
