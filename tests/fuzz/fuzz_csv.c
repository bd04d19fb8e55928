/* Fuzz target of CSV. The first byte chooses sizes and options; the rest is the file after its
 * header. What it gives is compared with a reader that goes through the text byte by byte, and with
 * other sizes.
 *
 *   clang -fsanitize=fuzzer,address,undefined -fopenmp=libomp -Isrc -Itests tests/fuzz/fuzz_csv.c
 * ...
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "support/fuzzed.h"
#include "support/naive_csv.h"
#include "support/tensor_reads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct result {
    struct coo x;
    struct tensor_names names;
    struct error error;
};

static void read_csv(struct result *r, const char *text, size_t size, const char *columns,
                     const struct tns_sizes *sizes, int choice)
{
    const struct csv_options options = {.columns = columns,
                                        .value = choice & 1 ? "c" : NULL,
                                        .order = {choice == 0  ? "a=appearance"
                                                  : choice & 2 ? "a=sorted"
                                                               : "a=number",
                                                  "b=appearance"},
                                        .orders = choice == 0 ? 2 : (choice & 6) != 0,
                                        .bin = {choice & 8 ? "b=1h" : "b=.5"},
                                        .bins = (choice & 24) != 0};
    const struct tns_options plain = {.sizes = *sizes};
    char path[FUZZED_PATH];
    const int fd = fuzzed_file(path, text, size);
    struct tensor_reader reader = {
        .path = path, .tns = &plain, .csv = &options, .format = &tensor_csv};
    *r = (struct result){0};
    enum status status = read_whole(&r->x, &r->names, &reader, &r->error);
    close(fd);
    fuzzed_check(status, &r->x, &r->error);
}

static void free_result(struct result *r)
{
    coo_free(&r->x);
    tensor_names_free(&r->names);
}

static void check_same(const struct result *a, const struct result *b)
{
    if (a->error.status != b->error.status || a->x.nnz != b->x.nnz)
        abort();
    for (int n = 0; n < a->x.shape.order; n++)
        if (memcmp(a->x.index[n], b->x.index[n], a->x.nnz * sizeof *a->x.index[n]) != 0)
            abort();
}

/* Every name is that of the oracle; numbers are in order of appearance. */
static void check_oracle(const struct result *r, const char *text, size_t size)
{
    struct naive_field *field;
    const long rows = naive_csv(text, size, 2, &field);
    if ((r->error.status == STATUS_OK) != (rows > 0) || (rows > 0 && (uint64_t)rows != r->x.nnz))
        abort();
    for (int n = 0; n < 2; n++) {
        uint32_t next = 0;
        for (long i = 0; i < rows; i++) {
            const uint32_t number = r->x.index[n][i];
            const struct name name = name_table_get(&r->names.index[n], number);
            const struct naive_field *f = &field[2 * i + n];
            if (name.length != f->length || memcmp(name.text, f->text, name.length) != 0)
                abort();
            if (number > next)
                abort();
            next += number == next;
        }
    }
    naive_csv_free(field, size, 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tns_sizes large = {1 << 20, 1 << 16}, narrow = {1 << 20, 1},
                                  small = {256, 7};
    if (size == 0)
        return 0;
    const int choice = data[0] & 31;
    const char *header = choice ? "a,b,c\n" : "a,b\n";
    const size_t head = strlen(header);
    char *text = malloc(head + size + 2);
    struct result a, b, c;
    if (!text)
        abort();
    memcpy(text, header, head);
    memcpy(text + head, data + 1, size - 1);
    size += head - 1;
    read_csv(&a, text, size, "a,b", &large, choice);
    read_csv(&b, text, size, "a,b", &narrow, choice);
    read_csv(&c, text, size, "a,b", &small, choice);
    check_same(&a, &b);
    if (memcmp(a.error.message, b.error.message, 20) != 0 && !a.error.message[0])
        abort();
    if (!strstr(c.error.message, "a row of more than"))
        check_same(&a, &c);
    if (text[size - 1] != '\n')
        text[size++] = '\n';
    text[size] = '\0';
    if (choice == 0 && !strstr(a.error.message, ": is "))
        check_oracle(&a, text + head, size - head);
    free_result(&a);
    free_result(&b);
    free_result(&c);
    free(text);
    return 0;
}
