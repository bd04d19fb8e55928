/* What completion needs of the table of commands: the words that may stand at the end of a command
 * line, and the table itself. Implemented in completion_words.c and completion_json.c. */
#ifndef BLCO_COMPLETION_H
#define BLCO_COMPLETION_H

#include <stdio.h>

#include "base/error.h"

/* Prints what may stand in place of the last of words[0..count), which follow `blco` on a command
 * line: a text line for each, with a tab and what it means where there is such. File names are
 * offered as they are, folders with "/" at the end. A shell may pass --name=word in one word, or as
 * bash does in three; then only what follows the sign is printed. */
void completion_words(FILE *stream, int count, char **words);

/* Prints the commands and their options as JSON, as blco(1) describes. STATUS_MEMORY. */
enum status completion_json(FILE *stream, struct error *error);

#endif
