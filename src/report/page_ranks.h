/* The page of a range of ranks: fit, core consistency and agreement of the starts against the rank,
 * and a table with links to the models. */
#ifndef BLCO_PAGE_RANKS_H
#define BLCO_PAGE_RANKS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/json_read.h"

/* All is borrowed. */
struct page_ranks {
    const char *stem;   /* of the range: the models are those of STEM.r2, ...       */
    const json_t *file; /* STEM.ranks.json, checked                                       */
    bool beside; /* the page will stand in the folder of the models, to which it can have links */
};

/* STATUS_INPUT where the file is not what a range of ranks writes (blco-record(5)). `path` is its
 * file's, for the message. */
enum status page_ranks_check(const json_t *file, const char *path, struct error *error);

/* Writes the page; failures of writing stay in the stream. STATUS_MEMORY. */
enum status page_ranks_write(FILE *to, const struct page_ranks *page, struct error *error);

#endif
