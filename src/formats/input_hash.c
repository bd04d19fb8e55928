#include "formats/input_hash.h"

#include "formats/blco/blco_pieces.h"
#include "tensor/fingerprint.h"

enum status input_hash(const struct tensor_input *input, uint64_t *hash, struct error *error)
{
    if (input->unread)
        return blco_pieces_hash(&input->file, 0, input->file.header->nsegments, hash, error);
    *hash = fingerprint_hash(&input->x, NULL);
    return STATUS_OK;
}
