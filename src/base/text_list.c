#include "base/text_list.h"

#include "base/memory.h"

#define FIRST_ROOM 8

void text_list_add(struct text_list *list, const char *text)
{
    if (list->error.status != STATUS_OK)
        return;
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : FIRST_ROOM;
        if (memory_resize(&list->text, room, sizeof *list->text, &list->error) != STATUS_OK)
            return;
        list->room = room;
    }
    char *copy = memory_text(&list->error, "%s", text);
    if (copy)
        list->text[list->count++] = copy;
}

void text_list_free(struct text_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        memory_free(list->text[i]);
    memory_free(list->text);
    *list = (struct text_list){0};
}
