#include "formats/blco/blco_pieces.h"

#include <omp.h>

#define NNZ_A_THREAD (4 * BLCO_SEGMENT_NNZ) /* so that all threads have work until the end */

uint64_t blco_pieces_length(const struct blco_file *f, uint64_t memory)
{
    uint64_t nonzero = 4 * (uint64_t)f->shape.order + 8;
    uint64_t enough = (uint64_t)omp_get_max_threads() * NNZ_A_THREAD;
    uint64_t nnz = memory / nonzero < enough ? memory / nonzero : enough;
    uint64_t fit = nnz / f->header->segment_nnz;
    return fit < 1 ? 1 : fit < f->header->nsegments ? fit : f->header->nsegments;
}

enum status blco_pieces_some(const struct blco_file *f, uint64_t begin, uint64_t behind,
                             uint64_t length, coo_taker take, void *context, struct error *error)
{
    struct coo piece;
    if (coo_create(&piece, &f->shape, blco_file_nnz(f, 0, length), error) != STATUS_OK)
        return error->status;
    do {
        uint64_t end = behind - begin < length ? behind : begin + length;
        piece.nnz = blco_file_nnz(f, begin, end);
        if (blco_file_decode(f, begin, end, &piece, error) == STATUS_OK)
            take(context, &piece, error);
        begin = end;
    } while (begin < behind && error->status == STATUS_OK);
    coo_free(&piece);
    return error->status;
}

enum status blco_pieces_each(const struct blco_file *f, uint64_t length, coo_taker take,
                             void *context, struct error *error)
{
    return blco_pieces_some(f, 0, f->header->nsegments, length, take, context, error);
}
