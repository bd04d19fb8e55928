/* Fuzz target of the reader of checkpoints: any bytes are read or refused. The input is a header,
 * the matrices and the directory, without the bytes that fill the first page, behind a byte: if it
 * is odd, lengths and checksums are corrected first, so that the code after their checks is
 * reached too.
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_checkpoint.c   to search
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <isa-l/crc64.h>

#include "base/memory.h"
#include "checkpoint/checkpoint.h"

#define HEADER sizeof(struct checkpoint_header)
#define MOST   (1 << 16) /* bytes of a file */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

/* Corrects lengths and checksums of a file whose directory is where the header says. */
static void repair(struct checkpoint_header *h, uint8_t *bytes, size_t size)
{
    memcpy(h->magic, CHECKPOINT_MAGIC, CHECKPOINT_MAGIC_BYTES);
    h->byte_order = CHECKPOINT_BYTE_ORDER;
    h->version = CHECKPOINT_VERSION;
    h->file_bytes = size;
    if (h->directory_offset <= size) {
        h->pieces = (size - h->directory_offset) / sizeof(struct checkpoint_piece);
        for (uint64_t i = 0; i < h->pieces; i++) {
            uint8_t *at = bytes + h->directory_offset + i * sizeof(struct checkpoint_piece);
            struct checkpoint_piece p;
            memcpy(&p, at, sizeof p);
            if (p.offset <= size && p.bytes <= size - p.offset)
                p.crc = crc64_ecma_refl(0, bytes + p.offset, p.bytes);
            memcpy(at, &p, sizeof p);
        }
        h->directory_crc =
            crc64_ecma_refl(0, bytes + h->directory_offset, size - h->directory_offset);
    }
    memcpy(bytes, h, sizeof *h);
    h->header_crc = checkpoint_page_crc(bytes);
}

/* A good file of a few rows, made from the bytes; *length is its length. */
static void make_file(const uint8_t *data, size_t size, uint8_t *file, size_t *length)
{
    struct error error = {0};
    struct checkpoint_rows model[CHECKPOINT_MODELS] = {0};
    struct ktensor *k = &model[CHECKPOINT_STATE].rows;
    struct carried *carried = &model[CHECKPOINT_STATE].carried;
    struct outfile f;
    struct checkpoint_output o;
    char path[64];
    uint64_t dims[MAX_ORDER], rank = size > 1 ? data[1] % 4 + 1 : 2;
    for (size_t n = 0; n < MAX_ORDER; n++)
        dims[n] = n + 2 < size ? data[n + 2] % 6 + 1 : n + 1;
    struct checkpoint_about about = {
        .tensor = {.shape = shape_of(size ? data[0] % 5 + 1 : 3, dims), .nnz = 9},
        .problem.rank = rank,
        .iterations = 3};
    int order = about.tensor.shape.order, fd = memfd_create("fuzz", 0);
    sprintf(path, "/proc/self/fd/%d", fd);
    f = (struct outfile){.fd = fd, .path = path};
    if (fd < 0 || ktensor_create(k, &about.tensor.shape, rank, &error) != STATUS_OK ||
        carried_create(carried, order, rank, &error) != STATUS_OK)
        abort();
    ktensor_randomise(k, KTENSOR_NORMAL, size);
    memset(carried->scale, 1, (size_t)order * rank * sizeof(double));
    memset(carried->gram, 2, (size_t)order * rank * rank * sizeof(double));
    if (checkpoint_output_begin(&o, &f, &about, &error) != STATUS_OK ||
        checkpoint_output_put(&o, CHECKPOINT_STATE, &(struct ktensor_source){.k = k}, carried,
                              &error) != STATUS_OK ||
        checkpoint_output_end(&o, &error) != STATUS_OK)
        abort();
    *length = (size_t)lseek(fd, 0, SEEK_END);
    if (*length > MOST || pread(fd, file, *length, 0) != (ssize_t)*length)
        abort();
    close(fd);
    checkpoint_output_free(&o);
    checkpoint_rows_free(model);
}

/* Now and then, and if the bytes are too few for a file, makes a good file from them. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    static uint8_t file[MOST];
    size_t length;
    size = LLVMFuzzerMutate(data, size, room);
    if (seed % 64 != 0 && size > 1 + HEADER)
        return size;
    make_file(data, size, file, &length);
    if (1 + HEADER + length - CHECKPOINT_PAGE > room)
        return size;
    data[0] = 1;
    memcpy(data + 1, file, HEADER);
    memcpy(data + 1 + HEADER, file + CHECKPOINT_PAGE, length - CHECKPOINT_PAGE);
    return 1 + HEADER + length - CHECKPOINT_PAGE;
}

/* Reads every number of an accepted file. */
static double sum_of(const struct checkpoint *c)
{
    double sum = 0;
    const struct checkpoint_rows *model = &c->model[CHECKPOINT_STATE];
    uint64_t rank = model->rows.rank, order = (uint64_t)model->rows.shape.order;
    for (uint64_t r = 0; r < rank; r++)
        sum += model->rows.lambda[r];
    for (uint64_t i = 0; i < order * rank; i++)
        sum += model->carried.scale[i];
    for (uint64_t i = 0; i < order * rank * rank; i++)
        sum += model->carried.gram[i];
    for (uint64_t n = 0; n < order; n++)
        for (uint64_t i = 0; i < model->rows.shape.dims[n] * rank; i++)
            sum += model->rows.factor[n][i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static volatile double sum; /* so that the reading is not left out */
    struct checkpoint_header h;
    struct checkpoint c;
    struct error error = {0};
    char path[64];
    if (size < 1 + HEADER)
        return 0;
    size_t length = CHECKPOINT_PAGE + size - 1 - HEADER;
    uint8_t *bytes = calloc(length, 1);
    int fd = memfd_create("fuzz", 0);
    if (!bytes || fd < 0)
        abort();
    memcpy(&h, data + 1, HEADER);
    memcpy(bytes + CHECKPOINT_PAGE, data + 1 + HEADER, length - CHECKPOINT_PAGE);
    if (data[0] % 2)
        repair(&h, bytes, length);
    memcpy(bytes, &h, HEADER);
    if (write(fd, bytes, length) != (ssize_t)length)
        abort();
    free(bytes);
    sprintf(path, "/proc/self/fd/%d", fd);
    memory_hook_set(0); /* refused before memory is taken: an allocation would fail */
    enum status status = checkpoint_open(&c, path, 0, 1, &error);
    memory_hook_set(-1);
    if ((status == STATUS_OK) != (error.message[0] == '\0') ||
        (status != STATUS_OK && status != STATUS_INPUT))
        abort();
    if (status == STATUS_OK)
        sum = sum_of(&c);
    checkpoint_close(&c);
    close(fd);
    (void)sum;
    return 0;
}
