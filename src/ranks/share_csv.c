#include "ranks/share_csv.h"

#include "formats/tensor_file.h"
#include "ranks/share_deal.h"

/* Rank 0 reads the file. */
static enum status read_whole(struct coo *x, const struct csv_source *source,
                              struct tensor_names *names, struct progress *progress,
                              struct error *error)
{
    struct tns_report report;
    TRY(csv_read(x, names, source, progress, &report, error));
    return tensor_check_lengths(source->path, &x->shape, source->text, error);
}

enum status share_read_csv(struct share *s, struct comm *c, const struct csv_source *source,
                           struct tensor_names *names, struct progress *progress,
                           struct error *error)
{
    struct coo x = {0};
    *s = (struct share){.dealt = true};
    if (c->rank == 0)
        read_whole(&x, source, names, progress, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    TRY_OR(done, comm_bcast(c, 0, &x.shape, sizeof x.shape, error));
    TRY_OR(done, comm_bcast(c, 0, &x.nnz, sizeof x.nnz, error));
    TRY_OR(done, share_deal(s, c, &x, error));
    share_set_shape(s, &x.shape);
    s->total = x.nnz;
done:
    if (error->status != STATUS_OK)
        share_free(s);
    if (c->rank > 0) /* only shape and nnz were set */
        x = (struct coo){0};
    coo_free(&x);
    return error->status;
}
