/* The part of a page that says what there is to know of the result: the findings of its record. */
#ifndef BLCO_PAGE_FINDINGS_H
#define BLCO_PAGE_FINDINGS_H

#include <stdio.h>

#include "report/page_subject.h"

/* A list of the findings; of an older record, which has none, a list of its notes. Nothing where
 * there is nothing to know. */
void page_findings(FILE *to, const struct page *page);

#endif
