#include <stdlib.h>
#include <string.h>

#include <isa-l/crc64.h>

#include "base/memory.h"
#include "checkpoint/checkpoint.h"

#define PIECE_BYTES (UINT64_C(16) << 20) /* about; several threads can check a file */

/* The rows of a matrix that are written here. */
struct source {
    const double *rows;
    uint64_t first, count;
};

/* shared: as in checkpoint_write_rows. */
static struct source source_of(const struct checkpoint_matrix *m,
                               const struct checkpoint_rows *models, bool shared)
{
    const struct checkpoint_rows *model = &models[m->model];
    const uint64_t rank = models[CHECKPOINT_STATE].rows.rank, mode = (uint64_t)m->mode;
    if (m->array == CHECKPOINT_FACTOR)
        return (struct source){model->rows.factor[mode], model->rows.first[mode],
                               model->rows.shape.dims[mode]};
    if (!shared)
        return (struct source){0};
    const double *all = m->array == CHECKPOINT_LAMBDA  ? model->rows.lambda
                        : m->array == CHECKPOINT_SCALE ? model->carried.scale + mode * rank
                                                       : model->carried.gram + mode * rank * rank;
    return (struct source){all, 0, m->rows};
}

static uint64_t rows_of_piece(const struct checkpoint_layout *l)
{
    return l->row_bytes < PIECE_BYTES ? PIECE_BYTES / l->row_bytes : 1;
}

static enum status allocate(struct checkpoint_pieces *pieces, const struct checkpoint_layout *l,
                            const struct checkpoint_rows *model, bool shared, struct error *error)
{
    uint64_t count = 0, most = rows_of_piece(l);
    for (int i = 0; i < l->count; i++)
        count += (source_of(&l->matrix[i], model, shared).count + most - 1) / most;
    pieces->piece = memory_zeros(count, sizeof *pieces->piece, error);
    return error->status;
}

static enum status write_matrix(struct outfile *f, const struct checkpoint_layout *l,
                                const struct checkpoint_matrix *m, const struct source *s,
                                struct checkpoint_pieces *pieces, struct error *error)
{
    uint64_t most = rows_of_piece(l);
    for (uint64_t done = 0; done < s->count;) {
        uint64_t left = s->count - done, rows = left < most ? left : most, first = s->first + done;
        const uint8_t *bytes = (const uint8_t *)s->rows + done * l->row_bytes;
        struct checkpoint_piece *p = &pieces->piece[pieces->count++];
        *p = (struct checkpoint_piece){.kind = m->kind,
                                       .version = 1,
                                       .mode = (uint32_t)(m->mode + 1),
                                       .first = first,
                                       .rows = rows,
                                       .offset = m->offset + first * l->row_bytes,
                                       .bytes = rows * l->row_bytes};
        p->crc = crc64_ecma_refl(0, bytes, p->bytes);
        TRY(outfile_write_at(f, bytes, p->bytes, p->offset, error));
        done += rows;
    }
    return STATUS_OK;
}

enum status checkpoint_write_rows(struct outfile *f, const struct checkpoint_about *about,
                                  const struct checkpoint_rows *model, bool shared,
                                  struct checkpoint_pieces *pieces, struct error *error)
{
    struct checkpoint_layout l;
    *pieces = (struct checkpoint_pieces){0};
    if (!checkpoint_layout(&l, &about->tensor.shape, about->problem.rank,
                           about->momentum.extrapolated, checkpoint_has_best(about)))
        return error_set(error, STATUS_OUTPUT, "%s: cannot be written: larger than files can be",
                         f->path);
    TRY(allocate(pieces, &l, model, shared, error));
    for (int i = 0; i < l.count; i++) {
        struct source s = source_of(&l.matrix[i], model, shared);
        TRY_OR(failed, write_matrix(f, &l, &l.matrix[i], &s, pieces, error));
    }
    return STATUS_OK;
failed:
    memory_free(pieces->piece);
    *pieces = (struct checkpoint_pieces){0};
    return error->status;
}

void checkpoint_rows_free(struct checkpoint_rows *model)
{
    for (int m = 0; m < CHECKPOINT_MODELS; m++) {
        ktensor_free(&model[m].rows);
        carried_free(&model[m].carried);
    }
}

static int compare_places(const void *left, const void *right)
{
    const struct checkpoint_piece *a = left, *b = right;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

#define WRITE(member, field) h->field = (__typeof__(h->field))a->member;

static void put_momentum(struct checkpoint_header *h, const struct checkpoint_about *a)
{
    if (!a->has_momentum)
        return;
    h->momentum = CHECKPOINT_MOMENTUM;
    if (a->momentum.extrapolated)
        h->momentum |= CHECKPOINT_EXTRAPOLATED;
    if (a->momentum.rejected)
        h->momentum |= CHECKPOINT_REJECTED;
    CHECKPOINT_MOMENTUM_FIELDS(WRITE)
}

static uint32_t precision_of(const struct checkpoint_about *a)
{
    if (a->problem.precision == POLICY_AUTO)
        return a->factors == PRECISION_SINGLE ? CHECKPOINT_AUTO_SINGLE : CHECKPOINT_AUTO_DOUBLE;
    return a->problem.precision == POLICY_SINGLE ? CHECKPOINT_SINGLE : CHECKPOINT_DOUBLE;
}

static void make_header(struct checkpoint_header *h, const struct checkpoint_about *a)
{
    *h = (struct checkpoint_header){.byte_order = CHECKPOINT_BYTE_ORDER,
                                    .version = CHECKPOINT_VERSION,
                                    .order = (uint32_t)a->tensor.shape.order,
                                    .precision = precision_of(a)};
    uint32_t modes = (UINT32_C(1) << h->order) - 1;
    CHECKPOINT_FIELDS(WRITE)
    memcpy(h->magic, CHECKPOINT_MAGIC, CHECKPOINT_MAGIC_BYTES);
    memcpy(h->dims, a->tensor.shape.dims, (size_t)h->order * sizeof *h->dims);
    memcpy(h->ridge, a->problem.rules.ridge, (size_t)h->order * sizeof *h->ridge);
    h->nonneg = mode_rules_bits(a->problem.rules.nonneg) & modes;
    h->fixed = mode_rules_bits(a->problem.rules.fixed) & modes;
    put_momentum(h, a);
}

enum status checkpoint_write_directory(struct outfile *f, const struct checkpoint_about *about,
                                       struct checkpoint_pieces *pieces, struct error *error)
{
    uint8_t page[CHECKPOINT_PAGE] = {0};
    struct checkpoint_header h;
    const struct checkpoint_piece *last = &pieces->piece[pieces->count - 1];
    size_t bytes = pieces->count * sizeof *pieces->piece;
    make_header(&h, about);
    qsort(pieces->piece, pieces->count, sizeof *pieces->piece, compare_places);
    h.pieces = pieces->count;
    h.directory_offset = last->offset + last->bytes;
    h.file_bytes = h.directory_offset + bytes;
    h.directory_crc = crc64_ecma_refl(0, (const uint8_t *)pieces->piece, bytes);
    memcpy(page, &h, sizeof h);
    h.header_crc = checkpoint_page_crc(page);
    memcpy(page, &h, sizeof h);
    TRY(outfile_write_at(f, pieces->piece, bytes, h.directory_offset, error));
    return outfile_write_at(f, page, sizeof page, 0, error);
}
