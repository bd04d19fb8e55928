#include "formats/tns/tns.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/page_touch.h"
#include "formats/tns/tns_text.h"

#define LEAST_WINDOW ((size_t)64 << 10)
#define WINDOW_PART  32 /* a window takes at most this part of the memory */
#define WINDOWS      3  /* at most so many windows are in memory          */

struct tns_reading {
    struct tns_options options;
    struct tns_text text;
    struct line_window window; /* that is read, but not parsed, if `waits` */
    bool waits;
    bool shared; /* the share is taken; not of a file without entries */
};

static enum status next_window(struct tns_reading *t, struct error *error)
{
    if (!t->waits)
        TRY(tns_text_next(&t->text, &t->window, error));
    t->waits = true;
    return STATUS_OK;
}

static bool tns_probe(const char *path, const char *bytes, size_t count)
{
    (void)path, (void)bytes, (void)count;
    return true;
}

static enum status tns_open(struct tensor_reader *r, struct error *error)
{
    struct tns_reading *t = r->state = memory_zeros(1, sizeof *t, error);
    TRY(error->status);
    t->options = *r->tns;
    /* text takes a small part of the memory: one window, or two that are read ahead and one more; a
     * window has no more entries than a piece: a text line has four bytes or more */
    size_t *window = &t->options.sizes.window;
    if (*window == 0) {
        const uint64_t part = least_of(r->memory / WINDOW_PART, TNS_MOST_WINDOW);
        *window = part < LEAST_WINDOW ? LEAST_WINDOW : (size_t)part;
        r->memory = r->memory > WINDOWS * *window ? r->memory - WINDOWS * *window : 1;
    }
    TRY(tns_text_open(&t->text, r->path, &t->options, error));
    r->gzip = line_reader_gzip(t->text.reader);
    r->has_shares = !line_reader_threaded(t->text.reader) && strcmp(r->path, "-") != 0;
    if (!r->has_shares)
        return STATUS_OK;
    TRY(next_window(t, error)); /* after the header */
    r->identity[0] = line_reader_file_bytes(t->text.reader);
    r->identity[1] = t->text.head_bytes;
    return STATUS_OK;
}

/* Parses the entries of windows in parallel, straight into the piece. */
static enum status tns_next(struct tensor_reader *r, struct error *error)
{
    struct tns_reading *t = r->state;
    struct tns_text *text = &t->text;
    const struct line_window *window = &t->window;
    uint64_t used = 0;
    bool over = false;
    if (r->shares > 1 && !t->shared && window->begin < window->end) {
        TRY(tns_text_take_share(text, r->share, r->shares, error));
        t->shared = true;
        t->waits = false;
    }
    for (;;) {
        struct page_touch pages;
        uint64_t lines;
        TRY(next_window(t, error));
        over = window->begin == window->end;
        if (over || (r->cut == TENSOR_STEPS && used > 0))
            break;
        const int order = text->head.format.order;
        const uint64_t most = tensor_reader_most(r, order, 0);
        TRY(tns_text_cut(text, window, &lines, error));
        if (used > 0 && used + lines > most)
            break;
        TRY(tensor_reader_make_room(r, order, used, lines, r->cut == TENSOR_STEPS ? lines : most,
                                    line_reader_fraction(text->reader), error));
        /* the threads that parse write neighbouring parts of each array */
        page_touch_begin(&pages);
        for (int k = 0; k < COO_COLUMNS; k++)
            if (r->piece.column[k])
                page_touch_add(&pages, coo_at(&r->piece, k, used), lines * coo_column_bytes(k));
        page_touch_now(&pages);
        TRY(tns_text_parse(text, window, &r->piece, &used, error));
        t->waits = false;
        const uint64_t bytes = line_reader_bytes(text->reader);
        const double rate = (double)bytes / (clock_now() - r->start);
        progress_update(r->progress, line_reader_fraction(text->reader), "%s, %s/s",
                        NUMBER_SIZE(bytes), NUMBER_SIZE(number_whole(rate)));
    }
    for (int n = 0; n < r->piece.shape.order; n++) {
        r->largest[n] = text->largest[n];
        r->piece.shape.dims[n] = (uint64_t)text->largest[n] + 1;
    }
    r->bytes = line_reader_bytes(text->reader);
    tensor_reader_set_piece(r, used, over);
    return STATUS_OK;
}

/* A process that reads alone refuses negative values, too, where the options say so. */
static enum status tns_end(struct tensor_reader *r, struct error *error)
{
    const struct tns_reading *reading = r->state;
    const struct tns_text *t = &reading->text;
    const struct tns_format *f = &t->head.format;
    char size[NUMBER_SIZE_TEXT], how_fast[PACE_TEXT];
    TRY(tns_text_end(t, r->entries, error));
    if (t->negative > 0 && r->shares <= 1)
        return error_set(error, STATUS_INPUT,
                         "%" PRIu64 " value%s negative; %s (first: %s:%" PRIu64 ")", t->negative,
                         t->negative == 1 ? " is" : "s are", t->nonneg, t->name, t->negative_line);
    r->shape = shape_of(f->order, f->limit);
    for (int n = 0; n < f->order; n++)
        if (!f->limit_origin[n])
            r->shape.dims[n] = (uint64_t)r->largest[n] + 1;
    r->header = (int)t->head.dialect;
    progress_done(r->progress, "%" PRIu64 " entr%s, %s of text%s", r->entries,
                  r->entries == 1 ? "y" : "ies", number_size(r->bytes, size),
                  pace_bytes(r->bytes, "", clock_now() - r->start, how_fast));
    return STATUS_OK;
}

static void tns_close(struct tensor_reader *r)
{
    struct tns_reading *t = r->state;
    tns_text_close(&t->text);
}

const struct tensor_format tensor_text = {.name = "text",
                                          .what = "text",
                                          .has_indices = true,
                                          .probe = tns_probe,
                                          .open = tns_open,
                                          .next = tns_next,
                                          .end = tns_end,
                                          .close = tns_close};
