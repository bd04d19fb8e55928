#include "formats/names/name_maps.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static const char *const endings[] = {".blco", ".tns", ".tns.gz", ".npy"};

const char *name_maps_suffix(int i, char text[NAME_MAPS_SUFFIX])
{
    if (i == NAME_MAPS_MODES)
        snprintf(text, NAME_MAPS_SUFFIX, "modes.map");
    else
        snprintf(text, NAME_MAPS_SUFFIX, "mode%d.map", i + 1);
    return text;
}

size_t name_maps_length(const char *path)
{
    const char *pair = strstr(path, ".npy,");
    return pair ? (size_t)(pair - path) + strlen(".npy") : strlen(path);
}

char *name_maps_stem(const char *path, struct error *error)
{
    const size_t length = name_maps_length(path);
    size_t stem = length;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t end = strlen(endings[i]);
        if (length > end && memcmp(path + length - end, endings[i], end) == 0)
            stem = length - end;
    }
    return memory_text(error, "%.*s", (int)stem, path);
}

char *name_maps_path(const char *stem, int i, struct error *error)
{
    char suffix[NAME_MAPS_SUFFIX];
    return memory_text(error, "%s.%s", stem, name_maps_suffix(i, suffix));
}
