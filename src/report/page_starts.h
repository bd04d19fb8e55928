/* The part of a page that shows the starts of a run, as its record tells them. */
#ifndef BLCO_PAGE_STARTS_H
#define BLCO_PAGE_STARTS_H

#include <stdio.h>

#include "report/page_subject.h"

/* A table of the starts, where there were several. */
void page_starts(FILE *to, const struct page *page);

#endif
