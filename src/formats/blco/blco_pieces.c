#include "formats/blco/blco_pieces.h"

#include <omp.h>

#include "tensor/fingerprint.h"

#define NNZ_A_THREAD (4 * BLCO_SEGMENT_NNZ) /* so that all threads have work until the end */
#define HASH_MEMORY  (UINT64_C(256) << 20)  /* bytes for decoded nonzeros, at most         */

struct blco_pieces blco_pieces_of(const struct blco_file *f, uint64_t memory)
{
    uint64_t nonzero = 4 * (uint64_t)f->shape.order + 8;
    uint64_t enough = (uint64_t)omp_get_max_threads() * NNZ_A_THREAD;
    uint64_t nnz = memory / nonzero < enough ? memory / nonzero : enough;
    uint64_t fit = nnz / f->header->segment_nnz, all = f->header->nsegments;
    return (struct blco_pieces){.file = f,
                                .end = all,
                                .length = fit < 1     ? 1
                                          : fit < all ? fit
                                                      : all};
}

/* Decodes segments [begin, end) to *piece, and adds what they list to *counted. */
static enum status decode(const struct blco_file *f, uint64_t begin, uint64_t end,
                          struct coo *piece, struct coo_listed *counted, struct error *error)
{
    piece->nnz = blco_file_nnz(f, begin, end);
    TRY(blco_file_decode(f, begin, end, piece, error));
    const struct coo_listed listed = coo_count_listed(piece);
    counted->unknown += listed.unknown;
    counted->zeros += listed.zeros;
    return STATUS_OK;
}

enum status blco_pieces_each(const struct blco_pieces *p, coo_taker take, void *context,
                             struct error *error)
{
    const struct blco_file *f = p->file;
    struct coo_listed counted = {0};
    struct coo piece;
    TRY(coo_create(&piece, &f->shape, blco_file_nnz(f, 0, p->length), error));
    uint64_t begin = p->begin;
    do {
        uint64_t end = p->end - begin < p->length ? p->end : begin + p->length;
        TRY_OR(done, decode(f, begin, end, &piece, &counted, error));
        TRY_OR(done, take(context, &piece, error));
        begin = end;
    } while (begin < p->end);
    if (p->begin == 0 && p->end == f->header->nsegments)
        blco_file_check_listed(f, &counted, error);
done:
    coo_free(&piece);
    return error->status;
}

static enum status add_hash(void *hash, struct coo *piece, struct error *error)
{
    (void)error;
    *(uint64_t *)hash += fingerprint_hash(piece, NULL);
    return STATUS_OK;
}

enum status blco_pieces_hash(const struct blco_file *f, uint64_t begin, uint64_t end,
                             uint64_t *hash, struct error *error)
{
    struct blco_pieces pieces = blco_pieces_of(f, HASH_MEMORY);
    pieces.begin = begin;
    pieces.end = end;
    *hash = 0;
    return blco_pieces_each(&pieces, add_hash, hash, error);
}
