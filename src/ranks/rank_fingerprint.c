#include "ranks/rank_fingerprint.h"

#include "base/memory.h"
#include "formats/blco/blco_pieces.h"
#include "ranks/share.h"

#define ROOM (UINT64_C(256) << 20) /* bytes for decoded nonzeros, at most */

/* Adds the hashes of an even share of an unread file's nonzeros, some segments at a time. */
static enum status hash_share(uint64_t *hash, const struct blco_file *f, const struct comm *c,
                              struct error *error)
{
    uint64_t begin = share_begin(f->header->nsegments, c->rank, c->size);
    uint64_t behind = share_begin(f->header->nsegments, c->rank + 1, c->size);
    uint64_t length = blco_pieces_length(f, ROOM);
    struct coo piece;
    if (coo_create(&piece, &f->shape, blco_file_nnz(f, 0, length), error) != STATUS_OK)
        return error->status;
    for (uint64_t b = begin; b < behind && error->status == STATUS_OK; b += length) {
        uint64_t end = behind - b < length ? behind : b + length;
        piece.nnz = blco_file_nnz(f, b, end);
        if (blco_file_decode(f, b, end, &piece, error) == STATUS_OK)
            *hash += fingerprint_hash(&piece, NULL);
        blco_pieces_let_go(f, b, end);
    }
    coo_free(&piece);
    return error->status;
}

enum status rank_fingerprint(struct fingerprint *f, const struct rank_tensor *t, struct comm *c,
                             struct error *error)
{
    uint64_t mine = 0;
    uint64_t *all = memory_array((size_t)c->size, sizeof *all, error);
    *f = (struct fingerprint){.shape = t->shape, .nnz = t->nnz};
    if (all && t->unread)
        hash_share(&mine, &t->file, c, error);
    else if (all)
        mine = fingerprint_hash(&t->x, t->part.first);
    if (comm_agree_error(c, error) == STATUS_OK &&
        comm_gather_all(c, &mine, sizeof mine, all, error) == STATUS_OK)
        for (int k = 0; k < c->size; k++)
            f->hash += all[k];
    memory_free(all);
    return error->status;
}
