/* VECTOR_CLONES before a function of plain loops compiles it once more for each of the longer
 * vectors of x86 processors; the loader takes the version that suits the processor. */
#pragma once

#include <stdint.h> /* any header of the C library: it defines __GLIBC__ */

/* Where compiler and C library support it. Not under a sanitizer: the loader chooses before the
 * sanitizer is set up. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&       \
    __GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECTOR_CLONES
#endif
