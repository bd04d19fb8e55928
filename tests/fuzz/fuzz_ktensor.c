/* Fuzz target of the readers of model files. The first byte chooses the format, the rest is the
 * file: a .ktns, mode 1 of a model of one mode as .npy, text or CSV, or its lambda as .npy. An
 * accepted file must come back bit by bit when it is written and read again.
 *
 *   clang -fsanitize=fuzzer,address,undefined -fopenmp=libomp -Isrc tests/fuzz/fuzz_ktensor.c ...
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile_set.h"
#include "formats/ktensor/ktensor_io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/blco-fuzz-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[4][64];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static void put(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(path_of(name), "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
}

static void clear_folder(void)
{
    const char *name[] = {"m.ktns",      "m.mode1.npy", "m.mode2.npy", "m.lambda.npy",
                          "m.mode1.mat", "m.mode1.csv", "m.lambda.csv"};
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++)
        unlink(path_of(name[i]));
}

static void remove_folder(void)
{
    clear_folder();
    rmdir(folder);
}

static int same_bits(const struct ktensor *a, const struct ktensor *b)
{
    int same = a->shape.order == b->shape.order && a->rank == b->rank &&
               memcmp(a->lambda, b->lambda, a->rank * sizeof(double)) == 0;
    for (int n = 0; same && n < a->shape.order; n++)
        same = a->shape.dims[n] == b->shape.dims[n] &&
               memcmp(a->factor[n], b->factor[n], a->shape.dims[n] * a->rank * sizeof(double)) == 0;
    return same;
}

static enum status model_read(struct ktensor *k, struct error *error)
{
    struct named_model m = {.stem = path_of("m")};
    const enum status status = named_model_read(&m, NULL, error);
    *k = m.k;
    labels_free(&m.names);
    return status;
}

static void check_round_trip(const struct ktensor *k, unsigned format)
{
    struct error error = {0};
    struct ktensor_files files;
    struct ktensor back;
    struct stem_lock lock;
    clear_folder();
    if (outfile_set_lock(&lock, path_of("m"), &error) != STATUS_OK ||
        ktensor_write(&(struct ktensor_source){.k = k}, NULL, NULL, &lock, format, &files,
                      &error) != STATUS_OK ||
        model_read(&back, &error) != STATUS_OK || !same_bits(k, &back))
        abort();
    stem_lock_release(&lock);
    for (int i = 0; i < files.count; i++)
        unlink(files.path[i]);
    ktensor_files_free(&files);
    ktensor_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *name[] = {"m.ktns", "m.mode1.npy", "m.mode1.mat", "m.lambda.npy",
                                 "m.mode1.csv"};
    static const unsigned format[] = {KTENSOR_KTNS, KTENSOR_NPY, KTENSOR_TEXT, KTENSOR_NPY,
                                      KTENSOR_CSV};
    static const double row[] = {1, -0.25};
    if (strstr(folder, "XXXXXX")) {
        if (!mkdtemp(folder))
            abort();
        atexit(remove_folder);
    }
    if (size == 0)
        return 0;
    unsigned which = data[0] % 5;
    clear_folder();
    put(name[which], data + 1, size - 1);
    if (which == 3) { /* lambda of a model of one mode, 1 x 2 */
        char npy[128 + sizeof row] = "\x93NUMPY\x01\0\x76\0{'descr': '<f8', 'fortran_order': "
                                     "False, 'shape': (1, 2), }";
        memcpy(npy + 128, row, sizeof row);
        for (size_t i = 0; i < 128; i++)
            npy[i] = npy[i] || i < 10 ? npy[i] : ' ';
        put("m.mode1.npy", npy, sizeof npy);
    }
    struct error error = {0};
    struct ktensor k;
    if (model_read(&k, &error) == STATUS_OK)
        check_round_trip(&k, format[which]);
    else if (k.lambda || error.message[0] == '\0' || strchr(error.message, '\n'))
        abort();
    ktensor_free(&k);
    return 0;
}
