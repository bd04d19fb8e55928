#include "backend/cuda/tensor/device_coo.h"

#include <omp.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "base/memory.h"
#include "formats/blco/decoded_layout.h"
#include "formats/blco/packed_tensor.h"
#include "formats/blco/segment_rows.h"
#include "kernels/arrays/arrays.h"
#include "kernels/packed/unpack.h"
#include "kernels/tensor/part.h"

#define DECODER_NNZ (1 << 22) /* nonzeros that are decoded at a time, at most */

/* Segments of a .blco file, which are copied to device memory as they are and decoded there, some
 * at a time. */
struct decoder {
    const struct blco_file *file;   /* borrowed                                               */
    const struct device_pool *pool; /* of the arrays; borrowed                                */
    struct packed_layout layout;    /* of the words to which nonzeros are decoded             */
    uint64_t *number;               /* (segments) their numbers in the file, ascending; owned */
    uint64_t segments;
    uint64_t at_once;               /* segments that are decoded at a time                    */
    uint64_t size;                  /* bytes of all segments                                  */
    struct unpack_segment *host;    /* (segments); owned                                      */
    struct unpack_segment *segment; /* (segments); device, owned                              */
    struct packed_spread *spread;   /* (1); device, owned                                     */
    int *damaged;                   /* (1); device, owned                                     */
    uint8_t *bytes;                 /* device, owned                                          */
};

_Static_assert(DECODER_NNZ >= BLCO_SEGMENT_NNZ, "a segment is decoded at a time");

static const char doing[] = "decoding the tensor on the GPU";

/* Takes room and fills the tables. The caller has set d->file, pool, layout, number and segments;
 * the other members are 0. *d owns `number` from now on, after a failure too. The segments' room
 * has at least `room` bytes. The caller closes *d, after a failure too. STATUS_MEMORY. */
static enum status decoder_open(struct decoder *d, uint64_t room, struct error *error)
{
    const struct device_pool *pool = d->pool;
    struct packed_spread spread;
    d->at_once = DECODER_NNZ / d->file->header->segment_nnz;
    d->host = memory_array(d->segments, sizeof *d->host, error);
    TRY(error->status);
    for (uint64_t k = 0; k < d->segments; k++) {
        const struct blco_file_segment *s = &d->file->segment[d->number[k]];
        d->host[k] = (struct unpack_segment){d->size, s->ngroups};
        d->size += s->bytes;
    }
    decoded_layout_spread(&spread, &d->layout, ORDERING_ALTO, &d->file->shape);
    d->bytes = device_pool_take(pool, d->size > room ? d->size : room, 1, error);
    TRY(error->status);
    d->segment = device_pool_take(pool, d->segments, sizeof *d->segment, error);
    d->spread = device_pool_take(pool, 1, sizeof *d->spread, error);
    d->damaged = device_pool_take(pool, 1, sizeof *d->damaged, error);
    TRY(error->status);
    TRY(device_copy(d->segment, d->host, d->segments * sizeof *d->host, pool->stream, doing,
                    error));
    TRY(device_copy(d->spread, &spread, sizeof spread, pool->stream, doing, error));
    TRY(cuda_status(cudaMemsetAsync(d->damaged, 0, sizeof *d->damaged, pool->stream), doing,
                    error));
    return cuda_status(cudaStreamSynchronize(pool->stream), doing, error); /* `spread` is read */
}

/* The state of sending the segments. The staging cuts them into parts without regard to segments.
 */
struct sending {
    const struct decoder *decoder;
    uint8_t *room; /* (threads x the file's most_bytes): a segment of each thread; owned */
    uint64_t *bad; /* the first segment that is damaged                                  */
    struct error *worst;
};

/* device_staging_write: reads and checks the segments that have bytes in this part of the array,
 * and copies these bytes; a segment in two parts is read for both. Parts are handed out in order,
 * and each is checked whatever other threads find, so that always the same damaged segment, the
 * first, is reported. */
static bool copy_checked(const void *from, uint64_t first, uint64_t count, void *to)
{
    const struct sending *t = from;
    const struct decoder *d = t->decoder;
    uint64_t at = first * BLCO_SEGMENT_ALIGN, end = (first + count) * BLCO_SEGMENT_ALIGN;
    uint64_t k = 0, high = d->segments; /* the segment with byte `at` */
    while (high - k > 1) {
        uint64_t middle = k + (high - k) / 2;
        *(d->host[middle].offset <= at ? &k : &high) = middle;
    }
    struct error own = {0};
    uint8_t *bytes = t->room + (uint64_t)omp_get_thread_num() * d->file->most_bytes;
    for (char *element = to; at < end; k++) {
        uint64_t within = at - d->host[k].offset;
        uint64_t next = k + 1 < d->segments ? d->host[k + 1].offset : d->size;
        uint64_t length = (next < end ? next : end) - at;
        if (blco_file_segment(d->file, d->number[k], d->layout.line_bits, bytes, &own) != STATUS_OK)
            break;
        memcpy(element, bytes + within, length);
        element += length;
        at += length;
    }
    if (own.status == STATUS_OK)
        return true;
#pragma omp critical(device_decoder_bad)
    if (k < *t->bad) {
        *t->bad = k;
        *t->worst = own;
    }
    return false;
}

/* Copies the segments to the device, and checks them on the way. STATUS_INPUT where one is damaged;
 * the message is about the first. */
static enum status decoder_send(struct decoder *d, struct device_staging *staging,
                                struct error *error)
{
    uint64_t bad = UINT64_MAX;
    struct error worst = {0};
    uint8_t *room = memory_array((uint64_t)staging->slots, d->file->most_bytes, error);
    const struct sending t = {d, room, &bad, &worst};
    const struct device_elements bytes = {d->bytes, d->size / BLCO_SEGMENT_ALIGN,
                                          BLCO_SEGMENT_ALIGN};
    TRY(error->status);
    TRY_OR(done, device_staging_send(staging, &bytes, copy_checked, &t, error));
    if (bad < UINT64_MAX)
        error_set(error, worst.status, "%s", worst.message);
done:
    memory_free(room);
    return error->status;
}

/* One more than the last of the segments that are decoded together from `begin` on. */
static uint64_t decoder_end(const struct decoder *d, uint64_t begin)
{
    return d->segments - begin < d->at_once ? d->segments : begin + d->at_once;
}

/* The number of nonzeros of the decoder's segments [begin, end). Every segment of the file but the
 * last is full. */
static uint64_t decoder_nnz(const struct decoder *d, uint64_t begin, uint64_t end)
{
    if (begin >= end)
        return 0;
    uint64_t last = d->number[end - 1];
    return (end - 1 - begin) * d->file->header->segment_nnz +
           blco_file_nnz(d->file, last, last + 1);
}

/* Decodes the segments [begin, end), at most d->at_once, to words (word[1] only where the layout
 * has two) and values, device arrays with room for their nonzeros. Asynchronous. */
static enum status decoder_unpack(const struct decoder *d, uint64_t begin, uint64_t end,
                                  uint64_t *const *word, double *value, struct error *error)
{
    const struct unpack_args args = {.layout = d->layout,
                                     .spread = d->spread,
                                     .bytes = d->bytes,
                                     .segment = d->segment + begin,
                                     .segment_nnz = (uint32_t)d->file->header->segment_nnz,
                                     .nnz = decoder_nnz(d, begin, end),
                                     .index = {word[0], word[1]},
                                     .value = value,
                                     .damaged = d->damaged};
    return cuda_status(unpack_launch(&args, d->pool->stream), doing, error);
}

/* Waits for the decoding. STATUS_INPUT where it found a coordinate beyond its mode. */
static enum status decoder_finish(const struct decoder *d, struct error *error)
{
    int mode = 0;
    TRY(device_fetch(&mode, d->damaged, sizeof mode, d->pool->stream, doing, error));
    if (mode == 0)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT, "%s: damaged: a coordinate beyond the length of mode %d",
                     d->file->name, mode);
}

/* No copy may be queued. Accepts an empty one. */
static void decoder_close(struct decoder *d)
{
    if (d->pool)
        device_pool_give(d->pool, d->bytes, d->segment, d->spread, d->damaged);
    memory_free(d->host, d->number);
    *d = (struct decoder){0};
}

static const char decoding[] = "decoding a part of the tensor on the GPU";

/* What selecting the nonzeros of a part takes beside the result. */
struct selection {
    const struct device_pool *pool;
    struct decoder decoder;
    struct part_nonzeros decoded; /* the nonzeros that are decoded at present                */
    uint64_t *word[PACKED_WORDS]; /* (nonzeros decoded at a time) each; device, owned        */
    double *value;                /* likewise                                                */
    uint64_t tiles;               /* of SELECT_TILE nonzeros at most                           */
    uint64_t *tile;               /* (tiles + 1): as in select.h; device, owned              */
};

/* Decodes all nonzeros, some at a time, and counts those of the part in each tile, or, with a
 * target, writes them there. */
static enum status select_part(struct selection *s, const struct select_target *to,
                               struct error *error)
{
    const struct decoder *w = &s->decoder;
    uint64_t tile = 0;
    for (uint64_t b = 0; b < w->segments; b += w->at_once) {
        const uint64_t end = decoder_end(w, b);
        s->decoded.nnz = decoder_nnz(w, b, end);
        TRY(decoder_unpack(w, b, end, s->word, s->value, error));
        const cudaError_t code = part_select(&s->decoded, s->tile + tile, to, s->pool->stream);
        TRY(cuda_status(code, decoding, error));
        tile += select_tiles(s->decoded.nnz);
    }
    return STATUS_OK;
}

/* d->norm_sq is set when the stream gets there. */
static enum status sum_squares(struct device_coo *d, struct error *error)
{
    size_t bytes = 0;
    cudaStream_t stream = d->pool->stream;
    void *temporary = NULL;
    double *sum = device_pool_take(d->pool, 1, sizeof *sum, error);
    TRY(error->status);
    cudaError_t code = arrays_sum_squares(NULL, &bytes, d->value, d->nnz, sum, stream);
    TRY_OR(done, cuda_status(code, decoding, error));
    temporary = device_pool_take(d->pool, bytes, 1, error);
    TRY_OR(done, error->status);
    code = arrays_sum_squares(temporary, &bytes, d->value, d->nnz, sum, stream);
    TRY_OR(done, cuda_status(code, decoding, error));
    device_copy(&d->norm_sq, sum, sizeof *sum, stream, decoding, error);
done:
    device_pool_give(d->pool, temporary, sum);
    return error->status;
}

/* The nonzeros are decoded twice, some at a time: to be counted, so that the arrays have no more
 * room than they need, and to be selected. */
enum status device_coo_decode_part(struct device_coo *d, const struct blco_file *f,
                                   const struct part *part, struct device_staging *staging,
                                   const struct device_pool *pool, struct error *error)
{
    struct selection s = {.pool = pool, .decoder = {.file = f, .pool = pool}};
    struct decoder *w = &s.decoder;
    const struct shape shape = part_shape(part);
    device_coo_init(d, &shape, 0, pool);
    if (!decoded_layout_create(&w->layout, &f->shape)) {
        error_set(error, STATUS_INTERNAL, "coordinates that do not fit into two words");
        goto done;
    }
    TRY_OR(done, segment_rows_of_part(&w->number, &w->segments, f, part, error));
    s.decoded.layout = w->layout;
    for (int n = 0; n < w->layout.order; n++) {
        s.decoded.first[n] = (uint32_t)part->first[n];
        s.decoded.rows[n] = (uint32_t)part->here.dims[n];
    }
    TRY_OR(done, decoder_open(w, 0, error));
    if (w->segments == 0)
        goto done;
    /* room for the nonzeros that are decoded at a time, and the counts */
    const uint64_t most = decoder_nnz(w, 0, decoder_end(w, 0));
    for (uint64_t b = 0; b < w->segments; b += w->at_once)
        s.tiles += select_tiles(decoder_nnz(w, b, decoder_end(w, b)));
    s.value = device_pool_take(pool, most, sizeof *s.value, error);
    s.tile = device_pool_take(pool, s.tiles + 1, sizeof *s.tile, error);
    for (int i = 0; i < w->layout.words; i++)
        s.word[i] = device_pool_take(pool, most, sizeof *s.word[i], error);
    TRY_OR(done, error->status);
    s.decoded.index[0] = s.word[0];
    s.decoded.index[1] = s.word[1];
    s.decoded.value = s.value;
    TRY_OR(done, decoder_send(w, staging, error));
    TRY_OR(done, select_part(&s, NULL, error));
    TRY_OR(done, device_pairs_scan(s.tile, s.tiles, &d->nnz, pool, error));
    if (d->nnz > 0) {
        d->value = device_pool_take(pool, d->nnz, sizeof *d->value, error);
        TRY_OR(done, error->status);
        TRY_OR(done, device_coo_take_indices(d, error));
        const struct select_target to = device_coo_target(d);
        TRY_OR(done, select_part(&s, &to, error));
        TRY_OR(done, sum_squares(d, error));
    }
    decoder_finish(w, error);
done:
    if (error->status != STATUS_OK)
        (void)cudaStreamSynchronize(pool->stream);
    for (int i = 0; i < PACKED_WORDS; i++)
        device_pool_give(pool, s.word[i]);
    device_pool_give(pool, s.value, s.tile);
    decoder_close(w);
    if (error->status != STATUS_OK)
        device_coo_free(d);
    return error->status;
}

/* Lines of more than 64 bits are decoded as a part that is all of the tensor. */
enum status device_coo_decode(struct device_coo *d, const struct blco_file *f,
                              struct device_staging *staging, const struct device_pool *pool,
                              struct error *error)
{
    const uint64_t segments = f->header->nsegments;
    const struct part all = part_all(&f->shape);
    struct decoder w = {.file = f, .pool = pool, .segments = segments};
    uint64_t first = 0;
    device_coo_init(d, &f->shape, f->header->nnz, pool);
    if (d->ordering.line_bits > 64) {
        TRY(device_coo_decode_part(d, f, &all, staging, pool, error));
        TRY_OR(done, packed_tensor_file_norm_sq(f, &d->norm_sq, error));
        goto done;
    }
    decoded_layout_of_line(&w.layout, &d->ordering, &d->shape);
    d->value = device_pool_take(pool, d->nnz, sizeof *d->value, error);
    d->line = device_pool_take(pool, d->nnz, sizeof *d->line, error);
    w.number = memory_array(segments, sizeof *w.number, error);
    TRY_OR(done, error->status);
    for (uint64_t s = 0; s < segments; s++)
        w.number[s] = s;
    /* room: the same size as the sort takes afterwards */
    TRY_OR(done, decoder_open(&w, d->nnz * sizeof *d->line, error));
    TRY_OR(done, decoder_send(&w, staging, error));
    for (uint64_t s = 0; s < segments; s += w.at_once) {
        const uint64_t end = decoder_end(&w, s);
        uint64_t *const line[PACKED_WORDS] = {d->line + first};
        TRY_OR(done, decoder_unpack(&w, s, end, line, d->value + first, error));
        first += decoder_nnz(&w, s, end);
    }
    /* while the device decodes */
    TRY_OR(done, packed_tensor_file_norm_sq(f, &d->norm_sq, error));
    decoder_finish(&w, error);
done:
    if (error->status != STATUS_OK)
        (void)cudaStreamSynchronize(pool->stream);
    decoder_close(&w);
    if (error->status != STATUS_OK)
        device_coo_free(d);
    return error->status;
}
