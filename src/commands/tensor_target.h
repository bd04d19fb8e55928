/* The file that a command writes a tensor, or a model's values, to: an existing file is replaced
 * only where the user says so, and never the file that the command reads. */
#ifndef BLCO_TENSOR_TARGET_H
#define BLCO_TENSOR_TARGET_H

#include <stdbool.h>

#include "commands/file_roles.h"
#include "commands/options/cli_values.h"

/* The row of --force in an option table. */
#define TENSOR_TARGET_FORCE(owner, member)                                                         \
    {                                                                                              \
        "--force", 0, NULL, "replace OUT if it exists", CLI_FLAG(owner, member)                    \
    }

/* Checks before the work that the file `path` can be made ("-", standard output, always can).
 * *files has the inputs of the command and gets the output, too; where adding an input has failed,
 * that failure is returned. The caller frees *files. STATUS_INPUT where an input is `path`;
 * STATUS_OUTPUT, STATUS_MEMORY. */
enum status tensor_target_check(const char *path, struct file_roles *files, bool force,
                                struct error *error);

#endif
