#include "commands/text_output.h"

#include "commands/options/cli.h"
#include "formats/tensor_file.h"

enum status text_output_set_header(struct text_output *t, const char *text, struct error *error)
{
    static const char *const names[] = {[TNS_HEADER_NONE] = "none",
                                        [TNS_HEADER_DIMS] = "dims",
                                        [TNS_HEADER_SPTENSOR] = "sptensor",
                                        NULL};
    int choice = 0;
    t->has_header = true;
    cli_choice("--header", text, names, &choice, error);
    t->options.header = (enum tns_header)choice;
    return error->status;
}

enum status text_output_set_index_base(struct text_output *t, const char *option, const char *text,
                                       struct error *error)
{
    uint64_t number = 0;
    t->index_base_option = option;
    cli_unsigned(option, text, 0, 1, &number, error);
    t->options.index_base = (int)number;
    return error->status;
}

enum status text_output_check(const struct text_output *t, const char *path, struct error *error)
{
    const char *given = t->has_header ? "--header" : t->index_base_option;
    if (given && tensor_format_named(path) == TENSOR_BLCO)
        return error_set(error, STATUS_INPUT, "%s is for text, but %s is not", given, path);
    return STATUS_OK;
}
