/* The page of a model: one HTML file without others, for screens of any width, light or dark, for
 * paper, and for screen readers. page.c puts it together from the parts (page_parts.h). The text is
 * valid XML, too. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "report/page_parts.h"

/* STATUS_INPUT where the record is not that of a `blco cpd` of this shape and rank. `path` is the
 * record's, for the message. */
enum status page_check_record(const json_t *record, const struct ktensor *model, const char *path,
                              struct error *error);

/* A path without its folders. */
const char *page_file_name(const char *path);

/* Writes the beginning of every page, up to and with its heading, "WHAT NAME", in an open <header>;
 * and the end of every page, from </main> on. NAME is the stem without its folder. */
void page_begin(FILE *to, const char *what, const char *stem);
void page_end(FILE *to);

/* Writes the page; failures of writing stay in the stream. STATUS_MEMORY. */
enum status page_write(FILE *to, const struct page *page, struct error *error);

/* The page of a range of ranks: fit, core consistency and agreement of the starts against the rank,
 * and a table with links to the models. */

/* All is borrowed. */
struct page_ranks {
    const char *stem;   /* of the range: the models are those of STEM.r2, ...       */
    const json_t *file; /* STEM.ranks.json, checked                                       */
    bool beside; /* the page will stand in the folder of the models, to which it can have links */
    const bool *made; /* (rows of the table) whether the model of a row, of rank R, has the page
                       * BASE.rR.html beside this one; NULL: none has                        */
    const char *base;
};

/* STATUS_INPUT where the file is not what a range of ranks writes (blco-record(5)). `path` is its
 * file's, for the message. */
enum status page_ranks_check(const json_t *file, const char *path, struct error *error);

/* Writes the page; failures of writing stay in the stream. STATUS_MEMORY. Implemented in
 * page_ranks.c. */
enum status page_ranks_write(FILE *to, const struct page_ranks *page, struct error *error);
