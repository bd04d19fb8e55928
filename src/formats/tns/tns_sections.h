/* Parses a window of text lines with several threads: the window is cut into sections at the ends
 * of text lines, and a thread parses a section at a time, straight into a tensor. */
#ifndef BLCO_TNS_SECTIONS_H
#define BLCO_TNS_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/tns/line_reader.h"
#include "formats/tns/tns_line.h"
#include "tensor/coo.h"

struct tns_section;

struct tns_sections {
    size_t bytes;                /* bytes of a section, about                     */
    int threads;                 /* threads that parse                            */
    struct tns_section *section; /* (room); owned, freed by memory_free           */
    size_t count, room;
    uint64_t lines; /* text lines of the window */
};

/* Cuts the window and counts its text lines. STATUS_MEMORY. */
enum status tns_sections_cut(struct tns_sections *s, const struct line_window *window,
                             struct error *error);

/* Parses the window that was cut last into x from entry *used on, where x has room for an entry a
 * text line, adds the number of entries to *used, and raises largest[0..order) to the largest index
 * of each mode. False where a text line is bad; *used and `largest` are then unchanged. */
bool tns_sections_parse(struct tns_sections *s, const struct tns_format *f,
                        const struct line_window *window, struct coo *x, uint64_t *used,
                        uint32_t *largest);

/* Values below 0 that a file has, and the number of the first text line with one. */
struct tns_negative {
    uint64_t count, line;
};

/* Adds those of the window that was parsed last, whose entries begin at x's entry `from` and whose
 * first text line is number `first` of the file. */
void tns_sections_negative(const struct tns_sections *s, const struct tns_format *f,
                           const struct coo *x, uint64_t from, uint64_t first,
                           struct tns_negative *negative);

/* Explains the first bad text line of the window that was parsed last. The window's first text line
 * is number `first` of the file. Returns STATUS_INPUT. */
enum status tns_sections_explain(const struct tns_sections *s, const struct tns_format *f,
                                 const struct line_window *window, uint64_t first,
                                 struct error *error);

#endif
