#include "formats/input_hash.h"

#include "formats/blco/blco_pieces.h"
#include "tensor/fingerprint.h"

#define ROOM (UINT64_C(256) << 20) /* bytes for decoded nonzeros, at most */

static enum status add_piece(void *context, struct coo *piece, struct error *error)
{
    (void)error;
    uint64_t *hash = context;
    *hash += fingerprint_hash(piece, NULL);
    return STATUS_OK;
}

enum status input_hash(const struct tensor_input *input, uint64_t *hash, struct error *error)
{
    *hash = 0;
    if (!input->unread) {
        *hash = fingerprint_hash(&input->x, NULL);
        return STATUS_OK;
    }
    const struct blco_pieces pieces = blco_pieces_of(&input->file, ROOM);
    return blco_pieces_each(&pieces, add_piece, hash, error);
}
