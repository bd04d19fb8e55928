#include "report/page_subject.h"

json_t *page_at(const struct page *page, const char *object, const char *name)
{
    json_t *value = json_object_get(page->record, object);
    return name ? json_object_get(value, name) : value;
}

const char *page_text_at(const struct page *page, const char *object, const char *name)
{
    return json_string_value(page_at(page, object, name));
}

double page_number_at(const struct page *page, const char *object, const char *name)
{
    return json_number_of(page_at(page, object, name));
}
