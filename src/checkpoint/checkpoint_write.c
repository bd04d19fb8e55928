#include <stdlib.h>
#include <string.h>

#include <isa-l/crc64.h>
#include <stddef.h>

#include "base/least.h"
#include "base/memory.h"
#include "checkpoint/checkpoint.h"

#define PIECE_BYTES (UINT64_C(16) << 20) /* about; several threads can check a file */

enum status checkpoint_output_begin(struct checkpoint_output *o, struct outfile *file,
                                    const struct checkpoint_about *about, struct error *error)
{
    *o = (struct checkpoint_output){.file = file, .about = *about};
    if (!checkpoint_layout(&o->layout, &about->tensor.shape, about->problem.rank,
                           about->momentum.extrapolated, checkpoint_has_best(about)))
        return error_set(error, STATUS_OUTPUT, "%s: cannot be written: larger than files can be",
                         file->path);
    return STATUS_OK;
}

/* Writes rows first to first + count - 1 of a matrix, in pieces. */
static enum status write_rows(struct checkpoint_output *o, const struct checkpoint_matrix *m,
                              const double *matrix, uint64_t first, uint64_t count,
                              struct error *error)
{
    const uint64_t row = o->layout.row_bytes;
    const uint64_t most = ktensor_rows_of_bytes(PIECE_BYTES, o->about.problem.rank);
    for (uint64_t done = 0; done < count; done += most) {
        const uint64_t rows = least_of(most, count - done), at = first + done;
        const uint8_t *bytes = (const uint8_t *)matrix + done * row;
        if (o->count == o->room) {
            o->room = 2 * o->room + 64;
            TRY(memory_resize(&o->piece, o->room, sizeof *o->piece, error));
        }
        struct checkpoint_piece *p = &o->piece[o->count++];
        *p = (struct checkpoint_piece){.kind = m->kind,
                                       .version = 1,
                                       .mode = (uint32_t)(m->mode + 1),
                                       .first = at,
                                       .rows = rows,
                                       .offset = m->offset + at * row,
                                       .bytes = rows * row};
        p->crc = crc64_ecma_refl(0, bytes, p->bytes);
        TRY(outfile_write_at(o->file, bytes, p->bytes, p->offset, error));
    }
    return STATUS_OK;
}

static enum status put_rows(void *context, const struct ktensor *piece, struct error *error)
{
    struct checkpoint_output *o = context;
    for (int i = 0; i < o->layout.count; i++) {
        const struct checkpoint_matrix *m = &o->layout.matrix[i];
        if (m->model == o->model && m->array == CHECKPOINT_FACTOR)
            TRY(write_rows(o, m, piece->factor[m->mode], piece->first[m->mode],
                           piece->shape.dims[m->mode], error));
    }
    return STATUS_OK;
}

enum status checkpoint_output_put(struct checkpoint_output *o, enum checkpoint_model model,
                                  const struct ktensor_source *rows, const struct carried *carried,
                                  struct error *error)
{
    const uint64_t rank = o->about.problem.rank;
    for (int i = 0; carried && i < o->layout.count; i++) {
        const struct checkpoint_matrix *m = &o->layout.matrix[i];
        if (m->model != model || m->array == CHECKPOINT_FACTOR)
            continue;
        const double *matrix = m->array == CHECKPOINT_LAMBDA ? rows->k->lambda
                               : m->array == CHECKPOINT_SCALE
                                   ? carried->scale + (uint64_t)m->mode * rank
                                   : carried->gram + (uint64_t)m->mode * rank * rank;
        TRY(write_rows(o, m, matrix, 0, m->rows, error));
    }
    o->model = model;
    return ktensor_pieces(rows, 4 * ktensor_rows_of_bytes(PIECE_BYTES, rank), put_rows, o, error);
}

void checkpoint_output_free(struct checkpoint_output *o)
{
    memory_free(o->piece);
    *o = (struct checkpoint_output){0};
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

#define WRITE(member, field)       h->field = (__typeof__(h->field))a->member;
#define WRITE_MODES(member, field) memcpy(h->field, a->member, (size_t)h->order * sizeof *h->field);

static void make_header(struct checkpoint_header *h, const struct checkpoint_about *a)
{
    *h = (struct checkpoint_header){.byte_order = CHECKPOINT_BYTE_ORDER,
                                    .version = CHECKPOINT_VERSION,
                                    .order = (uint32_t)a->tensor.shape.order,
                                    .precision = CHECKPOINT_DOUBLE};
    if (a->problem.precision == POLICY_AUTO)
        h->precision =
            a->factors == PRECISION_SINGLE ? CHECKPOINT_AUTO_SINGLE : CHECKPOINT_AUTO_DOUBLE;
    else if (a->problem.precision == POLICY_SINGLE)
        h->precision = CHECKPOINT_SINGLE;
    uint32_t modes = (UINT32_C(1) << h->order) - 1;
    CHECKPOINT_FIELDS(WRITE)
    memcpy(h->magic, CHECKPOINT_MAGIC, CHECKPOINT_MAGIC_BYTES);
    memcpy(h->dims, a->tensor.shape.dims, (size_t)h->order * sizeof *h->dims);
    CHECKPOINT_MODE_FIELDS(WRITE_MODES)
    h->nonneg = mode_rules_bits(a->problem.rules.nonneg) & modes;
    h->fixed = mode_rules_bits(a->problem.rules.fixed) & modes;
    if (!a->has_momentum)
        return;
    h->momentum = CHECKPOINT_MOMENTUM;
    if (a->momentum.extrapolated)
        h->momentum |= CHECKPOINT_EXTRAPOLATED;
    if (a->momentum.rejected)
        h->momentum |= CHECKPOINT_REJECTED;
    CHECKPOINT_MOMENTUM_FIELDS(WRITE)
}

enum status checkpoint_output_end(struct checkpoint_output *o, struct error *error)
{
    uint8_t page[CHECKPOINT_PAGE] = {0};
    struct checkpoint_header h;
    const struct checkpoint_piece *last = &o->piece[o->count - 1];
    size_t bytes = o->count * sizeof *o->piece;
    make_header(&h, &o->about);
    qsort(o->piece, o->count, sizeof *o->piece, compare_places);
    h.pieces = o->count;
    h.directory_offset = last->offset + last->bytes;
    h.file_bytes = h.directory_offset + bytes;
    h.directory_crc = crc64_ecma_refl(0, (const uint8_t *)o->piece, bytes);
    memcpy(page, &h, sizeof h);
    h.header_crc = checkpoint_page_crc(page);
    memcpy(page, &h, sizeof h);
    TRY(outfile_write_at(o->file, o->piece, bytes, h.directory_offset, error));
    return outfile_write_at(o->file, page, sizeof page, 0, error);
}

/* The kinds of lambda, scales, Grams and factor matrices of each model. */
static const enum checkpoint_kind kinds[CHECKPOINT_MODELS][CHECKPOINT_FACTOR] = {
    [CHECKPOINT_STATE] = {CHECKPOINT_LAMBDA, CHECKPOINT_SCALE, CHECKPOINT_GRAM, CHECKPOINT_FACTOR},
    [CHECKPOINT_PREVIOUS] = {0, CHECKPOINT_PREVIOUS_SCALE, CHECKPOINT_PREVIOUS_GRAM,
                             CHECKPOINT_PREVIOUS_FACTOR},
    [CHECKPOINT_BEST] = {CHECKPOINT_BEST_LAMBDA, CHECKPOINT_BEST_SCALE, CHECKPOINT_BEST_GRAM,
                         CHECKPOINT_BEST_FACTOR}};

bool checkpoint_layout(struct checkpoint_layout *l, const struct shape *shape, uint64_t rank,
                       bool previous, bool best)
{
    const bool has[CHECKPOINT_MODELS] = {true, previous, best};
    *l = (struct checkpoint_layout){.end = CHECKPOINT_PAGE};
    if (__builtin_mul_overflow(rank, sizeof(double), &l->row_bytes))
        return false;
    for (enum checkpoint_model model = 0; model < CHECKPOINT_MODELS; model++)
        for (enum checkpoint_kind array = CHECKPOINT_LAMBDA; array <= CHECKPOINT_FACTOR; array++) {
            const enum checkpoint_kind kind = kinds[model][array - CHECKPOINT_LAMBDA];
            const bool lambda = array == CHECKPOINT_LAMBDA; /* of no mode */
            for (int n = lambda ? -1 : 0; has[model] && kind && n < (lambda ? 0 : shape->order);
                 n++) {
                const uint64_t rows = array == CHECKPOINT_GRAM     ? rank
                                      : array == CHECKPOINT_FACTOR ? shape->dims[n]
                                                                   : 1;
                uint64_t bytes, end;
                if (__builtin_mul_overflow(rows, l->row_bytes, &bytes) ||
                    __builtin_add_overflow(l->end, bytes, &end) || end > INT64_MAX)
                    return false;
                l->matrix[l->count++] =
                    (struct checkpoint_matrix){model, array, kind, n, rows, l->end};
                l->end = end;
            }
        }
    return true;
}

uint64_t checkpoint_page_crc(const void *page)
{
    static const uint8_t zeros[sizeof(uint64_t)];
    const uint8_t *bytes = page;
    size_t at = offsetof(struct checkpoint_header, header_crc), after = at + sizeof zeros;
    uint64_t crc = crc64_ecma_refl(0, bytes, at);
    crc = crc64_ecma_refl(crc, zeros, sizeof zeros);
    return crc64_ecma_refl(crc, bytes + after, CHECKPOINT_PAGE - after);
}
