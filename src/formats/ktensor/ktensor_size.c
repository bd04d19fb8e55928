/* Bytes that the text files of a model take. */
#include "base/number.h"
#include "formats/ktensor/ktensor_io.h"

#define SAMPLES 4096 /* numbers of a factor matrix */

/* Bytes of text that `count` numbers take, each with what separates it from the next. */
static double text_of(const double *a, uint64_t count)
{
    char text[NUMBER_MAX_TEXT];
    uint64_t samples = count < SAMPLES ? count : SAMPLES, bytes = 0;
    for (uint64_t i = 0; i < samples; i++) {
        double share = (double)i / (double)samples;
        uint64_t at = ((uint64_t)(share * (double)count) + i) % count; /* of any column */
        bytes += (uint64_t)(number_format(a[at], text) - text) + 1;
    }
    return samples ? (double)bytes * ((double)count / (double)samples) : 0;
}

uint64_t ktensor_text_bytes(const struct ktensor *k, unsigned formats)
{
    int kinds = !!(formats & KTENSOR_TEXT) + !!(formats & KTENSOR_KTNS);
    double bytes = text_of(k->lambda, k->rank);
    for (int n = 0; n < k->shape.order && kinds > 0; n++)
        bytes += text_of(k->factor[n], k->shape.dims[n] * k->rank);
    return (uint64_t)(kinds * bytes);
}
