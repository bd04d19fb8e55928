/* The part of a page that shows how a run came near its best fit. */
#ifndef BLCO_PAGE_CONVERGENCE_H
#define BLCO_PAGE_CONVERGENCE_H

#include <stdio.h>

#include "report/page_subject.h"

/* A plot of the distance to the best fit after each iteration, by powers of ten; nothing where the
 * record has no two fits that differ. STATUS_MEMORY. */
enum status page_convergence(FILE *to, const struct page *page, struct error *error);

#endif
