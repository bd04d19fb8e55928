#include "ranks/rank_fingerprint.h"

#include "base/memory.h"
#include "formats/blco/blco_pieces.h"
#include "ranks/share.h"

/* The hash of this rank's share of an unread file. */
static enum status hash_share(uint64_t *hash, const struct blco_file *f, const struct comm *c,
                              struct error *error)
{
    const uint64_t segments = f->header->nsegments;
    return blco_pieces_hash(f, even_cut(segments, c->rank, c->size),
                            even_cut(segments, c->rank + 1, c->size), hash, error);
}

enum status rank_fingerprint(struct fingerprint *f, const struct rank_tensor *t,
                             struct error *error)
{
    struct comm *c = t->comm;
    uint64_t mine = 0;
    uint64_t *all = memory_array((size_t)c->size, sizeof *all, error);
    *f = (struct fingerprint){.shape = t->shape, .nnz = t->nnz};
    if (all && t->input.unread)
        hash_share(&mine, &t->input.file, c, error);
    else if (all)
        mine = t->hashed ? fingerprint_hash(&t->input.x, t->part.first) : t->hash;
    TRY_OR(done, comm_allreduce_error(c, error));
    TRY_OR(done, comm_allgather(c, &mine, sizeof mine, all, error));
    for (int k = 0; k < c->size; k++)
        f->hash += all[k];
done:
    memory_free(all);
    return error->status;
}
