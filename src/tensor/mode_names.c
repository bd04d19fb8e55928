#include "tensor/mode_names.h"

#include <string.h>

void mode_names_set(struct mode_names *names, int n, const char *text, size_t length)
{
    char *name = names->of[n];
    size_t kept = strnlen(text, length);
    if (kept >= MODE_NAME_BYTES) {
        kept = MODE_NAME_BYTES - 1;
        while (kept > 0 && ((unsigned char)text[kept] & 0xc0) == 0x80) /* within a character */
            kept--;
    }
    memset(name, 0, MODE_NAME_BYTES);
    memcpy(name, text, kept);
}

bool mode_names_any(const struct mode_names *names)
{
    for (int n = 0; n < MAX_ORDER; n++)
        if (names->of[n][0])
            return true;
    return false;
}

void mode_names_put(struct json *j, const struct mode_names *names, int order)
{
    if (!mode_names_any(names))
        return;
    json_put_array(j, "modes");
    for (int n = 0; n < order; n++)
        json_put_string(j, NULL, names->of[n]);
    json_end(j);
}
