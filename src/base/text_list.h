/* A list of texts that grows. */
#ifndef BLCO_TEXT_LIST_H
#define BLCO_TEXT_LIST_H

#include <stddef.h>

#include "base/error.h"

/* All zero is an empty list. */
struct text_list {
    size_t count, room;
    char **text;        /* (count) each owned; (room) of them owned               */
    struct error error; /* the first failure, STATUS_MEMORY; later texts are lost */
};

/* Adds a copy of the text. A failure stays in list->error. */
void text_list_add(struct text_list *list, const char *text);

/* Accepts an empty list, and leaves one. */
void text_list_free(struct text_list *list);

#endif
