#include "formats/csv/name_maps.h"

#include <string.h>

#include "base/memory.h"
#include "formats/csv/name_list.h"

static const char *const endings[] = {".blco", ".tns", ".tns.gz"};

char *name_maps_path(const char *path, int n, struct error *error)
{
    size_t stem = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t length = strlen(path), end = strlen(endings[i]);
        if (length > end && strcmp(path + length - end, endings[i]) == 0)
            stem = length - end;
    }
    return memory_text(error, "%.*s.mode%d.map", (int)stem, path, n + 1);
}

static enum status write_map(struct outfile *f, const char *path, const struct tensor_names *names,
                             int n, struct error *error)
{
    char *map = name_maps_path(path, n, error);
    if (!map)
        return error->status;
    outfile_open(f, map, error);
    memory_free(map);
    if (error->status != STATUS_OK)
        return error->status;
    return name_list_write(&names->index[n], f, error);
}

enum status name_maps_write(struct name_maps *maps, const char *path,
                            const struct tensor_names *names, struct error *error)
{
    *maps = (struct name_maps){.count = names->order};
    for (int n = 0; n < maps->count; n++)
        maps->file[n].fd = -1;
    for (int n = 0; n < maps->count; n++) {
        if (write_map(&maps->file[n], path, names, n, error) == STATUS_OK)
            continue;
        name_maps_discard(maps);
        return error->status;
    }
    return STATUS_OK;
}

enum status name_maps_commit(struct name_maps *maps, struct error *error)
{
    for (int n = 0; n < maps->count; n++)
        if (outfile_commit(&maps->file[n], error) != STATUS_OK)
            break;
    name_maps_discard(maps);
    return error->status;
}

void name_maps_discard(struct name_maps *maps)
{
    for (int n = 0; n < maps->count; n++)
        outfile_discard(&maps->file[n]);
    *maps = (struct name_maps){0};
}
