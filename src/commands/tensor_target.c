#include "commands/tensor_target.h"

#include <string.h>
#include <sys/stat.h>

#include "base/outfile.h"

enum status tensor_target_check(const char *path, struct file_roles *files, bool force,
                                struct error *error)
{
    struct stat s;
    file_roles_add(files, FILE_TENSOR, path, error);
    TRY(error->status);
    TRY(file_roles_check(files, error));
    if (strcmp(path, "-") == 0)
        return STATUS_OK;
    TRY(outfile_check(path, error));
    if (!force && lstat(path, &s) == 0)
        return error_set(error, STATUS_OUTPUT,
                         "%s: cannot be written: it exists already (--force replaces it)", path);
    return STATUS_OK;
}
