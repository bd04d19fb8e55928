#include "commands/file_roles.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
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

/* Adds a tensor in NumPy arrays, which are several files. */
static void add_arrays(struct file_roles *f, enum file_role role, const char *path,
                       struct error *error)
{
    char *name[2] = {NULL, NULL};
    TRY_OR(done, npy_tensor_paths(path, name, error));
    for (int i = 0; i < 2 && name[i]; i++) {
        f->role[f->count] = role;
        f->path[f->count++] = name[i];
        name[i] = NULL;
    }
done:
    memory_free(name[0]);
    memory_free(name[1]);
}

void file_roles_add(struct file_roles *f, enum file_role role, const char *path,
                    struct error *error)
{
    if (!path || error->status != STATUS_OK)
        return;
    if (role == FILE_TENSOR_READ && npy_tensor_named(path)) {
        add_arrays(f, role, path, error);
        return;
    }
    f->role[f->count] = role;
    f->path[f->count] = memory_text(error, "%s", path);
    f->count += error->status == STATUS_OK;
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
    if (name)
        ktensor_files_add_maps(&files, name, NULL, error);
    memory_free(name);
    for (int i = 0; i < files.count; i++)
        file_roles_add(f, role, files.path[i], error);
    ktensor_files_free(&files);
}

/* Where a file is: it, or the folder in which it is to be made under a name. */
struct place {
    bool known; /* false of a device or pipe, and of what is not there and cannot be made */
    dev_t device;
    ino_t inode;
    const char *name; /* of a file that is not there yet; points into its path */
};

static struct place folder_place(const char *path, struct error *error)
{
    const char *slash = strrchr(path, '/');
    struct stat s;
    char *folder = memory_text(error, "%.*s.", slash ? (int)(slash + 1 - path) : 0, path);
    bool known = folder && stat(folder, &s) == 0;
    memory_free(folder);
    return known ? (struct place){true, s.st_dev, s.st_ino, slash ? slash + 1 : path}
                 : (struct place){.known = false};
}

static struct place find_place(const char *path, enum file_role role, struct error *error)
{
    struct stat s;
    int standard = is_output(role) ? STDOUT_FILENO : STDIN_FILENO;
    bool dash = strcmp(path, "-") == 0;
    if ((dash ? fstat(standard, &s) : stat(path, &s)) == 0)
        return (struct place){S_ISREG(s.st_mode), s.st_dev, s.st_ino, NULL};
    return dash ? (struct place){.known = false} : folder_place(path, error);
}

static bool same_place(const struct place *a, const struct place *b)
{
    bool same_inode = a->known && b->known && a->device == b->device && a->inode == b->inode;
    return same_inode && (a->name && b->name ? strcmp(a->name, b->name) == 0 : a->name == b->name);
}

/* Whether one file may have both roles; b is not before a in the order of roles. */
static bool may_be_one(enum file_role a, enum file_role b)
{
    return !is_output(b) || (a == FILE_MODEL && b == FILE_MODEL) ||
           (a == FILE_START_READ && b == FILE_MODEL) ||
           (a == FILE_CHECKPOINT_READ && b == FILE_CHECKPOINT);
}

/* Refuses output i, which is the same file as k. */
static enum status refuse(const struct file_roles *f, int i, int k, struct error *error)
{
    const char *path = strcmp(f->path[i], "-") == 0 ? "on standard output" : f->path[i];
    const char *other = strcmp(f->path[k], "-") == 0 ? "standard input" : f->path[k];
    bool one_name = strcmp(path, other) == 0;
    return error_set(error, STATUS_INPUT, "%s %s is %s%s%s", words[f->role[i]].subject, path,
                     words[f->role[k]].object, one_name ? "" : ", ", one_name ? "" : other);
}

enum status file_roles_check(const struct file_roles *f, struct error *error)
{
    struct place place[FILE_ROLES_ROOM];
    for (int i = 0; i < f->count; i++)
        place[i] = find_place(f->path[i], f->role[i], error);
    TRY(error->status);
    for (int i = 0; i < f->count; i++)
        for (int k = 0; k < i; k++) {
            int first = f->role[k] <= f->role[i] ? k : i, second = i + k - first;
            if (same_place(&place[i], &place[k]) && !may_be_one(f->role[first], f->role[second]))
                return refuse(f, second, first, error);
        }
    return STATUS_OK;
}

void file_roles_free(struct file_roles *f)
{
    for (int i = 0; i < f->count; i++)
        memory_free(f->path[i]);
    *f = (struct file_roles){0};
}
