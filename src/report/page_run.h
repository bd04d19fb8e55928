/* The part of a page that shows what the record of the run tells. All of a record may be missing
 * but what page_check_record asks for. */
#ifndef BLCO_PAGE_RUN_H
#define BLCO_PAGE_RUN_H

#include <stdio.h>

#include "report/page_subject.h"

/* What was run and its fit: a table of facts, and the warnings. */
void page_run(FILE *to, const struct page *page);

/* Tables of where the time went, and of the ranks where there were several. */
void page_times(FILE *to, const struct page *page);

#endif
