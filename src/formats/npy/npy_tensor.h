/* A tensor in NumPy array files, named as COORDS.npy,VALUES.npy or COORDS.npy: the coordinates,
 * an array of integers of shape (entries, order) in C or Fortran order, and the values, an array of
 * shape (entries,) of floats, integers or booleans. Without values every entry counts 1. */
#pragma once

#include <stdbool.h>

#include "formats/npy/npy_file.h"
#include "formats/reader/tensor_reader.h"
#include "formats/tns/tns_options.h"

/* Whether a tensor of this name is in NumPy arrays, and whether the name has that of the values. */
bool npy_tensor_named(const char *path);
bool npy_tensor_has_values(const char *path);

/* The names of the one or two files, which the caller frees with memory_free; NULL where there is
 * none. STATUS_MEMORY. */
enum status npy_tensor_paths(const char *path, char *name[2], struct error *error);

/* The number of the first index: that of --index-base if it is given, else 0, as NumPy counts. */
int npy_tensor_index_base(const struct tns_options *options);

/* Every process reads its share of the entries. Of several bad entries the message names the first
 * one, counted from 0, as NumPy does. */
extern const struct tensor_format tensor_npy;
