#include "commands/options/kept_arguments.h"

#include <string.h>

#include "base/memory.h"

enum status kept_arguments_copy(struct kept_arguments *kept, int argc, char **argv,
                                struct error *error)
{
    static char program[] = "blco";
    *kept = (struct kept_arguments){0};
    kept->text = memory_array((size_t)argc + 1, sizeof *kept->text, error);
    if (!kept->text)
        return error->status;
    kept->text[0] = program;
    memcpy(kept->text + 1, argv, (size_t)argc * sizeof *argv);
    kept->count = argc + 1;
    return STATUS_OK;
}

void kept_arguments_free(struct kept_arguments *kept)
{
    memory_free(kept->text);
    *kept = (struct kept_arguments){0};
}
