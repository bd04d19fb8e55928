#include "formats/tns/tns.h"

#include <inttypes.h>
#include <omp.h>
#include <string.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "formats/tns/line_reader.h"
#include "formats/tns/tns_header.h"
#include "formats/tns/tns_line.h"

#define MOST_BATCH   ((size_t)8 << 20) /* bytes of text read ahead at a time */
#define LEAST_BATCH  ((size_t)64 << 10)
#define MAPPED_BATCH ((size_t)32 << 20)  /* takes no memory, and gives each thread many chunks */
#define CHUNK        ((size_t)128 << 10) /* bytes that a thread parses at a time */
#define MARGIN       1.1                 /* by which later lines may be shorter on average */

/* A batch's piece of whole lines, parsed by one thread. */
struct chunk {
    const char *begin, *end;
    uint64_t lines;
    uint64_t first_line; /* lines of the batch before it: also where its entries go at first  */
    uint64_t entries;    /* parsed                                                            */
    const char *bad;     /* the first bad line, or end                                        */
    uint32_t largest[MAX_ORDER]; /* index of each mode                                        */
};

struct reader {
    struct coo *x; /* x->nnz is the room that there is   */
    uint64_t used; /* entries in it                      */
    struct line_reader *source;
    const char *name;
    struct tns_sizes sizes;
    int threads; /* that parse                         */
    struct tns_head head;
    uint64_t lines;      /* of the file, before the batch      */
    struct chunk *chunk; /* (max_chunks); owned                */
    size_t nchunks, max_chunks;
    uint32_t largest[MAX_ORDER];
    const struct tns_parts *parts;
    uint64_t handed_over; /* entries                          */
    struct progress *progress;
};

static const char *line_end(const char *line, const char *end)
{
    return memchr(line, '\n', (size_t)(end - line));
}

/* Newlines in [p, end): counted in bytes, which compilers do many at a time, and added up before
 * such a count overflows. */
static uint64_t count_lines(const char *p, const char *end)
{
    enum { LANES = 64, ROUNDS = 255 };
    uint64_t count = 0;
    while (end - p >= LANES) {
        uint8_t lane[LANES] = {0};
        for (int round = 0; round < ROUNDS && end - p >= LANES; round++, p += LANES)
            for (int i = 0; i < LANES; i++)
                lane[i] = (uint8_t)(lane[i] + (p[i] == '\n'));
        for (int i = 0; i < LANES; i++)
            count += lane[i];
    }
    for (; p < end; p++)
        count += *p == '\n';
    return count;
}

/* Cuts [begin, end) into chunks at line ends and counts their lines. */
static enum status cut(struct reader *r, const char *begin, const char *end, struct error *error)
{
    size_t most = (size_t)(end - begin) / r->sizes.chunk + 1;
    if (most > r->max_chunks) {
        if (memory_resize(&r->chunk, most, sizeof *r->chunk, error) != STATUS_OK)
            return error->status;
        r->max_chunks = most;
    }
    r->nchunks = 0;
    while (begin < end) {
        const char *stop = end;
        if ((size_t)(end - begin) > r->sizes.chunk)
            stop = line_end(begin + r->sizes.chunk - 1, end) + 1;
        r->chunk[r->nchunks++] = (struct chunk){.begin = begin, .end = stop};
        begin = stop;
    }
#pragma omp parallel for schedule(dynamic) num_threads(r->threads)
    for (size_t i = 0; i < r->nchunks; i++)
        r->chunk[i].lines = count_lines(r->chunk[i].begin, r->chunk[i].end);
    uint64_t lines = 0;
    for (size_t i = 0; i < r->nchunks; i++) {
        r->chunk[i].first_line = lines;
        lines += r->chunk[i].lines;
    }
    return STATUS_OK;
}

/* How many entries x may have before they are handed over. */
static uint64_t part_room(const struct reader *r)
{
    const struct tns_parts *p = r->parts;
    return p->memory / (4 * (uint64_t)r->head.format.order + 8 + p->overhead);
}

/* Hands the entries so far over where `more` would be too many. */
static enum status hand_over(struct reader *r, uint64_t more, struct error *error)
{
    if (r->used == 0 || r->used + more <= part_room(r))
        return STATUS_OK;
    struct coo part = *r->x;
    part.nnz = r->used;
    for (int n = 0; n < part.shape.order; n++)
        part.shape.dims[n] = (uint64_t)r->largest[n] + 1;
    r->handed_over += r->used;
    r->used = 0;
    return r->parts->take(r->parts->context, &part, error);
}

/* How many entries the file will have if it goes on as it began; 0 where that is not known, or too
 * many to count on. */
static uint64_t expected_entries(const struct reader *r, uint64_t needed)
{
    double read = line_reader_fraction(r->source); /* with this batch, or more of it */
    double entries = read > 0 ? (double)needed * MARGIN / read : 0;
    double bytes = entries * (4 * r->head.format.order + 8);
    return bytes < (double)machine_memory_available() ? (uint64_t)entries : 0;
}

/* Room for `more` entries, and for those expected, so that nothing need be moved. Pages that are
 * not yet written take no memory. */
static enum status make_room(struct reader *r, uint64_t more, struct error *error)
{
    uint64_t needed = r->used + more;
    if (r->handed_over + needed > MAX_NNZ)
        return error_set(error, STATUS_INPUT, "%s: more than %" PRIu64 " entries", r->name,
                         MAX_NNZ);
    if (needed <= r->x->nnz)
        return STATUS_OK;
    uint64_t room = needed + needed / 2, most = part_room(r),
             expected = expected_entries(r, needed);
    if (room < expected)
        room = expected;
    if (room > most)
        room = needed > most ? needed : most;
    if (r->x->shape.order == 0) {
        const struct tns_format *f = &r->head.format;
        return coo_create(r->x, SHAPE(f->order, f->limit), room, error);
    }
    return coo_resize(r->x, room, error);
}

static struct tns_place place_at(const struct coo *x, uint64_t at)
{
    struct tns_place place = {.value = x->value + at};
    for (int n = 0; n < x->shape.order; n++)
        place.index[n] = x->index[n] + at;
    return place;
}

static void parse_chunk(const struct reader *r, struct chunk *c, const char *readable)
{
    struct tns_place place = place_at(r->x, r->used + c->first_line);
    c->bad = tns_lines_parse(&r->head.format, c->begin, c->end, readable, &place, &c->entries);
    for (int n = 0; n < r->x->shape.order; n++) {
        uint32_t largest = 0;
        for (uint64_t i = 0; i < c->entries; i++)
            largest = place.index[n][i] > largest ? place.index[n][i] : largest;
        c->largest[n] = largest;
    }
}

/* Closes the gaps that lines without an entry left, and takes the chunks' results together. */
static void gather(struct reader *r)
{
    uint64_t used = r->used;
    for (size_t i = 0; i < r->nchunks; i++) {
        const struct chunk *c = &r->chunk[i];
        struct tns_place from = place_at(r->x, r->used + c->first_line);
        struct tns_place to = place_at(r->x, used);
        for (int n = 0; n < r->x->shape.order; n++) {
            if (to.value != from.value)
                memmove(to.index[n], from.index[n], c->entries * sizeof *to.index[n]);
            if (c->largest[n] > r->largest[n])
                r->largest[n] = c->largest[n];
        }
        if (to.value != from.value)
            memmove(to.value, from.value, c->entries * sizeof *to.value);
        used += c->entries;
    }
    r->used = used;
}

/* The first bad line of the batch, if there is one. Chunks before it were parsed to their ends. */
static enum status check(const struct reader *r, bool unterminated, struct error *error)
{
    const char *end = r->nchunks ? r->chunk[r->nchunks - 1].end : NULL;
    for (size_t i = 0; i < r->nchunks; i++) {
        const struct chunk *c = &r->chunk[i];
        if (c->bad == c->end)
            continue;
        uint64_t number = r->lines + c->first_line + count_lines(c->begin, c->bad) + 1;
        const char *stop = line_end(c->bad, c->end);
        return tns_line_explain(&r->head.format, c->bad, stop, number,
                                unterminated && stop + 1 == end, error);
    }
    return STATUS_OK;
}

/* Entries from `begin` to the end of the batch, in parallel straight to where they belong. */
static enum status read_entries(struct reader *r, const char *begin, const struct line_batch *batch,
                                struct error *error)
{
    enum status status = cut(r, begin, batch->end, error);
    if (status != STATUS_OK || r->nchunks == 0)
        return status;
    const struct chunk *last = &r->chunk[r->nchunks - 1];
    uint64_t lines = last->first_line + last->lines;
    status = hand_over(r, lines, error);
    if (status == STATUS_OK)
        status = make_room(r, lines, error);
    if (status != STATUS_OK)
        return status;
#pragma omp parallel for schedule(dynamic) num_threads(r->threads)
    for (size_t i = 0; i < r->nchunks; i++)
        parse_chunk(r, &r->chunk[i], batch->end);
    status = check(r, batch->unterminated, error);
    if (status != STATUS_OK)
        return status;
    gather(r);
    r->lines += lines;
    return STATUS_OK;
}

/* The lines of the batch that come before the first entry. *begin is moved behind them. */
static enum status read_head(struct reader *r, const char **begin, const char *end,
                             struct error *error)
{
    bool is_entry = false;
    while (*begin < end) {
        const char *stop = line_end(*begin, end);
        enum status status = tns_head_line(&r->head, *begin, stop, r->lines + 1, &is_entry, error);
        if (status != STATUS_OK || is_entry)
            return status;
        *begin = stop + 1;
        r->lines++;
        if (r->head.awaited == TNS_READY)
            return STATUS_OK;
    }
    return STATUS_OK;
}

/* Where a thread inflates the text, it takes the place of one that would parse: more threads than
 * asked for would only wait for each other. */
static int parsing_threads(const struct line_reader *source)
{
    int threads = omp_get_max_threads() - line_reader_threaded(source);
    return threads > 1 ? threads : 1;
}

static enum status read_batches(struct reader *r, struct error *error)
{
    double start = clock_now();
    for (;;) {
        struct line_batch batch;
        enum status status = line_reader_next(r->source, &batch, error);
        if (status != STATUS_OK)
            return status;
        if (batch.overlong)
            return error_set(error, STATUS_INPUT,
                             "%s:%" PRIu64 ": line of more than %zu bytes, expected indices and a "
                             "value",
                             r->name, r->lines + 1, line_reader_batch_bytes(r->source));
        if (batch.begin == batch.end)
            return STATUS_OK;
        const char *begin = batch.begin;
        if (r->head.awaited != TNS_READY)
            status = read_head(r, &begin, batch.end, error);
        if (status == STATUS_OK && r->head.awaited == TNS_READY)
            status = read_entries(r, begin, &batch, error);
        if (status != STATUS_OK)
            return status;
        double bytes = (double)line_reader_bytes(r->source);
        progress_update(r->progress, line_reader_fraction(r->source), "%.0f MB, %.0f MB/s",
                        bytes / 1e6, bytes / 1e6 / (clock_now() - start));
    }
}

/* The file is over: is all there that it promised? */
static enum status finish(struct reader *r, struct error *error)
{
    if (line_reader_bytes(r->source) == 0)
        return error_set(error, STATUS_INPUT, "%s: is empty", r->name);
    if (tns_head_end(&r->head, error) != STATUS_OK)
        return error->status;
    uint64_t entries = r->handed_over + r->used;
    if (r->head.dialect == TNS_HEADER_SPTENSOR && entries != r->head.count)
        return error_set(error, STATUS_INPUT,
                         "%s: %" PRIu64 " entries, expected %" PRIu64 ", as the header says",
                         r->name, entries, r->head.count);
    if (entries == 0)
        return error_set(error, STATUS_INPUT, "%s: no entries behind the header", r->name);
    const struct tns_format *f = &r->head.format;
    for (int n = 0; n < f->order; n++)
        r->x->shape.dims[n] = f->limit_origin ? f->limit[n] : (uint64_t)r->largest[n] + 1;
    return coo_resize(r->x, r->used, error);
}

static void fill_report(const struct reader *r, struct tns_report *report)
{
    *report = (struct tns_report){.header = r->head.dialect,
                                  .gzip = line_reader_gzip(r->source),
                                  .text_bytes = line_reader_bytes(r->source),
                                  .entries = r->handed_over + r->used};
}

static enum status read_file(struct coo *x, const char *path, const struct tns_options *options,
                             const struct tns_sizes *sizes, size_t mapped,
                             const struct tns_parts *parts, struct progress *progress,
                             struct tns_report *report, struct error *error)
{
    struct reader r = {.x = x, .sizes = *sizes, .parts = parts, .progress = progress};
    *x = (struct coo){0};
    double start = clock_now();
    enum status status = line_reader_open(&r.source, path, sizes->batch, mapped, error);
    if (status != STATUS_OK)
        return status;
    r.name = line_reader_name(r.source);
    r.threads = parsing_threads(r.source);
    progress_stage(progress, "reading %s", r.name);
    tns_head_begin(&r.head, r.name, options);
    status = read_batches(&r, error);
    if (status == STATUS_OK)
        status = finish(&r, error);
    if (status == STATUS_OK) {
        fill_report(&r, report);
        double seconds = clock_now() - start, megabytes = (double)report->text_bytes / 1e6;
        progress_done(progress, "%" PRIu64 " entries, %.1f MB of text in %.2f s, %.0f MB/s",
                      report->entries, megabytes, seconds, megabytes / seconds);
    } else {
        progress_clear(progress);
        coo_free(x);
    }
    memory_free(r.chunk);
    line_reader_close(r.source);
    return status;
}

/* The entries so far are as many as memory holds, and there are more. */
static enum status refuse(void *context, struct coo *part, struct error *error)
{
    const char *const *path = context;
    return error_set(error, STATUS_MEMORY,
                     "%s: more than %" PRIu64 " entries, for which there is not enough memory: "
                     "convert it to .blco, which takes less",
                     strcmp(*path, "-") == 0 ? "standard input" : *path, part->nnz);
}

static enum status read_whole(struct coo *x, const char *path, const struct tns_options *options,
                              const struct tns_sizes *sizes, size_t mapped,
                              struct progress *progress, struct tns_report *report,
                              struct error *error)
{
    uint64_t share = (uint64_t)(MACHINE_MEMORY_SHARE * (double)machine_memory_available());
    const struct tns_parts limit = {.memory = options->memory ? options->memory : share,
                                    .overhead = TNS_CLEAN_BYTES,
                                    .take = refuse,
                                    .context = &path};
    return read_file(x, path, options, sizes, mapped, &limit, progress, report, error);
}

enum status tns_read_sized(struct coo *x, const char *path, const struct tns_options *options,
                           const struct tns_sizes *sizes, struct progress *progress,
                           struct tns_report *report, struct error *error)
{
    return read_whole(x, path, options, sizes, sizes->batch, progress, report, error);
}

enum status tns_read(struct coo *x, const char *path, const struct tns_options *options,
                     struct progress *progress, struct tns_report *report, struct error *error)
{
    const struct tns_sizes sizes = {.batch = MOST_BATCH, .chunk = CHUNK};
    return read_whole(x, path, options, &sizes, MAPPED_BATCH, progress, report, error);
}

/* A batch has no more entries than a part: a line has four bytes or more. */
enum status tns_read_parts(struct coo *x, const char *path, const struct tns_options *options,
                           const struct tns_parts *parts, struct progress *progress,
                           struct tns_report *report, struct error *error)
{
    uint64_t least = parts->memory / (4 * MAX_ORDER + 8 + parts->overhead), batch = 4 * least;
    const struct tns_sizes sizes = {.batch = batch < LEAST_BATCH  ? LEAST_BATCH
                                             : batch > MOST_BATCH ? MOST_BATCH
                                                                  : (size_t)batch,
                                    .chunk = CHUNK};
    return read_file(x, path, options, &sizes, sizes.batch, parts, progress, report, error);
}
