#include "formats/tns/tns_sections.h"

#include <string.h>

#include "base/memory.h"

/* Whole text lines of a window, parsed by one thread. */
struct tns_section {
    const char *begin, *end;
    uint64_t lines;
    uint64_t first_line; /* lines of the window before it, and where its entries go at first */
    uint64_t entries;    /* that were parsed                                                  */
    const char *bad;     /* the first bad line, or end                                        */
    uint32_t largest[MAX_ORDER]; /* the largest index of each mode */
};

static const char *line_end(const char *line, const char *end)
{
    return memchr(line, '\n', (size_t)(end - line));
}

static void cut_at_line_ends(struct tns_sections *s, const char *begin, const char *end)
{
    s->count = 0;
    while (begin < end) {
        const char *stop = end;
        if ((size_t)(end - begin) > s->bytes)
            stop = line_end(begin + s->bytes - 1, end) + 1;
        s->section[s->count++] = (struct tns_section){.begin = begin, .end = stop};
        begin = stop;
    }
}

enum status tns_sections_cut(struct tns_sections *s, const struct line_window *window,
                             struct error *error)
{
    size_t most = (size_t)(window->end - window->begin) / s->bytes + 1;
    if (most > s->room) {
        TRY(memory_resize(&s->section, most, sizeof *s->section, error));
        s->room = most;
    }
    cut_at_line_ends(s, window->begin, window->end);
#pragma omp parallel for schedule(dynamic) num_threads(s->threads)
    for (size_t i = 0; i < s->count; i++)
        s->section[i].lines = line_count(s->section[i].begin, s->section[i].end);
    s->lines = 0;
    for (size_t i = 0; i < s->count; i++) {
        s->section[i].first_line = s->lines;
        s->lines += s->section[i].lines;
    }
    return STATUS_OK;
}

static struct tns_place place_at(const struct coo *x, uint64_t at)
{
    struct tns_place place = {.value = x->value + at};
    for (int n = 0; n < x->shape.order; n++)
        place.index[n] = x->index[n] + at;
    return place;
}

static void parse_section(struct tns_section *c, const struct tns_format *f, const char *readable,
                          const struct coo *x, uint64_t used)
{
    struct tns_place place = place_at(x, used + c->first_line);
    c->bad = tns_lines_parse(f, c->begin, c->end, readable, &place, &c->entries);
    for (int n = 0; n < f->order; n++) {
        uint32_t largest = 0;
        for (uint64_t i = 0; i < c->entries; i++)
            largest = place.index[n][i] > largest ? place.index[n][i] : largest;
        c->largest[n] = largest;
    }
}

/* Closes the gaps that text lines without an entry left, and joins the results of the sections. */
static void gather(const struct tns_sections *s, struct coo *x, uint64_t *used, uint32_t *largest)
{
    uint64_t at = *used;
    for (size_t i = 0; i < s->count; i++) {
        const struct tns_section *c = &s->section[i];
        struct tns_place from = place_at(x, *used + c->first_line);
        struct tns_place to = place_at(x, at);
        for (int n = 0; n < x->shape.order; n++) {
            if (to.value != from.value)
                memmove(to.index[n], from.index[n], c->entries * sizeof *to.index[n]);
            if (c->largest[n] > largest[n])
                largest[n] = c->largest[n];
        }
        if (to.value != from.value)
            memmove(to.value, from.value, c->entries * sizeof *to.value);
        at += c->entries;
    }
    *used = at;
}

bool tns_sections_parse(struct tns_sections *s, const struct tns_format *f,
                        const struct line_window *window, struct coo *x, uint64_t *used,
                        uint32_t *largest)
{
#pragma omp parallel for schedule(dynamic) num_threads(s->threads)
    for (size_t i = 0; i < s->count; i++)
        parse_section(&s->section[i], f, window->end, x, *used);
    for (size_t i = 0; i < s->count; i++)
        if (s->section[i].bad != s->section[i].end)
            return false;
    gather(s, x, used, largest);
    return true;
}

/* The number of text lines of a section before its entry `entry`. */
static uint64_t lines_before(const struct tns_section *c, const struct tns_format *f,
                             uint64_t entry)
{
    uint32_t index[MAX_ORDER];
    double value;
    struct tns_place one = {.value = &value};
    uint64_t lines = 0, entries = 0, found;
    for (int n = 0; n < f->order; n++)
        one.index[n] = &index[n];
    for (const char *line = c->begin; line < c->end; lines++) {
        const char *next = line_end(line, c->end) + 1;
        tns_lines_parse(f, line, next, next, &one, &found);
        entries += found;
        if (entries > entry)
            break;
        line = next;
    }
    return lines;
}

void tns_sections_negative(const struct tns_sections *s, const struct tns_format *f,
                           const struct coo *x, uint64_t from, uint64_t first,
                           struct tns_negative *negative)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct tns_section *c = &s->section[i];
        for (uint64_t e = 0; e < c->entries; e++) {
            if (!(x->value[from + e] < 0))
                continue;
            if (negative->count++ == 0)
                negative->line = first + c->first_line + lines_before(c, f, e);
        }
        from += c->entries;
    }
}

/* Sections before the bad line were parsed to their ends. */
enum status tns_sections_explain(const struct tns_sections *s, const struct tns_format *f,
                                 const struct line_window *window, uint64_t first,
                                 struct error *error)
{
    const struct tns_section *c = s->section;
    while (c->bad == c->end)
        c++;
    uint64_t number = first + c->first_line + line_count(c->begin, c->bad);
    const char *stop = line_end(c->bad, c->end);
    bool cut_off = window->unterminated && stop + 1 == window->end;
    return tns_line_explain(f, c->bad, stop, number, cut_off, error);
}
