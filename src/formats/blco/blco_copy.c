#include "formats/blco/blco_copy.h"

#include "formats/blco/blco_pieces.h"
#include "formats/blco/blco_writer.h"

#define WRITER_PART 4 /* a quarter of the memory is for the writer */

struct copier {
    struct blco_writer writer;
    const struct blco_file *from;
    uint64_t done;            /* nonzeros copied so far          */
    uint32_t last[MAX_ORDER]; /* coordinates of the last of them */
    const struct blco_copying *how;
};

/* The first nonzero of the piece that does not come after its predecessor, or piece->nnz. */
static uint64_t first_misplaced(const struct copier *c, const struct coo *piece)
{
    uint64_t first = piece->nnz;
#pragma omp parallel for schedule(static) reduction(min : first)
    for (uint64_t i = 0; i < piece->nnz; i++) {
        uint32_t a[MAX_ORDER], b[MAX_ORDER];
        if (c->done + i == 0)
            continue;
        if (i > 0)
            coo_coordinates(piece, i - 1, a);
        coo_coordinates(piece, i, b);
        if (!ordering_precedes(&c->writer.alto.ordering, i > 0 ? a : c->last, b))
            first = i < first ? i : first;
    }
    return first;
}

static enum status copy_piece(void *context, struct coo *piece, struct error *error)
{
    struct copier *c = context;
    uint64_t misplaced = first_misplaced(c, piece);
    if (misplaced < piece->nnz)
        return error_set(error, STATUS_INPUT, "%s: damaged: nonzero number %ju is not in its place",
                         c->from->name, (uintmax_t)(c->done + misplaced + 1));
    if (piece->nnz == 0) /* of a file without nonzeros */
        return STATUS_OK;
    coo_coordinates(piece, piece->nnz - 1, c->last);
    c->done += piece->nnz;
    progress_update(c->how->progress, (double)c->done / (double)c->from->header->nnz,
                    "%.0f million nonzeros", (double)c->done / 1e6);
    if (c->how->change)
        TRY(value_change_apply(c->how->change, piece, NULL, error));
    return blco_writer_append(&c->writer, piece, NULL, piece->nnz, error);
}

enum status blco_copy(const struct blco_file *f, const struct blco_copying *how, uint64_t *bytes,
                      struct error *error)
{
    struct copier c = {.from = f, .how = how};
    const uint64_t part = how->memory / WRITER_PART;
    const struct blco_pieces pieces = blco_pieces_of(f, how->memory - part);
    TRY(blco_writer_open(&c.writer, how->path, &f->shape, part, error));
    c.writer.modes = f->modes;
    TRY_OR(done, blco_pieces_each(&pieces, copy_piece, &c, error));
    c.writer.listed.dropped = f->listed.dropped;
    blco_writer_commit(&c.writer, bytes, error);
done:
    blco_writer_discard(&c.writer);
    return error->status;
}
