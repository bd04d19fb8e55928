/* Reads and writes the `ktensor` text of Tensor Toolbox, pyttb and GenTen (.ktns). */
#ifndef BLCO_KTNS_H
#define BLCO_KTNS_H

#include "base/outfile.h"
#include "model/ktensor.h"

/* Reads the model in the file. The caller frees *k with ktensor_free, after a failure too.
 * STATUS_INPUT, with file and text line in the message; STATUS_MEMORY. */
enum status ktns_read(struct ktensor *k, const char *path, struct error *error);

/* STATUS_OUTPUT, STATUS_MEMORY. */
enum status ktns_write(struct outfile *file, const struct ktensor *k, struct error *error);

#endif
