#include "commands/tensor_target.h"

#include <string.h>
#include <sys/stat.h>

#include "base/outfile.h"

enum status tensor_target_check(const char *path, struct file_roles *files, bool force,
                                struct error *error)
{
    struct stat s;
    file_roles_add(files, FILE_TENSOR, path, error);
    if (error->status != STATUS_OK)
        return error->status;
    if (file_roles_check(files, error) != STATUS_OK)
        return error->status;
    if (strcmp(path, "-") == 0)
        return STATUS_OK;
    if (outfile_check(path, error) != STATUS_OK)
        return error->status;
    if (!force && lstat(path, &s) == 0)
        return error_set(error, STATUS_OUTPUT,
                         "%s: cannot be written: it exists already (--force replaces it)", path);
    return STATUS_OK;
}
