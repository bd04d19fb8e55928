/* The command line as the user gave it, for records: parsing changes the order of arguments. */
#ifndef BLCO_KEPT_ARGUMENTS_H
#define BLCO_KEPT_ARGUMENTS_H

#include "base/error.h"

struct kept_arguments {
    int count;
    char **text; /* (count) "blco" and the arguments, which are borrowed; owned */
};

/* *kept = "blco" and argv[0..argc), before argv is parsed. The caller frees *kept with
 * kept_arguments_free; it is empty on failure. STATUS_MEMORY. */
enum status kept_arguments_copy(struct kept_arguments *kept, int argc, char **argv,
                                struct error *error);

/* Accepts an empty one. */
void kept_arguments_free(struct kept_arguments *kept);

#endif
