/* Values of the record of a run that a page shows; all of them may be missing. */
#ifndef BLCO_PAGE_RECORD_H
#define BLCO_PAGE_RECORD_H

#include "report/page_subject.h"

/* The member `name` of the member `object` of the record, or, where `name` is NULL, the member
 * `object` itself; NULL where it is not there. */
const struct json_value *page_at(const struct page *page, const char *object, const char *name);

/* Likewise its text; NULL where there is none. */
const char *page_text_at(const struct page *page, const char *object, const char *name);

/* Likewise its number; NaN where there is none. */
double page_number_at(const struct page *page, const char *object, const char *name);

#endif
