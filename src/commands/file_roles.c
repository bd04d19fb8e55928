#include "commands/file_roles.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "formats/names/name_list.h"
#include "formats/npy/npy_tensor.h"

static const struct {
    const char *subject, *object; /* of "SUBJECT PATH is OBJECT"; an input is no subject */
} words[] = {[FILE_TENSOR_READ] = {NULL, "the tensor that is read"},
             [FILE_CHECKPOINT_READ] = {NULL, "the checkpoint that is read"},
             [FILE_START_READ] = {NULL, "a file of the start"},
             [FILE_MODEL_READ] = {NULL, "a file of the model that is read"},
             [FILE_RECORD_READ] = {NULL, "the record that is read"},
             [FILE_RANKS_READ] = {NULL, "the table of ranks that is read"},
             [FILE_LABELS_READ] = {NULL, "a file of labels that is read"},
             [FILE_ORDER_READ] = {NULL, "a file of --order"},
             [FILE_MODEL] = {"the model's file", "a file of the model"},
             [FILE_LOCK] = {"the lock", "the lock of the model's files"},
             [FILE_CHECKPOINT] = {"the checkpoint", "the checkpoint"},
             [FILE_RECORD] = {"the record", "the record"},
             [FILE_RANKS] = {"the table of ranks", "the table of ranks"},
             [FILE_PAGE] = {"the page", "the page"},
             [FILE_TENSOR] = {"the output", "the output"}};

static bool is_output(enum file_role role)
{
    return words[role].subject != NULL;
}

void file_roles_add(struct file_roles *f, enum file_role role, const char *path,
                    struct error *error)
{
    if (!path || error->status != STATUS_OK)
        return;
    char *name[2] = {NULL, NULL}; /* NumPy arrays are several files */
    if (role == FILE_TENSOR_READ && npy_tensor_named(path))
        npy_tensor_paths(path, name, error);
    else
        name[0] = memory_text(error, "%s", path);
    for (int i = 0; i < 2; i++)
        if (name[i] && error->status == STATUS_OK &&
            memory_resize(&f->file, (size_t)f->count + 1, sizeof *f->file, error) == STATUS_OK)
            f->file[f->count++] = (struct file_with_role){.role = role, .path = name[i]};
        else
            memory_free(name[i]);
}

void file_roles_add_order(struct file_roles *f, const struct csv_options *csv, struct error *error)
{
    for (int i = 0; i < csv->orders; i++)
        for (const char *sign = strchr(csv->order[i], '='); sign; sign = strchr(sign + 1, '='))
            if (strcmp(sign, "=sorted") != 0 && strcmp(sign, "=number") != 0)
                file_roles_add(f, FILE_ORDER_READ, sign + 1, error);
}

void file_roles_add_tensor(struct file_roles *f, const char *path, const struct csv_options *csv,
                           struct error *error)
{
    file_roles_add(f, FILE_TENSOR_READ, path, error);
    file_roles_add_order(f, csv, error);
    char *stem = csv->columns || strcmp(path, "-") == 0 || error->status != STATUS_OK
                     ? NULL
                     : name_maps_stem(path, error);
    for (int i = 0; stem && i < NAME_MAPS; i++) {
        char *map = name_maps_path(stem, i, error);
        file_roles_add(f, FILE_LABELS_READ, map, error);
        memory_free(map);
    }
    memory_free(stem);
}

void file_roles_add_stem(struct file_roles *f, enum file_role role, const char *stem,
                         struct error *error)
{
    struct ktensor_files files = {0};
    if (!stem || error->status != STATUS_OK)
        return;
    file_roles_add(f, role, ktensor_file_format(stem) ? stem : NULL, error);
    if (!ktensor_file_format(stem))
        ktensor_files_name(&files, MAX_ORDER, stem, KTENSOR_FORMATS, error);
    char *name = error->status == STATUS_OK ? ktensor_stem(stem, error) : NULL;
    if (name && ktensor_files_add_maps(&files, name, NULL, error) == STATUS_OK)
        ktensor_files_add_facts(&files, name, error);
    memory_free(name);
    for (int i = 0; i < files.count; i++)
        file_roles_add(f, role, files.path[i], error);
    ktensor_files_free(&files);
}

void file_roles_add_model(struct file_roles *f, const char *stem, const struct labels *labels,
                          const char *tensor, struct error *error)
{
    file_roles_add_stem(f, FILE_MODEL_READ, stem, error);
    file_roles_add(f, FILE_TENSOR_READ, tensor, error);
    for (int n = 0; n < MAX_ORDER; n++)
        file_roles_add(f, FILE_LABELS_READ, labels->mode[n].path, error);
}

static struct file_place find_place(const char *path, enum file_role role, struct error *error)
{
    struct stat s;
    const char *slash = strrchr(path, '/');
    const bool dash = strcmp(path, "-") == 0;
    if ((dash ? fstat(is_output(role) ? STDOUT_FILENO : STDIN_FILENO, &s) : stat(path, &s)) == 0)
        return (struct file_place){S_ISREG(s.st_mode), s.st_dev, s.st_ino, NULL};
    if (dash)
        return (struct file_place){.known = false};
    char *folder = memory_text(error, "%.*s.", slash ? (int)(slash + 1 - path) : 0, path);
    const bool known = folder && stat(folder, &s) == 0;
    memory_free(folder);
    return known ? (struct file_place){true, s.st_dev, s.st_ino, slash ? slash + 1 : path}
                 : (struct file_place){.known = false};
}

/* Whether one file may have both roles; b is not before a in the order of roles. */
static bool may_be_one(enum file_role a, enum file_role b)
{
    return !is_output(b) || (a == FILE_MODEL && b == FILE_MODEL) ||
           ((a == FILE_START_READ || a == FILE_LABELS_READ) && b == FILE_MODEL) ||
           (a == FILE_CHECKPOINT_READ && b == FILE_CHECKPOINT);
}

void file_roles_free(struct file_roles *f)
{
    for (int i = 0; i < f->count; i++)
        memory_free(f->file[i].path);
    memory_free(f->file);
    *f = (struct file_roles){0};
}

enum status file_roles_check(struct file_roles *f, struct error *error)
{
    for (int i = 0; i < f->count && error->status == STATUS_OK; i++)
        f->file[i].place = find_place(f->file[i].path, f->file[i].role, error);
    TRY_OR(done, error->status);
    for (int i = 0; i < f->count; i++)
        for (int k = 0; k < i; k++) {
            const int first = f->file[k].role <= f->file[i].role ? k : i, second = i + k - first;
            const struct file_with_role *output = &f->file[second], *other = &f->file[first];
            const struct file_place *a = &f->file[i].place, *b = &f->file[k].place;
            const bool same_inode =
                a->known && b->known && a->device == b->device && a->inode == b->inode;
            if (!same_inode || may_be_one(other->role, output->role) ||
                (a->name && b->name ? strcmp(a->name, b->name) != 0 : a->name != b->name))
                continue;
            const char *path = strcmp(output->path, "-") == 0 ? "on standard output" : output->path;
            const char *name = strcmp(other->path, "-") == 0 ? "standard input" : other->path;
            const bool one_name = strcmp(path, name) == 0;
            error_set(error, STATUS_INPUT, "%s %s is %s%s%s", words[output->role].subject, path,
                      words[other->role].object, one_name ? "" : ", ", one_name ? "" : name);
            goto done;
        }
done:
    file_roles_free(f);
    return error->status;
}
