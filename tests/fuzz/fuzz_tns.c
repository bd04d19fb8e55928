/* Fuzz target of the text reader: any bytes are read or refused. */
#include <stdint.h>

#include "support/fuzzed.h"
#include "support/tensor_reads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes are the file; the number of bytes chooses the options. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t choice = size % 64;
    struct tns_options options = {.index_base = choice & 1,
                                  .ndims = choice & 2 ? 3 : 0,
                                  .dims = {2, 300, MAX_LENGTH},
                                  .sizes = {choice & 4 ? 64 : 4096, choice & 8 ? 1 : 16}};
    if (choice & 16) { /* the order is known, as of the coordinates that blco predict reads */
        options.ndims = choice & 2 ? 3 : 1;
        options.order_origin = "the model";
        options.values_optional = choice & 32;
    }

    char path[FUZZED_PATH];
    const int fd = fuzzed_file(path, data, size);
    struct coo x;
    struct tensor_reader r = {.path = path, .tns = &options, .format = &tensor_text};
    struct error error = {0};
    enum status status = read_whole(&x, NULL, &r, &error);
    close(fd);
    fuzzed_check(status, &x, &error);
    coo_free(&x);
    return 0;
}
