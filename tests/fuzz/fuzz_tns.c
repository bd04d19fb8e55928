/* Fuzz target of the text reader: any bytes are read or refused.
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_tns.c    to search
 *   gcc -DREPLAY ... tests/fuzz/fuzz_tns.c                                        to replay files
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/tns/tns.h"

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

    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct coo x;
    struct tns_report report;
    struct error error = {0};
    enum status status = tns_read(&x, path, &options, NULL, &report, &error);
    close(fd);
    if ((status == STATUS_OK) != (error.message[0] == '\0') || (status != STATUS_OK && x.value))
        abort();
    for (uint64_t i = 0; status == STATUS_OK && i < x.nnz; i++)
        for (int n = 0; n < x.shape.order; n++)
            if (x.index[n][i] >= x.shape.dims[n])
                abort();
    coo_free(&x);
    return 0;
}

#ifdef REPLAY
int main(int argc, char **argv)
{
    static uint8_t data[1 << 20];
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file)
            return 1;
        size_t size = fread(data, 1, sizeof data, file);
        fclose(file);
        LLVMFuzzerTestOneInput(data, size);
    }
    return 0;
}
#endif
