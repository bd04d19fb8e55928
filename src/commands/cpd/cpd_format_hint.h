/* A note to those who write a large model as text: .npy files are smaller. */
#ifndef BLCO_CPD_FORMAT_HINT_H
#define BLCO_CPD_FORMAT_HINT_H

#include "base/progress.h"
#include "formats/ktensor/ktensor_io.h"

/* Shows how large .npy files would be, where more than 2 GB of text and no .npy files will be
 * written. */
void cpd_format_hint_note(struct progress *progress, const struct ktensor *k, unsigned formats);

/* text[0..size) = the note; empty where the text is not large. */
void cpd_format_hint_text(uint64_t text_bytes, uint64_t npy_bytes, char *text, size_t size);

#endif
