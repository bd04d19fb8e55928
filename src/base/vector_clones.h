/* Functions of plain loops that are compiled once more for the longer vectors of x86 processors;
 * the loader takes the one that suits the processor. */
#ifndef BLCO_VECTOR_CLONES_H
#define BLCO_VECTOR_CLONES_H

#include <stdint.h>

/* Where compiler and C library can do that. The loader chooses before a sanitizer is at work. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&       \
    __GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECTOR_CLONES
#endif

#endif
