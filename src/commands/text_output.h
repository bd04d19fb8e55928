/* How the commands that write tensors write text: --header and the first index. A .blco file takes
 * neither. */
#ifndef BLCO_TEXT_OUTPUT_H
#define BLCO_TEXT_OUTPUT_H

#include <stdbool.h>

#include "base/error.h"
#include "formats/tns/tns_writer.h"

/* Help of --header NAME. */
#define TEXT_OUTPUT_HEADER_HELP                                                                    \
    "what text begins with: none, dims (order and\nlengths) or sptensor (none)"

struct text_output {
    struct tns_write_options options; /* the caller sets index_base to the default  */
    bool has_header;                  /* --header was given                         */
    const char *index_base_option;    /* the option that gave index_base; or NULL   */
};

/* Take the arguments of --header, and of `option` for the first index (0 or 1). STATUS_INPUT if an
 * argument is wrong. */
enum status text_output_set_header(struct text_output *t, const char *text, struct error *error);
enum status text_output_set_index_base(struct text_output *t, const char *option, const char *text,
                                       struct error *error);

/* STATUS_INPUT if one of the options was given although the name `path` means a .blco file. */
enum status text_output_check(const struct text_output *t, const char *path, struct error *error);

#endif
