#include "formats/blco/blco_pieces.h"

#include <omp.h>
#include <string.h>

#include "base/clock.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/number.h"
#include "formats/blco/blco_writer.h"
#include "formats/blco/segment_pack.h"
#include "formats/names/name_table.h"
#include "tensor/fingerprint.h"
#include "tensor/ordering.h"

#define NNZ_A_THREAD (4 * BLCO_SEGMENT_NNZ) /* so that all threads have work until the end */
#define STEP         16                     /* segments: about a million nonzeros          */
#define HASH_MEMORY  (UINT64_C(256) << 20)  /* bytes for decoded nonzeros, at most         */

/* --- reading --- */

struct blco_reading {
    struct blco_file own; /* the file, where this reader opened it */
    const struct blco_file *file;
    uint64_t next, end, length; /* segments: the next piece's first; the share's end; of a piece */
};

static bool blco_probe(const char *path, const char *bytes, size_t count)
{
    (void)path;
    return blco_file_magic(bytes, count);
}

static enum status blco_open(struct tensor_reader *r, struct error *error)
{
    struct blco_reading *b = r->state = memory_zeros(1, sizeof *b, error);
    TRY(error->status);
    if (!r->file)
        TRY(blco_file_open(&b->own, r->path, error));
    b->file = r->file ? r->file : &b->own;
    r->path = b->file->name;
    r->shape = b->file->shape;
    r->has_shares = true;
    r->identity[0] = b->file->header->file_bytes;
    r->identity[1] = b->file->header->header_crc;
    return STATUS_OK;
}

/* The segments of a piece for so much memory: some for each OpenMP thread, or as many as it holds,
 * but at least one. */
static uint64_t segments_within(const struct blco_file *f, uint64_t memory)
{
    const uint64_t fit = memory / coo_bytes(f->shape.order, 1);
    const uint64_t enough = (uint64_t)omp_get_max_threads() * NNZ_A_THREAD;
    const uint64_t segments = least_of(fit, enough) / f->header->segment_nnz;
    return segments > 0 ? segments : 1;
}

uint64_t blco_pieces_nnz(const struct blco_file *f, uint64_t memory)
{
    return blco_file_nnz(f, 0, segments_within(f, memory));
}

static enum status blco_next(struct tensor_reader *r, struct error *error)
{
    struct blco_reading *b = r->state;
    const struct blco_file *f = b->file;
    if (b->length == 0) {
        const uint64_t segments = b->file->header->nsegments;
        b->next = even_cut(segments, r->share, r->shares);
        b->end = even_cut(segments, r->share + 1, r->shares);
        b->length = STEP; /* for TENSOR_STEPS */
        if (r->cut == TENSOR_WHOLE)
            b->length = b->end - b->next + 1; /* also of a share without segments */
        else if (r->cut == TENSOR_PIECES)
            b->length = segments_within(b->file, r->memory);
    }
    const uint64_t end = b->next + least_of(b->end - b->next, b->length);
    const uint64_t nnz = blco_file_nnz(f, b->next, end);
    if (nnz > r->room || r->piece.shape.order == 0) {
        coo_free(&r->piece);
        r->room = 0;
        TRY(coo_create(&r->piece, &f->shape, nnz, error));
        r->room = nnz;
    }
    r->piece.nnz = nnz;
    TRY(blco_file_decode(f, b->next, end, &r->piece, error));
    const struct coo_listed listed = coo_count_listed(&r->piece);
    r->listed.unknown += listed.unknown;
    r->listed.zeros += listed.zeros;
    b->next = end;
    tensor_reader_set_piece(r, nnz, end == b->end);
    const uint64_t all = f->header->nnz;
    if (!r->over && all > 0)
        progress_update(r->progress, (double)r->entries * r->shares / (double)all, "%.1f million",
                        (double)r->entries / 1e6);
    return STATUS_OK;
}

static enum status blco_end(struct tensor_reader *r, struct error *error)
{
    const struct blco_file *f = ((const struct blco_reading *)r->state)->file;
    const uint64_t bytes = f->header->file_bytes;
    char how_fast[PACE_TEXT];
    if (r->listed.unknown != f->listed.unknown || r->listed.zeros != f->listed.zeros)
        return error_set(error, STATUS_INPUT,
                         "%s: damaged: %ju unknown entries and %ju zeros, expected %ju and %ju as "
                         "in the header",
                         f->name, (uintmax_t)r->listed.unknown, (uintmax_t)r->listed.zeros,
                         (uintmax_t)f->listed.unknown, (uintmax_t)f->listed.zeros);
    progress_done(r->progress, "%ju nonzeros, %s%s", (uintmax_t)f->header->nnz, NUMBER_SIZE(bytes),
                  pace_bytes(bytes, "", clock_now() - r->start, how_fast));
    return STATUS_OK;
}

static void blco_names(struct tensor_reader *r, struct tensor_names *names)
{
    const struct blco_reading *b = r->state;
    *names = (struct tensor_names){.modes = *b->file->modes};
}

static void blco_close(struct tensor_reader *r)
{
    struct blco_reading *b = r->state;
    blco_file_close(&b->own);
}

const struct tensor_format tensor_blco = {.name = "blco",
                                          .what = "a .blco file",
                                          .is_clean = true,
                                          .probe = blco_probe,
                                          .open = blco_open,
                                          .next = blco_next,
                                          .end = blco_end,
                                          .names = blco_names,
                                          .close = blco_close};

enum status blco_file_read(const struct blco_file *f, struct coo *x, struct progress *progress,
                           struct error *error)
{
    struct tensor_reader r = {.format = &tensor_blco, .file = f, .progress = progress};
    tensor_reader_whole(&r, x, error);
    tensor_reader_close(&r);
    return error->status;
}

enum status blco_pieces_hash(const struct blco_file *f, int share, int shares, uint64_t *hash,
                             struct error *error)
{
    struct tensor_reader r = {.format = &tensor_blco,
                              .file = f,
                              .cut = TENSOR_PIECES,
                              .memory = HASH_MEMORY,
                              .share = share,
                              .shares = shares};
    *hash = 0;
    TRY_OR(done, tensor_reader_open(&r, error));
    while (!r.over) {
        TRY_OR(done, tensor_reader_next(&r, error));
        *hash += fingerprint_hash(&r.piece, NULL);
    }
    if (shares == 1)
        tensor_reader_end(&r, error);
done:
    tensor_reader_close(&r);
    return error->status;
}

/* --- sampling --- */

/* The groups of a file that are decoded. */
struct sampling {
    const struct blco_file *file;
    uint64_t begin, end, every; /* every `every`-th group of segments [begin, end)          */
    uint64_t *place;            /* (end - begin) of a segment's first group among those taken */
    uint64_t groups;            /* that are taken                                           */
    uint32_t *count;            /* (groups) nonzeros of each                                */
    uint8_t *room;              /* blco_file_room; owned, as the arrays                     */
    struct linear_decoder decoder;
    struct coo *x;
};

/* The first group of segment s that is taken. Groups are counted over all segments, as if all
 * segments were full. */
static uint64_t first_group(const struct blco_file *f, uint64_t s, uint64_t every)
{
    uint64_t groups = (f->header->segment_nnz + PACKED_GROUP_NNZ - 1) / PACKED_GROUP_NNZ;
    uint64_t before = s % every * (groups % every) % every;
    return (every - before) % every;
}

/* Reads and decodes the groups of segment s to x, each from a multiple of PACKED_GROUP_NNZ on: the
 * entry of the table of groups and the words of the group, to their places in `bytes`; the decoder
 * checks them. False where a group cannot be read, lies outside or is damaged. */
static bool take_groups(const struct sampling *w, uint64_t s)
{
    const struct blco_file *f = w->file;
    const struct blco_file_segment *segment = &f->segment[s];
    const int line_bits = w->decoder.line_bits;
    const uint64_t stride = blco_group_stride(line_bits);
    uint8_t *bytes = w->room + (uint64_t)omp_get_thread_num() * f->most_bytes;
    uint64_t to = w->place[s - w->begin];
    for (uint64_t k = first_group(f, s, w->every); k < segment->ngroups; k += w->every, to++) {
        const uint64_t entry = k * stride;
        struct packed_group g;
        struct error unread = {0};
        if (entry + stride > segment->bytes ||
            infile_read(&f->in, bytes + entry, stride, segment->offset + entry, &unread) !=
                STATUS_OK)
            return false;
        segment_group_load(bytes, (uint32_t)k, line_bits, &g, NULL);
        const uint64_t words = blco_group_words(&g) * sizeof(uint32_t);
        if (g.at > segment->bytes || words > segment->bytes - g.at ||
            infile_read(&f->in, bytes + g.at, words, segment->offset + g.at, &unread) != STATUS_OK)
            return false;
        w->count[to] = segment_unpack_group(&w->decoder, bytes, segment, (uint32_t)k, w->x,
                                            to * PACKED_GROUP_NNZ);
        if (w->count[to] == 0)
            return false;
    }
    return true;
}

enum status blco_sample(struct coo *x, const struct blco_file *f, uint64_t begin, uint64_t end,
                        uint64_t every, struct error *error)
{
    struct sampling w = {.file = f, .begin = begin, .end = end, .every = every, .x = x};
    *x = (struct coo){0};
    struct ordering alto;
    w.place = memory_array(w.end - w.begin, sizeof *w.place, error);
    TRY_OR(done, error->status);
    for (uint64_t s = w.begin; s < w.end; s++) {
        w.place[s - w.begin] = w.groups;
        const uint64_t first = first_group(f, s, every), all = f->segment[s].ngroups;
        w.groups += first < all ? (all - first + every - 1) / every : 0;
    }
    w.count = memory_array(w.groups, sizeof *w.count, error);
    w.room = blco_file_room(f, error);
    TRY_OR(done, error->status);
    ordering_create(&alto, ORDERING_ALTO, &f->shape, 64);
    TRY_OR(done, linear_decoder_create(&w.decoder, &alto, error));
    TRY_OR(done, coo_create(x, &f->shape, w.groups * PACKED_GROUP_NNZ, error));
    uint64_t bad = UINT64_MAX;
#pragma omp parallel for schedule(dynamic, 16) reduction(min : bad)
    for (uint64_t s = w.begin; s < w.end; s++)
        if (!take_groups(&w, s) && s < bad)
            bad = s;
    TRY_OR(done, bad < UINT64_MAX ? blco_file_damaged(w.file, bad, error) : STATUS_OK);
    /* closes the gaps after groups that are not full */
    uint64_t to = 0;
    for (uint64_t g = 0; g < w.groups; g++) {
        coo_move(x, to, x, g * PACKED_GROUP_NNZ, w.count[g]);
        to += w.count[g];
    }
    x->nnz = to;
done:
    if (error->status != STATUS_OK)
        coo_free(x);
    linear_decoder_free(&w.decoder);
    memory_free(w.room, w.count, w.place);
    return error->status;
}

/* --- copying --- */

#define WRITER_PART 4 /* a quarter of the memory is for the writer */

struct copier {
    struct blco_writer writer;
    const struct blco_file *from;
    uint64_t done;            /* nonzeros copied so far          */
    uint32_t last[MAX_ORDER]; /* coordinates of the last of them */
    const struct blco_copying *how;
};

static enum status copy_piece(void *context, struct coo *piece, struct error *error)
{
    struct copier *c = context;
    uint64_t misplaced = piece->nnz; /* the first that does not come after its predecessor */
#pragma omp parallel for schedule(static) reduction(min : misplaced)
    for (uint64_t i = 0; i < piece->nnz; i++) {
        uint32_t a[MAX_ORDER], b[MAX_ORDER];
        if (c->done + i == 0)
            continue;
        if (i > 0)
            coo_coordinates(piece, i - 1, a);
        coo_coordinates(piece, i, b);
        if (!ordering_precedes(&c->writer.alto.ordering, i > 0 ? a : c->last, b))
            misplaced = i < misplaced ? i : misplaced;
    }
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
    struct tensor_reader r = {.format = &tensor_blco,
                              .file = f,
                              .cut = TENSOR_PIECES,
                              .memory = how->memory - part > 0 ? how->memory - part : 1};
    TRY(blco_writer_open(&c.writer, how->path, &f->shape, part, error));
    c.writer.modes = how->modes ? how->modes : f->modes;
    TRY_OR(done, tensor_reader_each(&r, copy_piece, &c, error));
    c.writer.listed.dropped = f->listed.dropped;
    blco_writer_commit(&c.writer, bytes, error);
done:
    blco_writer_discard(&c.writer);
    return error->status;
}
