/* The part of a page that shows the components: their weights, and each one's profile in each
 * mode. */
#ifndef BLCO_PAGE_COMPONENTS_H
#define BLCO_PAGE_COMPONENTS_H

#include <stdio.h>

#include "report/page_subject.h"

/* A table of all components: weight, and the strongest entry of each mode. */
void page_weights(FILE *to, const struct page *page);

/* A section for each component. */
void page_components(FILE *to, const struct page *page);

#endif
