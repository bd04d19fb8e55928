/* Fuzz target of the reader of .blco files: any bytes are read or refused. If the first byte is
 * odd, offsets and checksums are corrected first, so that the code after their checks is reached
 * too. Then follow header, data and directory, without the bytes that fill the pages.
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_blco.c   to search */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <isa-l/crc64.h>

#include "formats/blco/blco_file.h"
#include "formats/blco/packed_tensor.h"
#include "formats/external_sort.h"
#include "support/fuzzed.h"

#define MOST_NNZ 100000 /* nonzeros that a file may claim: memory is not what is tested */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

/* Corrects magic, offsets and checksums. */
static void repair(struct blco_file_header *h, uint8_t *bytes, size_t size)
{
    memcpy(h->magic, BLCO_MAGIC, BLCO_MAGIC_BYTES);
    h->byte_order = BLCO_BYTE_ORDER;
    h->version = BLCO_FORMAT_VERSION;
    h->file_bytes = size;
    h->data_offset = BLCO_PAGE;
    h->directory_offset = blco_round_up(BLCO_PAGE + h->data_bytes, BLCO_PAGE);
    h->nnz %= MOST_NNZ;
    if (h->segment_nnz % 8 != 7) /* seldom another number */
        h->segment_nnz = BLCO_SEGMENT_NNZ;
    h->nsegments = (size - h->directory_offset) / sizeof(struct blco_file_segment);
    uint64_t offset = BLCO_PAGE;
    for (uint64_t k = 0; k < h->nsegments; k++) {
        uint8_t *at = bytes + h->directory_offset + k * sizeof(struct blco_file_segment);
        struct blco_file_segment s;
        memcpy(&s, at, sizeof s);
        s.offset = offset;
        if (h->nsegments == 1)
            s.bytes = (uint32_t)h->data_bytes;
        if (s.offset <= size && s.bytes <= size - s.offset)
            s.crc = crc64_ecma_refl(0, bytes + s.offset, s.bytes);
        offset += s.bytes;
        memcpy(at, &s, sizeof s);
    }
    uint64_t behind = BLCO_PAGE + h->data_bytes;
    h->directory_crc = crc64_ecma_refl(0, bytes + behind, size - behind);
    h->header_crc = 0;
    memcpy(bytes, h, sizeof *h);
    h->header_crc = crc64_ecma_refl(0, bytes, BLCO_PAGE);
}

/* Assembles the file of the input; the caller frees it. */
static uint8_t *assemble(const uint8_t *data, size_t size, size_t *file_size)
{
    struct blco_file_header h;
    bool repaired = data[0] % 2;
    memcpy(&h, data + 1, sizeof h);
    data += 1 + sizeof h;
    size -= 1 + sizeof h;
    if (h.data_bytes > size)
        h.data_bytes = size / BLCO_SEGMENT_ALIGN * BLCO_SEGMENT_ALIGN;
    size_t directory = blco_round_up(BLCO_PAGE + h.data_bytes, BLCO_PAGE);
    *file_size = directory + size - h.data_bytes;
    uint8_t *bytes = calloc(*file_size, 1);
    if (!bytes)
        abort();
    memcpy(bytes + BLCO_PAGE, data, h.data_bytes);
    memcpy(bytes + directory, data + h.data_bytes, size - h.data_bytes);
    if (repaired)
        repair(&h, bytes, *file_size);
    memcpy(bytes, &h, sizeof h);
    return bytes;
}

static char folder[] = "/tmp/blco-fuzz-XXXXXX";

static void remove_folder(void)
{
    rmdir(folder);
}

/* Makes an input that is a good file of nonzeros made from the bytes. Returns its size; 0: no room.
 */
static size_t make_seed(const uint8_t *data, size_t size, uint8_t *seed, size_t room)
{
    static uint8_t bytes[1 << 16];
    const uint64_t dims[] = {300, 70000, MAX_LENGTH, 9, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH};
    char path[64];
    if (strstr(folder, "XXXXXX") && (!mkdtemp(folder) || atexit(remove_folder) != 0))
        abort();
    snprintf(path, sizeof path, "%s/x.blco", folder);
    uint64_t nnz = size < 300 ? size : 300;
    int kind = size ? data[size / 2] % 4 : 0; /* of the values */
    struct coo x;
    struct external_sort sort;
    struct external_sort_report report;
    struct error error = {0};
    if (coo_create(&x, SHAPE(size ? data[0] % 7 + 1 : 3, dims), nnz, &error) != STATUS_OK)
        abort();
    for (uint64_t i = 0; i < nnz; i++) {
        const double value[] = {data[i], data[i] / 100.0 - 1, (float)data[i] / 7, data[i] / 7.0};
        x.value[i] = value[data[i] % 50 ? kind : 3];
        if (data[0] % 3 == 0 && data[i] % 8 == 1)
            x.value[i] = COO_UNKNOWN;
        for (int n = 0; n < x.shape.order; n++)
            x.index[n][i] = (uint32_t)(data[(i + (uint64_t)n) % size] * 2654435761u % dims[n]);
    }
    external_sort_init(&sort, path, 1 << 20, NULL);
    sort.zeros = size && data[0] % 2 ? COO_KEEP_ZEROS : COO_DROP_ZEROS;
    if (external_sort_write(&sort, &x, &report, &error) != STATUS_OK)
        abort();
    external_sort_free(&sort);
    FILE *file = fopen(path, "rb");
    if (!file || fread(bytes, 1, sizeof bytes, file) != report.bytes)
        abort();
    fclose(file);
    unlink(path);
    struct blco_file_header h;
    memcpy(&h, bytes, sizeof h);
    size_t directory = report.bytes - h.directory_offset;
    if (1 + sizeof h + h.data_bytes + directory > room)
        return 0;
    seed[0] = 1;
    memcpy(seed + 1, &h, sizeof h);
    memcpy(seed + 1 + sizeof h, bytes + BLCO_PAGE, h.data_bytes);
    memcpy(seed + 1 + sizeof h + h.data_bytes, bytes + h.directory_offset, directory);
    return 1 + sizeof h + h.data_bytes + directory;
}

/* A field that the mutator changes. */
struct place {
    size_t at, size;
};

#define HEADER(member)                                                                             \
    {                                                                                              \
        1 + offsetof(struct blco_file_header, member), sizeof((struct blco_file_header){0}.member) \
    }
#define GROUP(member)                                                                              \
    {                                                                                              \
        1 + sizeof(struct blco_file_header) + offsetof(struct packed_group, member),               \
            sizeof((struct packed_group){0}.member)                                                \
    }

/* A number near a limit, or near what the field has. */
static uint64_t interesting(uint64_t old, unsigned seed)
{
    static const uint64_t limit[] = {0,
                                     1,
                                     2,
                                     16,
                                     127,
                                     128,
                                     255,
                                     256,
                                     65535,
                                     65536,
                                     UINT32_MAX,
                                     INT64_MAX,
                                     UINT64_C(1) << 53,
                                     UINT64_MAX};
    unsigned kind = seed % 4, choice = seed / 4;
    return kind == 0   ? old + 1
           : kind == 1 ? old - 1
           : kind == 2 ? old ^ UINT64_C(1) << choice % 64
                       : limit[choice % (sizeof limit / sizeof *limit)];
}

static void change(uint8_t *data, struct place field, unsigned seed)
{
    uint64_t number = 0;
    memcpy(&number, data + field.at, field.size);
    number = interesting(number, seed);
    memcpy(data + field.at, &number, field.size);
}

/* Changes a field of the header, of a group's entry, of the directory, or a value, and asks for
 * right checksums (the odd first byte), so that the checks after these are reached. */
static void change_field(uint8_t *data, size_t size, unsigned seed)
{
    static const struct place fields[] = {
        HEADER(order),      HEADER(unused),    HEADER(nnz),       HEADER(segment_nnz),
        HEADER(dims[0]),    HEADER(dims[1]),   HEADER(dims[2]),   HEADER(dims[15]),
        HEADER(unknown),    HEADER(zeros),     HEADER(version),   HEADER(dropped),
        HEADER(data_bytes), GROUP(first),      GROUP(at),         GROUP(count),
        GROUP(low_bits),    GROUP(value_form), GROUP(value_bits), GROUP(decimals),
        GROUP(upper_words), GROUP(unused),     GROUP(least)};
    enum { FIELDS = sizeof fields / sizeof *fields };
    const size_t data_at = 1 + sizeof(struct blco_file_header);
    unsigned choice = seed % (FIELDS + 3);
    struct place field = {0};
    struct blco_file_header h;
    memcpy(&h, data + 1, sizeof h);
    if (choice < FIELDS) /* of the first group, or of a later one as far as those stand in a row */
        field = fields[choice];
    else if (choice == FIELDS && h.data_bytes < size - data_at) /* in the directory */
        field = (struct place){data_at + h.data_bytes + 4 * (seed / 64 % 6), 4};
    else /* a word of the data */
        field = (struct place){data_at + 4 * (seed / 64 % (size / 4)), 4};
    if (choice < FIELDS && field.at >= data_at)
        field.at += seed / 64 % 3 * (sizeof(struct packed_group) + sizeof(uint64_t));
    if (field.at + field.size <= size)
        change(data, field, seed / 1024);
    data[0] |= 1;
}

/* Now and then, and if the bytes are too few for a file, makes a good file from them; otherwise
 * changes bytes anywhere, or fields where they are. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    static uint8_t made[1 << 16];
    bool is_file = size > 1 + sizeof(struct blco_file_header);
    if (is_file && seed % 64 != 0 && seed % 2 == 1) {
        change_field(data, size, seed / 2);
        return size;
    }
    size = LLVMFuzzerMutate(data, size, room);
    if (seed % 64 != 0 && size > 1 + sizeof(struct blco_file_header))
        return size;
    size_t length = make_seed(data, size, made, room < sizeof made ? room : sizeof made);
    if (length == 0)
        return size;
    memcpy(data, made, length);
    return length;
}

static void check(const struct coo *x, const struct coo_listed *said)
{
    const struct coo_listed listed = coo_count_listed(x);
    if (listed.unknown != said->unknown || listed.zeros != said->zeros)
        abort();
    for (uint64_t i = 0; i < x->nnz; i++)
        if (isinf(x->value[i]))
            abort();
    for (uint64_t i = 0; i < x->nnz; i++)
        for (int n = 0; n < x->shape.order; n++)
            if (x->index[n][i] >= x->shape.dims[n])
                abort();
}

/* A file that can be decoded can be loaded; the groups of a loaded file can be read. */
static void check_packed(const struct blco_file *f, enum status decoded)
{
    struct packed_tensor p;
    struct error error = {0};
    if (packed_tensor_load(&p, f, NULL, &error) == STATUS_OK)
        packed_tensor_norm_sq(&p);
    else if (decoded == STATUS_OK || p.bytes || p.segment)
        abort();
    packed_tensor_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZED_PATH];
    struct blco_file f;
    struct coo x = {0};
    struct error error = {0};
    size_t file_size;
    if (size < 1 + sizeof(struct blco_file_header))
        return 0;
    uint8_t *bytes = assemble(data, size, &file_size);
    const int fd = fuzzed_file(path, bytes, file_size);
    free(bytes);
    struct coo_listed listed = {0};
    enum status status = blco_file_open(&f, path, &error);
    if (status == STATUS_OK && f.header->nnz < MOST_NNZ) {
        status = blco_file_read(&f, &x, NULL, &error);
        if (status == STATUS_OK)
            listed = f.listed;
        check_packed(&f, status);
    }
    blco_file_close(&f);
    close(fd);
    if ((status == STATUS_OK) != (error.message[0] == '\0') || (status != STATUS_OK && x.value))
        abort();
    check(&x, &listed);
    coo_free(&x);
    return 0;
}
