/* What another format would save where a model is large. */
#ifndef BLCO_CPD_FORMAT_HINT_H
#define BLCO_CPD_FORMAT_HINT_H

#include "base/progress.h"
#include "formats/ktensor/ktensor_io.h"

/* Notes, where more than 2 GB of text are to be written and no .npy files, how large those would
 * be. */
void cpd_format_hint_note(struct progress *progress, const struct ktensor *k, unsigned formats);

/* The note in text[0..size); empty where there is nothing to say of so many bytes. */
void cpd_format_hint_text(uint64_t text_bytes, uint64_t npy_bytes, char *text, size_t size);

#endif
