#include "commands/tensor_target.h"

#include <string.h>
#include <sys/stat.h>

#include "base/outfile.h"

enum status tensor_target_check(const char *path, const char *input, bool force,
                                struct error *error)
{
    struct stat s;
    if (strcmp(path, "-") == 0)
        return STATUS_OK;
    if (outfile_check(path, error) != STATUS_OK ||
        (input && outfile_check_apart(path, input, error) != STATUS_OK))
        return error->status;
    if (!force && lstat(path, &s) == 0)
        return error_set(error, STATUS_OUTPUT,
                         "%s: cannot be written: it exists already (--force replaces it)", path);
    return STATUS_OK;
}
