#include "checkpoint/checkpoint.h"

enum status checkpoint_check_run(const struct checkpoint *c, uint64_t rank,
                                 enum precision precision, struct error *error)
{
    const struct checkpoint_about *a = &c->about;
    if (a->rank != rank)
        return error_set(error, STATUS_INPUT, "%s: a checkpoint of rank %ju, but -r is %ju",
                         c->name, (uintmax_t)a->rank, (uintmax_t)rank);
    if (a->precision != precision)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint in %s precision, but this run has %s", c->name,
                         precision_name(a->precision), precision_name(precision));
    return STATUS_OK;
}

enum status checkpoint_check_shape(const struct checkpoint *c, const struct shape *shape,
                                   uint64_t nnz, struct error *error)
{
    const struct fingerprint *t = &c->about.tensor;
    if (t->shape.order != shape->order)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint of another tensor: it has %d modes, this one %d",
                         c->name, t->shape.order, shape->order);
    for (int n = 0; n < shape->order; n++)
        if (t->shape.dims[n] != shape->dims[n])
            return error_set(error, STATUS_INPUT,
                             "%s: a checkpoint of another tensor: its mode %d has length %ju, that "
                             "of this one %ju",
                             c->name, n + 1, (uintmax_t)t->shape.dims[n],
                             (uintmax_t)shape->dims[n]);
    if (t->nnz != nnz)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint of another tensor: it has %ju nonzeros, this one %ju",
                         c->name, (uintmax_t)t->nnz, (uintmax_t)nnz);
    return STATUS_OK;
}

enum status checkpoint_check_hash(const struct checkpoint *c, uint64_t hash, struct error *error)
{
    if (c->about.tensor.hash != hash)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint of another tensor, of the same lengths and number of "
                         "nonzeros: their coordinates or values differ",
                         c->name);
    return STATUS_OK;
}
