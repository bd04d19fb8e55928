#include "commands/tensor_target.h"

#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/outfile.h"
#include "formats/names/name_list.h"
#include "formats/tensor_file.h"

static bool is_there(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0;
}

enum status tensor_target_check(const char *path, struct file_roles *files, bool force,
                                struct error *error)
{
    file_roles_add(files, FILE_TENSOR, path, error);
    TRY(file_roles_check(files, error));
    if (strcmp(path, "-") == 0)
        return STATUS_OK;
    TRY(outfile_check(path, error));
    if (!force && is_there(path))
        return error_set(error, STATUS_OUTPUT,
                         "%s: cannot be written: it exists already (--force replaces it)", path);
    return STATUS_OK;
}

enum status values_target_check(const char *path, const char *stem, const struct labels *labels,
                                const char *tensor, bool force, struct error *error)
{
    struct file_roles files = {0};
    if (tensor_format_named(path) == &tensor_blco)
        return error_set(error, STATUS_INPUT,
                         "%s: the output is text or an array, expected another name than of a "
                         ".blco file",
                         path);
    file_roles_add_model(&files, stem, labels, tensor, error);
    return tensor_target_check(path, &files, force, error);
}

enum status text_output_check(const struct text_output *t, const char *path, struct error *error)
{
    const char *given = t->header_given ? t->header_given : t->index_base_given;
    if (given && tensor_format_named(path) == &tensor_blco)
        return error_set(error, STATUS_INPUT, "%s is for text, but %s is not", given, path);
    return STATUS_OK;
}

enum status tensor_maps_check(const char *input, const char *output, const struct csv_options *csv,
                              bool force, struct error *error)
{
    if (strcmp(output, "-") == 0)
        return STATUS_OK;
    char *to_stem = name_maps_stem(output, error);
    char *from_stem = csv || strcmp(input, "-") == 0 ? NULL : name_maps_stem(input, error);
    for (int i = 0; i < NAME_MAPS && error->status == STATUS_OK; i++) {
        struct file_roles files = {0};
        char *from = from_stem ? name_maps_path(from_stem, i, error) : NULL;
        char *to = error->status == STATUS_OK ? name_maps_path(to_stem, i, error) : NULL;
        const bool same = from && to && strcmp(from, to) == 0;
        if (to && !same && (csv || (from && is_there(from)))) { /* OUT gets the map from IN */
            file_roles_add(&files, FILE_TENSOR_READ, input, error);
            if (csv)
                file_roles_add_order(&files, csv, error);
            tensor_target_check(to, &files, force, error);
        } else if (to && !same && is_there(to)) {
            error_set(error, STATUS_OUTPUT,
                      "%s: would be picked up as the names of %s: move it away", to, output);
        }
        memory_free(from, to);
    }
    memory_free(from_stem, to_stem);
    return error->status;
}
