/* How the commands that write tensors write text: --header and the first index. A .blco file takes
 * neither. */
#ifndef BLCO_TEXT_OUTPUT_H
#define BLCO_TEXT_OUTPUT_H

#include "commands/options/cli_values.h"
#include "formats/tns/tns_options.h"
#include "formats/tns/tns_writer.h"

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

#endif
