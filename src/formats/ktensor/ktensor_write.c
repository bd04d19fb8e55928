#include "formats/ktensor/ktensor_io.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "formats/ktensor/matrix_text.h"
#include "formats/names/labels.h"

#define PIECE (UINT64_C(64) << 20) /* bytes of a model that are brought at a time */

/* A folder is no file of a model. */
static bool is_file(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && !S_ISDIR(s.st_mode);
}

/* *tensor = the tensor that has the stem, and whose names its maps are, too, or NULL; the caller
 * frees the path. *owned = whether the maps are those of a model that blco wrote, not the tensor's
 * and not the user's: STEM.modes.map is there. */
static enum status find_owner(char **tensor, bool *owned, const char *stem, struct error *error)
{
    static const char *const endings[] = {"blco", "tns", "tns.gz"};
    *tensor = NULL;
    *owned = false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        *tensor = memory_text(error, "%s.%s", stem, endings[i]);
        if (!*tensor || is_file(*tensor))
            return error->status;
        memory_free(*tensor);
    }
    *tensor = NULL;
    char *modes = name_maps_path(stem, NAME_MAPS_MODES, error);
    *owned = modes && is_file(modes);
    memory_free(modes);
    return error->status;
}

/* The names of all files that a model of the stem may have. */
static enum status name_all(struct ktensor_files *all, const char *stem, struct error *error)
{
    bool owned;
    char *tensor;
    *all = (struct ktensor_files){0};
    find_owner(&tensor, &owned, stem, error);
    memory_free(tensor);
    TRY(error->status);
    TRY(ktensor_files_name(all, MAX_ORDER, stem, KTENSOR_FORMATS, error));
    TRY(ktensor_files_add_facts(all, stem, error));
    return owned ? ktensor_files_add_maps(all, stem, NULL, error) : STATUS_OK;
}

static bool has(const struct ktensor_files *files, const char *path)
{
    bool found = false;
    for (int i = 0; i < files->count; i++)
        found = found || strcmp(files->path[i], path) == 0;
    return found;
}

/* Adds to file[0..*count), which are to replace those of the older model of the locked stem, the
 * older files that are not among the new ones, *files. No folder is taken away. */
static enum status take_older_away(struct outfile *file, int *count,
                                   const struct ktensor_files *files, const struct stem_lock *lock,
                                   struct error *error)
{
    struct ktensor_files all;
    TRY_OR(done, name_all(&all, lock->stem, error));
    for (int i = 0; i < all.count; i++)
        if (is_file(all.path[i]) && !has(files, all.path[i]))
            TRY_OR(done, outfile_set_take_away(&file[(*count)++], all.path[i], error));
done:
    ktensor_files_free(&all);
    return error->status;
}

/* Writes the rows of a piece to `outputs`, one for each format, of which the last has none. */
static enum status put_piece(void *outputs, const struct ktensor *piece, struct error *error)
{
    for (struct ktensor_output *o = outputs; o->format; o++)
        TRY(o->format->put(o, piece, error));
    return STATUS_OK;
}

/* Writes the model to opened files, in all formats. */
static enum status write_model(struct outfile *file, const struct ktensor_source *model,
                               const struct labels *names, unsigned formats, struct error *error)
{
    struct ktensor_output output[KTENSOR_FORMAT_COUNT + 1] = {0}, *o = output;
    for (const struct ktensor_format *f = ktensor_formats;
         f < ktensor_formats + KTENSOR_FORMAT_COUNT; f++) {
        if (!(formats & f->flag))
            continue;
        *o = (struct ktensor_output){.format = f, .file = file, .whole = model->k, .names = names};
        TRY(f->begin(o++, error));
        file += ktensor_format_files(f, model->k->shape.order);
    }
    return ktensor_pieces(model, ktensor_rows_of_bytes(PIECE, model->k->rank), put_piece, output,
                          error);
}

/* Writes STEM.model.json to a new file. */
static enum status write_facts(struct outfile *file, const char *path,
                               const struct model_facts *facts, const struct ktensor *k,
                               const struct labels *names, struct error *error)
{
    static const struct labels none = {0};
    struct json j;
    json_begin(&j, error);
    json_put_object(&j, NULL);
    model_facts_put(&j, facts, k, names ? names : &none);
    json_end(&j);
    if (error->status == STATUS_OK && outfile_open(file, path, error) == STATUS_OK)
        outfile_write(file, j.text, j.used, error);
    json_free(&j);
    return error->status;
}

enum status ktensor_write(const struct ktensor_source *model, const struct labels *names,
                          const struct model_facts *facts, struct stem_lock *lock, unsigned formats,
                          struct ktensor_files *files, struct error *error)
{
    struct outfile file[KTENSOR_MOST_FILES] = {0};
    int count = 0;
    TRY(ktensor_files_name(files, model->k->shape.order, lock->stem, formats, error));
    for (; count < files->count; count++)
        TRY_OR(done, outfile_open(&file[count], files->path[count], error));
    TRY_OR(done, write_model(file, model, names, formats, error));
    if (facts && facts->known) {
        TRY_OR(done, ktensor_files_add_facts(files, lock->stem, error));
        TRY_OR(done, write_facts(&file[count++], files->path[files->count - 1], facts, model->k,
                                 names, error));
    }
    if (names)
        TRY_OR(done, ktensor_files_add_maps(files, lock->stem, names, error));
    TRY_OR(done, maps_write(file, &count, names, NAME_MAPS, lock->stem, error));
    TRY_OR(done, take_older_away(file, &count, files, lock, error));
    outfile_set_replace(lock, file, count, error);
done:
    for (int i = 0; i < KTENSOR_MOST_FILES; i++)
        outfile_discard(&file[i]);
    return error->status;
}

/* Map i, which is no model's; `tensor`: whose it is, or NULL. */
static enum status check_map(const char *map, const char *tensor, const struct labels *names, int i,
                             struct error *error)
{
    bool same = false;
    const bool there = is_file(map), wanted = map_exists(names, i);
    if ((!there && (!tensor || !wanted || i == NAME_MAPS_MODES)) || (!tensor && !wanted))
        return STATUS_OK;
    if (wanted)
        TRY(map_is_same(&same, map, names, i, error));
    if (same)
        return STATUS_OK;
    if (tensor)
        return error_set(error, STATUS_OUTPUT,
                         "%s: is for the names of %s, which are not those of the tensor that is "
                         "read: name other files with -o",
                         map, tensor);
    return error_set(error, STATUS_OUTPUT,
                     "%s: exists and is not of a model: move it away, or name other files with -o",
                     map);
}

enum status ktensor_check_maps(const char *stem, const struct labels *names, struct error *error)
{
    bool owned;
    char *tensor;
    find_owner(&tensor, &owned, stem, error);
    for (int i = 0; i < NAME_MAPS && !owned && error->status == STATUS_OK; i++) {
        char *map = name_maps_path(stem, i, error);
        if (map)
            check_map(map, tensor, names, i, error);
        memory_free(map);
    }
    memory_free(tensor);
    return error->status;
}

uint64_t ktensor_text_bytes(const struct ktensor *k, unsigned formats)
{
    uint64_t kinds = 0;
    for (int i = 0; i < KTENSOR_FORMAT_COUNT; i++)
        kinds += (formats & ktensor_formats[i].flag) && ktensor_formats[i].text;
    return kinds > 0 ? kinds * matrix_text_bytes(k) : 0;
}

enum status ktensor_openable(const char *stem, int order, unsigned formats, struct error *error)
{
    struct ktensor_files files;
    struct outfile file[KTENSOR_MOST_FILES] = {0};
    TRY_OR(done, ktensor_files_name(&files, order, stem, formats, error));
    for (int i = 0; i < files.count; i++)
        TRY_OR(done, outfile_open(&file[i], files.path[i], error));
done:
    for (int i = 0; i < KTENSOR_MOST_FILES; i++)
        outfile_discard(&file[i]);
    ktensor_files_free(&files);
    return error->status;
}

static enum status try_file(const char *path, struct error *error)
{
    struct outfile file = {0};
    TRY(outfile_open(&file, path, error));
    outfile_discard(&file);
    return STATUS_OK;
}

enum status ktensor_writable(const char *stem, unsigned formats, struct error *error)
{
    struct ktensor_files files, all = {0};
    struct stat s;
    TRY_OR(done, ktensor_files_name(&files, 1, stem, formats, error));
    TRY_OR(done, try_file(files.path[0], error));
    TRY_OR(done, name_all(&all, stem, error));
    for (int i = 0; i < all.count && error->status == STATUS_OK; i++)
        if (lstat(all.path[i], &s) == 0)
            try_file(all.path[i], error);
done:
    ktensor_files_free(&files);
    ktensor_files_free(&all);
    return error->status;
}
