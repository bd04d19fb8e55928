#include "commands/cpd/cpd_format_hint.h"

#include <stdio.h>

#include "base/number.h"

#define LARGE UINT64_C(2000000000) /* bytes of text that take long to write and to read */

void cpd_format_hint_text(uint64_t text_bytes, uint64_t npy_bytes, char *text, size_t size)
{
    char large[NUMBER_SIZE_TEXT], small[NUMBER_SIZE_TEXT];
    text[0] = '\0';
    if (text_bytes <= LARGE)
        return;
    snprintf(text, size,
             "writing about %s of text: --format npy would take %s, and less time to write and to "
             "read",
             number_size(text_bytes, large), number_size(npy_bytes, small));
}

void cpd_format_hint_note(struct progress *progress, const struct ktensor *k, unsigned formats)
{
    char text[160];
    if (formats & KTENSOR_NPY)
        return;
    cpd_format_hint_text(ktensor_text_bytes(k, formats), ktensor_bytes(&k->shape, k->rank), text,
                         sizeof text);
    if (text[0])
        progress_note(progress, "%s", text);
}
