#include "formats/blco/blco_file.h"

#include <omp.h>
#include <stddef.h>

#include <isa-l/crc64.h>

#include "base/memory.h"
#include "formats/blco/segment_pack.h"
#include "formats/blco/value_codec.h"
#include "tensor/ordering.h"

bool blco_file_magic(const void *bytes, size_t size)
{
    return size >= BLCO_MAGIC_BYTES && memcmp(bytes, BLCO_MAGIC, BLCO_MAGIC_BYTES) == 0;
}

/* The checksum of the first page, with 0 in place of the checksum itself. */
static uint64_t page_crc(const char *page)
{
    static const uint8_t zeros[sizeof(uint64_t)];
    const uint8_t *bytes = (const uint8_t *)page;
    size_t at = offsetof(struct blco_file_header, header_crc), end = at + sizeof zeros;
    uint64_t crc = crc64_ecma_refl(0, bytes, at);
    crc = crc64_ecma_refl(crc, zeros, sizeof zeros);
    return crc64_ecma_refl(crc, bytes + end, BLCO_PAGE - end);
}

static enum status damaged(const struct blco_file *f, const char *what, struct error *error)
{
    return error_set(error, STATUS_INPUT, "%s: damaged: %s", f->name, what);
}

static bool all_zero(const char *bytes, uint64_t count)
{
    return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

/* Reads the first page, or all of a shorter file, and checks what it says of itself and of the
 * tensor. */
static enum status read_page(struct blco_file *f, struct error *error)
{
    const uint64_t size = f->in.size, length = size < BLCO_PAGE ? size : BLCO_PAGE;
    f->page = memory_zeros(BLCO_PAGE, 1, error);
    TRY(error->status);
    TRY(infile_read(&f->in, f->page, length, 0, error));
    const struct blco_file_header *h = f->header = (const void *)f->page;
    f->modes = (const void *)(f->page + BLCO_NAMES_OFFSET);
    if (!blco_file_magic(f->page, length))
        return error_set(error, STATUS_INPUT, "%s: not a .blco file", f->name);
    if (size < BLCO_PAGE)
        return error_set(error, STATUS_INPUT, "%s: cut off: %ju bytes, expected at least %d",
                         f->name, (uintmax_t)size, BLCO_PAGE);
    if (h->byte_order == __builtin_bswap32(BLCO_BYTE_ORDER))
        return error_set(error, STATUS_INPUT,
                         "%s: written by a machine with another byte order than this one", f->name);
    if (h->byte_order == BLCO_BYTE_ORDER && h->version != BLCO_FORMAT_VERSION)
        return error_set(error, STATUS_INPUT,
                         "%s: version %u of the format, but this blco reads version %d only",
                         f->name, h->version, BLCO_FORMAT_VERSION);
    if (h->byte_order != BLCO_BYTE_ORDER || h->header_crc != page_crc(f->page))
        return damaged(f, "the header's checksum is wrong", error);
    if (h->file_bytes > size)
        return error_set(error, STATUS_INPUT, "%s: cut off: %ju bytes, expected %ju", f->name,
                         (uintmax_t)size, (uintmax_t)h->file_bytes);
    if (h->order < 1 || h->order > MAX_ORDER)
        return error_set(error, STATUS_INPUT,
                         "%s: damaged: %u modes in the header, expected 1 to %d", f->name, h->order,
                         MAX_ORDER);
    for (uint32_t n = 0; n < h->order; n++)
        if (h->dims[n] < 1 || h->dims[n] > MAX_LENGTH)
            return error_set(error, STATUS_INPUT,
                             "%s: damaged: mode %u: length %ju in the header, expected 1 to %ju",
                             f->name, n + 1, (uintmax_t)h->dims[n], (uintmax_t)MAX_LENGTH);
    if (h->nnz > MAX_NNZ)
        return error_set(error, STATUS_INPUT,
                         "%s: damaged: %ju nonzeros in the header, expected at most %ju", f->name,
                         (uintmax_t)h->nnz, (uintmax_t)MAX_NNZ);
    return STATUS_OK;
}

/* Checks the places of data and directory in the header, which follow from other fields. The
 * message is about the first wrong field. */
static enum status check_places(const struct blco_file *f, struct error *error)
{
    const struct blco_file_header *h = f->header;
    const uint64_t size = f->in.size;
    const uint64_t segments = (h->nnz + BLCO_SEGMENT_NNZ - 1) / BLCO_SEGMENT_NNZ;
    const uint64_t most = h->data_bytes <= size ? h->data_bytes : size;
    const uint64_t data = most - most % BLCO_SEGMENT_ALIGN; /* segments have whole units */
    const uint64_t directory = blco_round_up(BLCO_PAGE + data, BLCO_PAGE);
    const struct {
        const char *name;
        uint64_t found, expected;
    } field[] = {
        {"segment_nnz", h->segment_nnz, BLCO_SEGMENT_NNZ},
        {"nsegments", h->nsegments, segments},
        {"file_bytes", h->file_bytes, size},
        {"data_offset", h->data_offset, BLCO_PAGE},
        {"data_bytes", h->data_bytes, data},
        {"directory_offset", h->directory_offset, directory},
        {"file_bytes", h->file_bytes, directory + segments * sizeof *f->segment},
    };
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        if (field[i].found != field[i].expected)
            return error_set(error, STATUS_INPUT,
                             "%s: damaged: the header contradicts itself or the file: %s is %ju, "
                             "expected %ju",
                             f->name, field[i].name, (uintmax_t)field[i].found,
                             (uintmax_t)field[i].expected);
    return STATUS_OK;
}

/* Whether the segment has enough bytes and groups for its nonzeros; each takes at least a bit, so
 * that no header can claim more nonzeros than eight times the bytes of its file. At most, a nonzero
 * has the low bits of its line and a value; a group its entry, its bit vector and two words that
 * are not full. */
static bool segment_is_possible(const struct blco_file_segment *s, uint64_t nnz, uint64_t stride)
{
    const uint64_t nonzero = (PACKED_NUMBER_BITS + 64) / 8;
    const uint64_t group = stride + (PACKED_UPPER_WORDS + 2) * sizeof(uint32_t);
    return s->bytes % BLCO_SEGMENT_ALIGN == 0 && s->ngroups <= nnz &&
           s->ngroups >= (nnz + PACKED_GROUP_NNZ - 1) / PACKED_GROUP_NNZ &&
           s->ngroups * stride + (nnz + 7) / 8 <= s->bytes &&
           s->bytes <= nnz * nonzero + s->ngroups * group + BLCO_SEGMENT_ALIGN;
}

/* Checks that the segments fill the data without a gap. */
static enum status check_segments(struct blco_file *f, struct error *error)
{
    const struct blco_file_header *h = f->header;
    const struct shape shape = shape_of((int)h->order, h->dims);
    uint64_t stride = blco_group_stride(ordering_line_bits(&shape));
    uint64_t at = h->data_offset, end = h->data_offset + h->data_bytes, s = 0;
    for (; s < h->nsegments; s++) {
        const struct blco_file_segment *segment = &f->segment[s];
        if (segment->offset != at || segment->bytes > end - at ||
            !segment_is_possible(segment, blco_file_nnz(f, s, s + 1), stride))
            break;
        at += segment->bytes;
        f->most_bytes = segment->bytes > f->most_bytes ? segment->bytes : f->most_bytes;
    }
    if (s < h->nsegments || at != end)
        return error_set(error, STATUS_INPUT,
                         "%s: damaged: entry %ju of the directory contradicts the header", f->name,
                         (uintmax_t)(s < h->nsegments ? s + 1 : s));
    return STATUS_OK;
}

/* Whether the text is shorter than its room and zeros fill the rest; it is empty unless it may be
 * `there`: modes that the tensor lacks have no text. */
static bool is_text(const char *text, size_t room, bool there)
{
    const size_t length = strnlen(text, room);
    return length < room && (length == 0 || there) && all_zero(text + length, room - length);
}

/* Reads all that follows the data; check_places has found its place sound. */
static enum status read_tail(struct blco_file *f, struct error *error)
{
    const struct blco_file_header *h = f->header;
    uint64_t end = h->data_offset + h->data_bytes, bytes = f->in.size - end;
    f->tail = memory_array(bytes, 1, error);
    TRY(error->status);
    TRY(infile_read(&f->in, f->tail, bytes, end, error));
    /* bytes that are not used are zero, so that all files of a tensor are alike */
    bool zero = h->unused == 0;
    for (uint32_t n = h->order; n < MAX_ORDER; n++)
        zero = zero && h->dims[n] == 0;
    if (!zero)
        return damaged(f, "a field of the header that is not used is not 0", error);
    if (!all_zero(f->page + sizeof *h, BLCO_NAMES_OFFSET - sizeof *h))
        return damaged(f, "the first page is not 0 after the header", error);
    if (!all_zero(f->tail, h->directory_offset - end))
        return damaged(f, "the bytes between data and directory are not 0", error);
    for (uint32_t n = 0; n < MAX_ORDER; n++) {
        const bool there = n < h->order;
        if (!is_text(f->modes->name[n], MODE_NAME_BYTES, there) ||
            !is_text(f->modes->bin[n], SOURCE_TEXT, there) ||
            !is_text(f->modes->order[n], SOURCE_TEXT, there))
            return error_set(error, STATUS_INPUT,
                             "%s: damaged: the name of mode %u in the header is not in order",
                             f->name, n + 1);
    }
    if (!is_text(f->modes->value, MODE_NAME_BYTES, true) ||
        !is_text(f->modes->change, SOURCE_TEXT, true))
        return damaged(f, "what the header says of the values is not in order", error);
    f->segment = (const void *)(f->tail + (h->directory_offset - end));
    if (crc64_ecma_refl(0, (const uint8_t *)f->tail, bytes) != h->directory_crc)
        return damaged(f, "the directory's checksum is wrong", error);
    return STATUS_OK;
}

enum status blco_file_open(struct blco_file *f, const char *path, struct error *error)
{
    *f = (struct blco_file){.name = path};
    TRY_OR(done, infile_open(&f->in, f->name, error));
    TRY_OR(done, read_page(f, error));
    TRY_OR(done, check_places(f, error));
    TRY_OR(done, read_tail(f, error));
    const struct blco_file_header *h = f->header;
    f->listed = (struct coo_listed){h->unknown, h->zeros, h->dropped};
    if (f->listed.unknown > h->nnz || f->listed.zeros > h->nnz - f->listed.unknown)
        TRY_OR(
            done,
            error_set(error, STATUS_INPUT,
                      "%s: damaged: %ju unknown entries and %ju zeros in the header, expected at "
                      "most the %ju nonzeros",
                      f->name, (uintmax_t)f->listed.unknown, (uintmax_t)f->listed.zeros,
                      (uintmax_t)h->nnz));
    TRY_OR(done, check_segments(f, error));
    f->shape = shape_of((int)f->header->order, f->header->dims);
done:
    if (error->status != STATUS_OK)
        blco_file_close(f);
    return error->status;
}

void blco_file_close(struct blco_file *f)
{
    infile_close(&f->in);
    memory_free(f->page, f->tail);
    *f = (struct blco_file){0};
}

uint64_t blco_file_nnz(const struct blco_file *f, uint64_t begin, uint64_t end)
{
    uint64_t length = f->header->segment_nnz, nnz = f->header->nnz;
    uint64_t first = begin * length, last = end * length;
    return (last < nnz ? last : nnz) - (first < nnz ? first : nnz);
}

uint8_t *blco_file_room(const struct blco_file *f, struct error *error)
{
    return memory_array((size_t)omp_get_max_threads(), f->most_bytes, error);
}

/* The kinds of values that the file may have. */
static struct value_kinds values_of(const struct blco_file *f)
{
    return (struct value_kinds){.unknown = f->listed.unknown > 0, .zeros = f->listed.zeros > 0};
}

enum status blco_file_segment(const struct blco_file *f, uint64_t s, int line_bits, uint8_t *bytes,
                              struct error *error)
{
    const struct blco_file_segment *segment = &f->segment[s];
    TRY(infile_read(&f->in, bytes, segment->bytes, segment->offset, error));
    bool good = crc64_ecma_refl(0, bytes, segment->bytes) == segment->crc &&
                segment_is_sound(bytes, segment, line_bits, (uint32_t)blco_file_nnz(f, s, s + 1)) &&
                segment_values_are(bytes, segment, line_bits, values_of(f));
    if (!good)
        return blco_file_damaged(f, s, error);
    return STATUS_OK;
}

enum status blco_file_damaged(const struct blco_file *f, uint64_t s, struct error *error)
{
    return error_set(error, STATUS_INPUT,
                     "%s: damaged: nonzeros from number %ju on contradict its tables and checksums",
                     f->name, (uintmax_t)(s * f->header->segment_nnz + 1));
}

/* Reads segment s to `bytes`, and decodes it to the nonzeros of x from `first` on. */
static enum status decode_segment(const struct blco_file *f, uint64_t s,
                                  const struct linear_decoder *d, uint8_t *bytes, struct coo *x,
                                  uint64_t first, struct error *error)
{
    const struct blco_file_segment *segment = &f->segment[s];
    TRY(infile_read(&f->in, bytes, segment->bytes, segment->offset, error));
    if (crc64_ecma_refl(0, bytes, segment->bytes) != segment->crc)
        return error_set(error, STATUS_INPUT,
                         "%s: damaged: the checksum of nonzeros from number %ju on is wrong",
                         f->name, (uintmax_t)(s * f->header->segment_nnz + 1));
    const uint64_t before = s * f->header->segment_nnz;
    const uint32_t count = (uint32_t)blco_file_nnz(f, s, s + 1);
    if (!segment_unpack(d, bytes, segment, x, first, count))
        return error_set(error, STATUS_INPUT,
                         "%s: damaged: nonzeros from number %ju on contradict its tables", f->name,
                         (uintmax_t)before + 1);
    uint64_t bad = value_codec_first_bad(x->value + first, count, values_of(f));
    if (bad < count)
        return error_set(error, STATUS_INPUT,
                         "%s: damaged: the value of nonzero number %ju is %g, expected a finite "
                         "number that is not 0",
                         f->name, (uintmax_t)(before + bad + 1), x->value[first + bad]);
    return STATUS_OK;
}

/* The message is about the first damaged segment, whichever thread finds it. */
enum status blco_file_decode(const struct blco_file *f, uint64_t begin, uint64_t end, struct coo *x,
                             struct error *error)
{
    uint64_t bad = UINT64_MAX;
    struct ordering alto;
    struct linear_decoder decoder = {0};
    uint8_t *room = blco_file_room(f, error);
    ordering_create(&alto, ORDERING_ALTO, &x->shape, 64);
    TRY_OR(done, error->status);
    TRY_OR(done, linear_decoder_create(&decoder, &alto, error));
#pragma omp parallel for schedule(dynamic)
    for (uint64_t s = begin; s < end; s++) {
        struct error own = {0};
        uint8_t *bytes = room + (uint64_t)omp_get_thread_num() * f->most_bytes;
        decode_segment(f, s, &decoder, bytes, x, blco_file_nnz(f, begin, s), &own);
        error_take_first(error, &bad, s, &own);
    }
done:
    linear_decoder_free(&decoder);
    memory_free(room);
    return error->status;
}
