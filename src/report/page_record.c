#include "report/page_record.h"

const struct json_value *page_at(const struct page *page, const char *object, const char *name)
{
    const struct json_tree *record = page->record;
    const struct json_value *value = record ? json_member(record, &record->value[0], object) : NULL;
    return name ? json_member(record, value, name) : value;
}

const char *page_text_at(const struct page *page, const char *object, const char *name)
{
    return json_text_of(page_at(page, object, name));
}

double page_number_at(const struct page *page, const char *object, const char *name)
{
    return json_number_of(page_at(page, object, name));
}
