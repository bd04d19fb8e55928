/* The file that a command writes a tensor, or a model's values, to: an existing file is replaced
 * only where the user says so, and never the file that the command reads. */
#pragma once

#include <stdbool.h>

#include "commands/file_roles.h"
#include "commands/options/cli_values.h"
#include "formats/csv/csv_options.h"
#include "formats/names/labels.h"
#include "formats/tns/tns_options.h"
#include "formats/tns/tns_writer.h"

/* The row of --force in an option table. */
#define TENSOR_TARGET_FORCE(owner, member)                                                         \
    {                                                                                              \
        "--force", 0, NULL, "replace OUT if it exists", CLI_FLAG(owner, member)                    \
    }

/* Checks before the work that the file `path` can be made ("-", standard output, always can).
 * *files has the inputs of the command and gets the output, too; where adding an input has failed,
 * that failure is returned. Frees *files. STATUS_INPUT where an input is `path`;
 * STATUS_OUTPUT, STATUS_MEMORY. */
enum status tensor_target_check(const char *path, struct file_roles *files, bool force,
                                struct error *error);

/* The same for values of the model `stem` at entries of `tensor`, as text or as an array. */
enum status values_target_check(const char *path, const char *stem, const struct labels *labels,
                                const char *tensor, bool force, struct error *error);

/* How the commands that write tensors write text: --header and the first index. A .blco file takes
 * neither. */

struct text_output {
    struct tns_write_options options;
    const char *header_given;     /* "--header", or NULL                               */
    const char *index_base_given; /* the option that options.index_base is from, or NULL */
};

/* The row of --header in an option table, where `member` of the settings is a struct text_output.
 */
#define TEXT_OUTPUT_HEADER(owner, member)                                                          \
    {                                                                                              \
        "--header", 0, "NAME",                                                                     \
            "header of text: none, dims (order and lengths) or\nsptensor ({default})",             \
            CLI_CHOICE(owner, member.options.header, tns_header_words),                            \
            .initial = "none", CLI_GIVEN(owner, member.header_given)                               \
    }
/* The argument of an option for the first index. */
#define TEXT_OUTPUT_INDEX_BASE(owner, member)                                                      \
    CLI_INT(owner, member.options.index_base, 0, 1), CLI_GIVEN(owner, member.index_base_given)

/* STATUS_INPUT if one of the options was given although the name `path` means a .blco file. */
enum status text_output_check(const struct text_output *t, const char *path, struct error *error);

/* Checks before the work that the maps of a tensor `output`, made of `input`, can be made, and that
 * no file is there that would be picked up as the names of `output` ("-": it has no maps). `csv` is
 * NULL where `input` is no CSV. STATUS_INPUT, STATUS_OUTPUT, STATUS_MEMORY. */
enum status tensor_maps_check(const char *input, const char *output, const struct csv_options *csv,
                              bool force, struct error *error);
