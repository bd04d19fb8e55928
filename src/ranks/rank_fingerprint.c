#include "ranks/rank_fingerprint.h"

#include "base/memory.h"

enum status rank_fingerprint(struct fingerprint *f, const struct rank_tensor *t, struct comm *c,
                             struct error *error)
{
    uint64_t mine = fingerprint_hash(&t->x, t->part.first);
    uint64_t *all = memory_array((size_t)c->size, sizeof *all, error);
    *f = (struct fingerprint){.shape = t->shape, .nnz = t->nnz};
    if (comm_agree_error(c, error) == STATUS_OK &&
        comm_gather_all(c, &mine, sizeof mine, all, error) == STATUS_OK)
        for (int k = 0; k < c->size; k++)
            f->hash += all[k];
    memory_free(all);
    return error->status;
}
