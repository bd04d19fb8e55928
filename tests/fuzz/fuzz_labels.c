/* Fuzz target of labels. The first byte is the number of indices less one, the rest is the file,
 * or, with the highest bit of the first byte set, the argument of --labels. What plain text gives
 * is compared with a reader that goes through it byte by byte.
 *
 *   clang -fsanitize=fuzzer,address,undefined -fopenmp=libomp -Isrc tests/fuzz/fuzz_labels.c ...
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/names/labels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[] = "/tmp/blco-fuzz-XXXXXX";

static void remove_file(void)
{
    unlink(path);
}

static void check_failure(const struct error *error)
{
    if (error->status != STATUS_INPUT || error->message[0] == '\0')
        abort();
}

/* Whether the label is what the text line says, in which \x0a, \x0d and \x5c stand for bytes. */
static int is_label(const char *label, const char *line, size_t length)
{
    for (size_t at = 0; at < length; label++) {
        const char *text = line + at;
        char byte = text[0];
        at++;
        if (byte == '\\' && length - at >= 3 && text[1] == 'x' &&
            ((text[2] == '0' && (text[3] == 'a' || text[3] == 'd')) ||
             (text[2] == '5' && text[3] == 'c'))) {
            byte = text[2] == '5' ? '\\' : text[3] == 'a' ? '\n' : '\r';
            at += 3;
        }
        if (*label != byte)
            return 0;
    }
    return *label == '\0';
}

/* Whether plain text has `count` labels without a byte 0, and those of `l` if it is not NULL. */
static int has_labels(const char *text, size_t size, uint64_t count, const struct labels *l)
{
    uint64_t lines = 0;
    for (size_t at = 0; at < size; lines++) {
        size_t end = at, next;
        while (end < size && text[end] != '\n')
            if (text[end++] == '\0')
                return 0;
        next = end + 1;
        if (lines == 0 && end - at >= 3 && memcmp(text + at, "\xef\xbb\xbf", 3) == 0)
            at += 3;
        if (end > at && text[end - 1] == '\r')
            end--;
        const char *label = l && lines < count ? labels_get(l, 0, lines) : NULL;
        if (l && (end == at ? label != NULL : !label || !is_label(label, text + at, end - at)))
            abort();
        at = next;
    }
    return lines == count;
}

static void read_option(const uint8_t *data, size_t size)
{
    struct labels labels = {0};
    struct error error = {0};
    char *text = malloc(size + 1);
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    if (labels_add(&labels, text, &error) != STATUS_OK)
        check_failure(&error);
    labels_free(&labels);
    free(text);
}

static void read_labels(const uint8_t *data, size_t size, uint64_t count)
{
    struct labels labels = {0};
    struct error error = {0};
    char option[64];
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
    snprintf(option, sizeof option, "1=%s", path);
    if (labels_add(&labels, option, &error) != STATUS_OK)
        abort();
    int gzip = size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
    if (labels_read(&labels, SHAPE(1, &count), &error) != STATUS_OK) {
        check_failure(&error);
        if (!gzip && has_labels((const char *)data, size, count, NULL))
            abort();
    } else if (!gzip && !has_labels((const char *)data, size, count, &labels)) {
        abort();
    }
    labels_free(&labels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (strstr(path, "XXXXXX")) {
        int fd = mkstemp(path);
        if (fd < 0)
            abort();
        close(fd);
        atexit(remove_file);
    }
    if (size == 0)
        return 0;
    if (data[0] & 0x80)
        read_option(data + 1, size - 1);
    else
        read_labels(data + 1, size - 1, data[0] + UINT64_C(1));
    return 0;
}
