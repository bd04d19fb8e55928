/* The hash of an input's nonzeros (fingerprint.h), read or unread. */
#ifndef BLCO_INPUT_HASH_H
#define BLCO_INPUT_HASH_H

#include "formats/tensor_input.h"

/* *hash = fingerprint_hash of the tensor. The segments of an unread file are decoded, some at a
 * time, with all OpenMP threads. STATUS_INPUT where the file is damaged, STATUS_MEMORY. */
enum status input_hash(const struct tensor_input *input, uint64_t *hash, struct error *error);

#endif
