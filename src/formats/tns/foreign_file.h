/* Tells what a file is that is not FROSTT text, by its first bytes, so that the user learns what to
 * do with the file. */
#ifndef BLCO_FOREIGN_FILE_H
#define BLCO_FOREIGN_FILE_H

#include <stddef.h>

#include "base/error.h"

#define FOREIGN_FILE_BYTES 512 /* the first bytes of a file that tell */
#define UTF8_MARK          "\xef\xbb\xbf"
#define UTF8_MARK_BYTES    3

/* STATUS_INPUT, with a message about the file `name`, where its first bytes (all that it has, or
 * FOREIGN_FILE_BYTES or more) are those of another kind of file: compressed, an archive, arrays of
 * another program, text in UTF-16 or UTF-32, or a .blco file, which only a pipe brings here. */
enum status foreign_file_refuse(const char *name, const char *bytes, size_t count,
                                struct error *error);

#endif
