/* Fuzz target of the reader of NumPy arrays: any bytes are read or refused. */
#include <stdint.h>

#include "support/fuzzed.h"
#include "support/tensor_reads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file that can be named FOLDER/NAME.npy. */
static int make_file(const char *link, const uint8_t *data, size_t size)
{
    char target[FUZZED_PATH];
    const int fd = fuzzed_file(target, data, size);
    unlink(link);
    if (symlink(target, link) != 0)
        abort();
    return fd;
}

/* The first two bytes give the size of the coordinates' file, and the options; then come both
 * files. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char coords[64], values[64], path[132];
    if (size < 2)
        return 0;
    if (!path[0]) {
        snprintf(coords, sizeof coords, "/tmp/fuzz-%d-c.npy", (int)getpid());
        snprintf(values, sizeof values, "/tmp/fuzz-%d-v.npy", (int)getpid());
    }
    const size_t choice = data[1] >> 4;
    const size_t cut = (data[0] | (size_t)(data[1] & 15) << 8) % (size - 1);
    const struct tns_options options = {.index_base = choice & 1,
                                        .index_base_given = choice & 1 ? "--index-base" : NULL,
                                        .ndims = choice & 2 ? 3 : 0,
                                        .dims = {choice & 2 ? 4 : 0, 0, choice & 2 ? 300 : 0},
                                        .memory = 100 << 20};
    const bool has_values = choice & 4;
    snprintf(path, sizeof path, "%s%s%s", coords, has_values ? "," : "", has_values ? values : "");
    const int first = make_file(coords, data + 2, cut);
    const int second = make_file(values, data + 2 + cut, size - 2 - cut);
    struct coo x;
    struct tensor_reader r = {.path = path, .tns = &options, .format = &tensor_npy};
    struct error error = {0};
    enum status status = read_whole(&x, NULL, &r, &error);
    close(first);
    close(second);
    unlink(coords);
    unlink(values);
    fuzzed_check(status, &x, &error);
    coo_free(&x);
    return 0;
}
