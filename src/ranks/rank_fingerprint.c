#include "ranks/rank_fingerprint.h"

#include "base/memory.h"
#include "formats/blco/blco_pieces.h"
#include "ranks/share.h"

#define ROOM (UINT64_C(256) << 20) /* bytes for decoded nonzeros, at most */

static enum status add_piece(void *hash, struct coo *piece, struct error *error)
{
    (void)error;
    *(uint64_t *)hash += fingerprint_hash(piece, NULL);
    return STATUS_OK;
}

/* Adds the hashes of an even share of an unread file's nonzeros. */
static enum status hash_share(uint64_t *hash, const struct blco_file *f, const struct comm *c,
                              struct error *error)
{
    uint64_t segments = f->header->nsegments;
    return blco_pieces_some(f, share_begin(segments, c->rank, c->size),
                            share_begin(segments, c->rank + 1, c->size),
                            blco_pieces_length(f, ROOM), add_piece, hash, error);
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
    if (comm_allreduce_error(c, error) == STATUS_OK &&
        comm_allgather(c, &mine, sizeof mine, all, error) == STATUS_OK)
        for (int k = 0; k < c->size; k++)
            f->hash += all[k];
    memory_free(all);
    return error->status;
}
