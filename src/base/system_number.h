/* Numbers in the text files by which the system tells about itself. */
#ifndef BLCO_SYSTEM_NUMBER_H
#define BLCO_SYSTEM_NUMBER_H

#include <stdint.h>

/* The number behind `key` in a file of "key value" text lines, or the file's first number where key
 * is empty; UINT64_MAX where there is none, as in a missing file or behind the word "max". */
uint64_t system_number(const char *path, const char *key);

#endif
