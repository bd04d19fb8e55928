#include "tensor/mode_names.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

enum status mode_names_set(struct mode_names *names, int n, const char *text, size_t length,
                           struct error *error)
{
    char *name = names->name[n];
    if (length >= MODE_NAME_BYTES)
        return error_set(error, STATUS_INPUT,
                         "the name of mode %d has %zu bytes, expected %d at most", n + 1, length,
                         MODE_NAME_BYTES - 1);
    memset(name, 0, MODE_NAME_BYTES);
    memcpy(name, text, length);
    return STATUS_OK;
}

void mode_names_add_change(struct mode_names *names, const char *change)
{
    const size_t used = strlen(names->change), room = sizeof names->change - used;
    if (change[0])
        snprintf(names->change + used, room, "%s%s", used > 0 ? "," : "", change);
}

int mode_names_find(const struct mode_names *names, int order, const char *text, size_t length)
{
    uint64_t number;
    for (int n = 0; n < order; n++)
        if (length > 0 && strlen(names->name[n]) == length &&
            memcmp(names->name[n], text, length) == 0)
            return n;
    const bool is_number = number_parse_unsigned(text, text + length, &number) == text + length;
    return is_number && number >= 1 && number <= (uint64_t)order ? (int)number - 1 : -1;
}

bool mode_names_any(const struct mode_names *names)
{
    for (int n = 0; n < MAX_ORDER; n++)
        if (names->name[n][0])
            return true;
    return false;
}

void mode_names_put(struct json *j, const struct mode_names *names, int order)
{
    if (!mode_names_any(names))
        return;
    json_put_array(j, "modes");
    for (int n = 0; n < order; n++)
        json_put_string(j, NULL, names->name[n]);
    json_end(j);
}
