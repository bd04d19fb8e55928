/* The page of a model: one file of HTML that needs no other, for a screen of any width, light or
 * dark, for paper, and for programs that read aloud. page.c puts it together from the parts
 * (page_parts.h). The text is XML as well as HTML. */
#ifndef BLCO_PAGE_H
#define BLCO_PAGE_H

#include <stdio.h>

#include "report/page_subject.h"

/* STATUS_INPUT where the record is not that of a `blco cpd` of this shape and rank. `path` is the
 * record's, for the message. */
enum status page_check_record(const json_t *record, const struct ktensor *model, const char *path,
                              struct error *error);

/* Writes what every page begins with, up to and with its heading, "WHAT NAME", in an open <header>;
 * and what every page ends with, from </main> on. NAME is the stem without its folder. */
void page_begin(FILE *to, const char *what, const char *stem);
void page_end(FILE *to);

/* Writes the page; failures of writing stay in the stream. STATUS_MEMORY. */
enum status page_write(FILE *to, const struct page *page, struct error *error);

#endif
