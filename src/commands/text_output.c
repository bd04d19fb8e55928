#include "commands/text_output.h"

#include "formats/tensor_file.h"

enum status text_output_check(const struct text_output *t, const char *path, struct error *error)
{
    const char *given = t->header_given ? t->header_given : t->index_base_given;
    if (given && tensor_format_named(path) == TENSOR_BLCO)
        return error_set(error, STATUS_INPUT, "%s is for text, but %s is not", given, path);
    return STATUS_OK;
}
