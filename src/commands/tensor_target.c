#include "commands/tensor_target.h"

#include <string.h>
#include <sys/stat.h>

#include "base/outfile.h"
#include "commands/file_roles.h"

enum status tensor_target_check(const char *path, const char *input, bool force,
                                struct error *error)
{
    struct stat s;
    struct file_roles files = {0};
    file_roles_add(&files, FILE_TENSOR_READ, input, error);
    file_roles_add(&files, FILE_TENSOR, path, error);
    file_roles_check(&files, error);
    file_roles_free(&files);
    if (error->status != STATUS_OK || strcmp(path, "-") == 0)
        return error->status;
    if (outfile_check(path, error) != STATUS_OK)
        return error->status;
    if (!force && lstat(path, &s) == 0)
        return error_set(error, STATUS_OUTPUT,
                         "%s: cannot be written: it exists already (--force replaces it)", path);
    return STATUS_OK;
}
