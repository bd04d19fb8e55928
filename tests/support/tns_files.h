/* For tests of the text reader: files in a folder of their own, gzip, and the oracle, a parser that
 * reads each text line with sscanf. Include it after cmocka.h. */
#pragma once

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <isa-l/igzip_lib.h>

#include "support/tensor_reads.h"
#include "support/naive.h"

static const struct tns_sizes usual = {1 << 20, 1 << 16};
static const struct tns_options one_based = {.index_base = 1};
static char folder[] = "/tmp/test_tns_XXXXXX";
static char path[64]; /* of the file that write_file() writes */

/* --- files --- */

static inline void write_file(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Compresses the text to one gzip member in out[0..size + 1000). Returns the size of the member. */
static inline size_t compress_text(const char *text, size_t size, uint8_t *out)
{
    struct isal_zstream stream;
    isal_deflate_stateless_init(&stream);
    stream.gzip_flag = IGZIP_GZIP;
    stream.end_of_stream = 1;
    stream.next_in = (uint8_t *)(uintptr_t)text;
    stream.avail_in = (uint32_t)size;
    stream.next_out = out;
    stream.avail_out = (uint32_t)size + 1000;
    assert_int_equal(isal_deflate_stateless(&stream), COMP_OK);
    return stream.total_out;
}

static inline enum status read_file(struct coo *x, const struct tns_options *options,
                                    const struct tns_sizes *sizes, struct tensor_reader *report,
                                    struct error *error)
{
    struct tns_options sized = *options;
    sized.sizes = *sizes;
    *error = (struct error){0};
    *report = (struct tensor_reader){.format = &tensor_text, .path = path, .tns = &sized};
    return read_whole(x, NULL, report, error);
}

/* --- the oracle --- */

struct entries {
    int order;
    size_t count;
    uint64_t dims[MAX_ORDER];
    uint32_t (*index)[MAX_ORDER]; /* (room) */
    double *value;                /* (room) */
};

/* Parses text without a header, each text line with sscanf. */
static inline void naive_parse(const char *text, uint32_t base, struct entries *e)
{
    size_t lines = 1;
    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    *e = (struct entries){.index = malloc(lines * sizeof *e->index),
                          .value = malloc(lines * sizeof *e->value)};
    assert_true(e->index && e->value);
    while (*text) {
        char line[1000], word[MAX_ORDER + 2][100];
        size_t length = strcspn(text, "\n");
        assert_true(length < sizeof line);
        memcpy(line, text, length);
        line[length] = '\0';
        text += length + (text[length] == '\n');
        line[strcspn(line, "#")] = '\0';
        int words = 0, used = 0;
        for (char *p = line; sscanf(p, "%99s%n", word[words], &used) == 1; p += used)
            words++;
        if (words == 0)
            continue;
        e->order = words - 1;
        for (int n = 0; n < e->order; n++) {
            unsigned long long index = strtoull(word[n], NULL, 10) - base;
            e->index[e->count][n] = (uint32_t)index;
            if (index + 1 > e->dims[n])
                e->dims[n] = index + 1;
        }
        e->value[e->count++] = strtod(word[words - 1], NULL);
    }
}

static inline void assert_entries(const struct coo *x, const struct entries *e)
{
    assert_int_equal(x->shape.order, e->order);
    assert_int_equal(x->nnz, e->count);
    for (int n = 0; n < e->order; n++)
        assert_int_equal(x->shape.dims[n], e->dims[n]);
    for (size_t i = 0; i < e->count; i++) {
        for (int n = 0; n < e->order; n++)
            if (x->index[n][i] != e->index[i][n])
                fail_msg("entry %zu, mode %d: %u, expected %u", i, n, x->index[n][i],
                         e->index[i][n]);
        assert_memory_equal(&x->value[i], &e->value[i], sizeof(double));
    }
}

static inline void free_entries(struct entries *e)
{
    free(e->index);
    free(e->value);
}

/* Makes `lines` text lines in every style that people use; the caller frees the text. */
static char *random_text(int order, int lines, int base, uint64_t *seed)
{
    char *text = malloc((size_t)lines * 700 + 1), *p = text;
    assert_non_null(text);
    static const char *const blank[] = {" ", " ", " ", "\t", "  ", " \t "};
    static const char *const format[] = {"%.0f", "%.17g", "%g", "%.3f", "%e", "%.25f", "+%.0f"};
    for (int i = 0; i < lines; i++) {
        uint64_t style = naive_random(seed) % 16;
        if (style == 0)
            p += sprintf(p, "# %d comment 1 2 3", i);
        if (style == 1 && naive_random(seed) % 2)
            p += sprintf(p, "  \t");
        if (style == 2)
            p += sprintf(p, " ");
        for (int n = 0; n < order && style > 1; n++) {
            unsigned bits = (unsigned)(naive_random(seed) % 4) * 8 + 7;
            uint64_t index = naive_random(seed) % ((UINT64_C(1) << bits) - 1);
            p += sprintf(p, style == 3 ? "%012llu%s" : "%llu%s",
                         (unsigned long long)index + (unsigned)base, blank[naive_random(seed) % 6]);
        }
        double value = (double)(int64_t)naive_random(seed) * 0x1p-50;
        if (style > 1)
            p += sprintf(p, format[naive_random(seed) % 6 + (value > 0)], value);
        if (style == 4)
            p += sprintf(p, " # trailing");
        if (style == 5)
            p += sprintf(p, "  ");
        p += sprintf(p, style == 6 ? "\r\n" : "\n");
    }
    if (naive_random(seed) % 2)
        *--p = '\0'; /* no newline at the end */
    return text;
}

static inline int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/x.tns", folder);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}
