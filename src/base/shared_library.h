/* Libraries that are loaded when they are first needed: a program that does not need a library runs
 * without it. */
#pragma once

#include <stddef.h>

#include "base/error.h"

struct shared_library {
    const char *file;           /* its name with the version: "libnccl.so.2"                    */
    const char *const *folders; /* that are searched after those of the loader (LD_LIBRARY_PATH,
                                 * the program's own, the system's); NULL ends the list, an empty
                                 * name is skipped; NULL for none */
    const char *need;           /* who needs what: "these GPUs need NCCL"                       */
    const char *remedy;         /* "install libnccl2, or name its folder in LD_LIBRARY_PATH"    */
};

/* A function of a library. */
struct library_function {
    void *pointer; /* the address of the pointer that is to point to the function */
    const char *name;
};

/* The library, which stays loaded until the program ends. NULL and STATUS_INPUT where it is in none
 * of the folders or cannot be loaded. */
void *shared_library_open(const struct shared_library *library, struct error *error);

/* Sets the pointers of `count` functions. Returns the name of a function that the library lacks,
 * whose pointer is then NULL; NULL where it has all of them. */
const char *shared_library_bind(void *library, const struct library_function *functions,
                                size_t count);
