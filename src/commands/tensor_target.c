#include "commands/tensor_target.h"

#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
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

enum status tensor_maps_check(const struct tensor_maps *m, struct error *error)
{
    if (strcmp(m->output, "-") == 0)
        return STATUS_OK;
    char *output = name_maps_stem(m->output, error);
    char *input = m->csv || strcmp(m->input, "-") == 0 ? NULL : name_maps_stem(m->input, error);
    for (int i = 0; i < NAME_MAPS && error->status == STATUS_OK; i++) {
        struct file_roles files = {0};
        char *from = input ? name_maps_path(input, i, error) : NULL;
        char *to = error->status == STATUS_OK ? name_maps_path(output, i, error) : NULL;
        const bool same = from && to && strcmp(from, to) == 0;
        if (to && !same && (m->csv || (from && is_there(from)))) { /* OUT gets the map from IN */
            file_roles_add(&files, FILE_TENSOR_READ, m->input, error);
            if (m->csv)
                file_roles_add_order(&files, m->csv, error);
            tensor_target_check(to, &files, m->force, error);
        } else if (to && !same && is_there(to)) {
            error_set(error, STATUS_OUTPUT,
                      "%s: would be picked up as the names of %s: move it away", to, m->output);
        }
        memory_free(from, to);
    }
    memory_free(input, output);
    return error->status;
}

enum status tensor_maps_find(struct tensor_maps *m, struct tensor_names *names,
                             const struct shape *shape, struct error *error)
{
    if (m->csv) {
        labels_take(&m->names, names);
        return STATUS_OK;
    }
    m->names.modes = names->modes;
    if (strcmp(m->output, "-") == 0)
        return STATUS_OK;
    TRY(labels_find_tensor(&m->names, m->input, shape->order, error));
    return labels_read(&m->names, shape, error);
}

enum status tensor_maps_write(struct tensor_maps *m, bool has_modes, struct error *error)
{
    if (strcmp(m->output, "-") == 0)
        return STATUS_OK;
    char *stem = name_maps_stem(m->output, error);
    if (!stem)
        return error->status;
    const bool with_modes = !has_modes && mode_names_any(&m->names.modes);
    const int maps = with_modes ? NAME_MAPS : NAME_MAPS_MODES; /* that of the modes is the last */
    maps_write(m->file, &m->count, &m->names, maps, stem, error);
    memory_free(stem);
    return error->status;
}

enum status tensor_maps_commit(struct tensor_maps *m, struct error *error)
{
    for (int i = 0; i < m->count; i++)
        if (outfile_commit(&m->file[i], error) != STATUS_OK)
            break;
    return error->status;
}

void tensor_maps_free(struct tensor_maps *m)
{
    for (int i = 0; i < m->count; i++)
        outfile_discard(&m->file[i]);
    labels_free(&m->names);
    *m = (struct tensor_maps){0};
}
