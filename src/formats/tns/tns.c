#include "formats/tns/tns.h"

#include <inttypes.h>
#include <string.h>

#include "base/machine.h"
#include "base/page_touch.h"

#define LEAST_WINDOW ((size_t)64 << 10)
#define WINDOW_PART  32  /* a window takes at most this part of the memory   */
#define WINDOWS      3   /* at most so many windows are in memory            */
#define MARGIN       1.1 /* later lines may be shorter, on average, by this factor */

struct reader {
    struct coo *x; /* x->nnz is the room */
    uint64_t used; /* entries in x       */
    struct tns_text text;
    const struct tns_pieces *pieces;
    uint64_t handed_over; /* entries */
};

/* The most entries that x may have before they are handed over. */
static uint64_t piece_room(const struct reader *r)
{
    const struct tns_pieces *p = r->pieces;
    return p->memory / (4 * (uint64_t)r->text.head.format.order + 8 + p->overhead);
}

/* Hands over the entries so far if they and `more` entries are too many. */
static enum status hand_over(struct reader *r, uint64_t more, struct error *error)
{
    if (r->used == 0 || r->used + more <= piece_room(r))
        return STATUS_OK;
    struct coo piece = *r->x;
    piece.nnz = r->used;
    for (int n = 0; n < piece.shape.order; n++)
        piece.shape.dims[n] = (uint64_t)r->text.largest[n] + 1;
    r->handed_over += r->used;
    r->used = 0;
    return r->pieces->take(r->pieces->context, &piece, error);
}

/* The number of entries of the file if it goes on as it began; 0 if that is unknown or would take
 * more memory than is available. */
static uint64_t expected_entries(const struct reader *r, uint64_t needed)
{
    double read = line_reader_fraction(r->text.reader); /* with this window, or more of it */
    double entries = read > 0 ? (double)needed * MARGIN / read : 0;
    double bytes = entries * (4 * r->text.head.format.order + 8);
    return bytes < (double)machine_memory_available() ? (uint64_t)entries : 0;
}

/* Makes room for `more` entries and for the expected ones, so that none must be moved. Pages that
 * are not written take no memory. */
static enum status make_room(struct reader *r, uint64_t more, struct error *error)
{
    uint64_t needed = r->used + more;
    if (r->handed_over + needed > MAX_NNZ)
        return error_set(error, STATUS_INPUT, "%s: more than %" PRIu64 " entries", r->text.name,
                         MAX_NNZ);
    if (needed <= r->x->nnz)
        return STATUS_OK;
    uint64_t room = needed + needed / 2, most = piece_room(r),
             expected = expected_entries(r, needed);
    if (room < expected)
        room = expected;
    if (room > most)
        room = needed > most ? needed : most;
    if (r->x->shape.order == 0) {
        const struct tns_format *f = &r->text.head.format;
        return coo_create(r->x, SHAPE(f->order, f->limit), room, error);
    }
    return coo_resize(r->x, room, error);
}

/* Parses the entries of all windows in parallel, straight into x. */
static enum status read_windows(struct reader *r, struct error *error)
{
    for (;;) {
        struct line_window window;
        uint64_t lines;
        struct page_touch pages;
        const struct coo *x = r->x;
        TRY(tns_text_next(&r->text, &window, error));
        if (window.begin == window.end)
            return STATUS_OK;
        TRY(tns_text_cut(&r->text, &window, &lines, error));
        TRY(hand_over(r, lines, error));
        TRY(make_room(r, lines, error));
        /* the threads that parse write neighbouring parts of each array */
        page_touch_begin(&pages);
        for (int n = 0; n < x->shape.order; n++)
            page_touch_add(&pages, x->index[n] + r->used, lines * sizeof *x->index[n]);
        page_touch_add(&pages, x->value + r->used, lines * sizeof *x->value);
        page_touch_now(&pages);
        TRY(tns_text_parse(&r->text, &window, r->x, &r->used, error));
        tns_text_progress(&r->text, r->pieces->progress);
    }
}

/* Refuses negative values, where the options say so, and gives the tensor its shape. */
static enum status finish(struct reader *r, struct error *error)
{
    const struct tns_text *t = &r->text;
    TRY(tns_text_end(t, r->handed_over + r->used, error));
    if (t->negative > 0)
        return error_set(error, STATUS_INPUT,
                         "%" PRIu64 " value%s negative; %s (first: %s:%" PRIu64 ")", t->negative,
                         t->negative == 1 ? " is" : "s are", t->nonneg, t->name, t->negative_line);
    r->x->shape = tns_text_shape(t, t->largest);
    return coo_resize(r->x, r->used, error);
}

static enum status read_file(struct coo *x, const char *path, const struct tns_options *options,
                             const struct tns_pieces *pieces, struct tns_report *report,
                             struct error *error)
{
    struct reader r = {.x = x, .pieces = pieces};
    *x = (struct coo){0};
    TRY(tns_text_open(&r.text, path, options, error));
    progress_stage(pieces->progress, "reading %s", r.text.name);
    TRY_OR(done, read_windows(&r, error));
    TRY_OR(done, finish(&r, error));
    *report = (struct tns_report){.header = r.text.head.dialect,
                                  .gzip = line_reader_gzip(r.text.reader),
                                  .text_bytes = line_reader_bytes(r.text.reader),
                                  .entries = r.handed_over + r.used};
    tns_text_done(&r.text, pieces->progress, report->entries, report->text_bytes);
done:
    if (error->status != STATUS_OK) {
        progress_clear(pieces->progress);
        coo_free(x);
    }
    tns_text_close(&r.text);
    return error->status;
}

static size_t window_within(uint64_t bytes)
{
    return bytes < LEAST_WINDOW ? LEAST_WINDOW : bytes > TNS_MOST_WINDOW ? TNS_MOST_WINDOW : bytes;
}

/* Called if memory holds the entries so far, and there are more. */
static enum status refuse(void *context, struct coo *piece, struct error *error)
{
    const char *const *path = context;
    return error_set(error, STATUS_MEMORY,
                     "%s: more than %" PRIu64 " entries, for which there is not enough memory: "
                     "convert it to .blco, which takes less, or allow more with --host-memory",
                     strcmp(*path, "-") == 0 ? "standard input" : *path, piece->nnz);
}

struct tns_pieces tns_whole(uint64_t memory, const char **path, struct progress *progress)
{
    return (struct tns_pieces){.memory = machine_memory_budget(memory),
                               .overhead = TNS_CLEAN_BYTES,
                               .take = refuse,
                               .context = path,
                               .progress = progress};
}

/* Text takes a small part of the memory: one window, or two that are read ahead and one more. */
static void choose_window(struct tns_options *options)
{
    uint64_t memory = machine_memory_budget(options->memory), *left = &options->memory;
    options->sizes.window = window_within(memory / WINDOW_PART);
    *left = memory > WINDOWS * options->sizes.window ? memory - WINDOWS * options->sizes.window : 1;
}

enum status tns_read(struct coo *x, const char *path, const struct tns_options *options,
                     struct progress *progress, struct tns_report *report, struct error *error)
{
    struct tns_options own = *options;
    if (own.sizes.window == 0)
        choose_window(&own);
    const struct tns_pieces whole = tns_whole(own.memory, &path, progress);
    return read_file(x, path, &own, &whole, report, error);
}

/* A window has no more entries than a piece: a text line has four bytes or more. */
enum status tns_read_pieces(struct coo *x, const char *path, const struct tns_options *options,
                            const struct tns_pieces *pieces, struct tns_report *report,
                            struct error *error)
{
    uint64_t least = pieces->memory / (4 * MAX_ORDER + 8 + pieces->overhead);
    struct tns_options own = *options;
    own.sizes.window = window_within(4 * least);
    return read_file(x, path, &own, pieces, report, error);
}
