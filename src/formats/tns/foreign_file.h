/* Recognises files of other kinds by their first bytes, so that the user learns what to do with
 * them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define UTF8_MARK       "\xef\xbb\xbf"
#define UTF8_MARK_BYTES 3

/* STATUS_INPUT, with a message about the file `name`, where bytes[0..count), all bytes of the file
 * or at least the first 512, are those of another kind of file: compressed, an archive, arrays
 * of another program, text in UTF-16 or UTF-32, text whose lines end in CR alone, or a .blco file
 * (in a pipe or, with `gzip`, unpacked; .blco files with names are not read as text). */
enum status foreign_file_refuse(const char *name, const char *bytes, size_t count, bool gzip,
                                struct error *error);
