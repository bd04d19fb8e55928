/* Fuzz target of the reader of JSON, and of the pages that are made of a record or of a table
 * of ranks: the input is one of these, which may lack and damage anything.
 *
 *   clang -fsanitize=fuzzer,address,undefined -fopenmp=libomp -Isrc tests/fuzz/fuzz_json.c ...
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "report/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_page(const json_t *record)
{
    static char stem[] = "x";
    const struct shape shape = {.order = 2, .dims = {3, 25}};
    const enum view_order order[MAX_ORDER] = {VIEW_FIND_OUT};
    struct mode_view view[MAX_ORDER];
    struct labels labels = {0};
    struct ktensor model;
    struct error error = {0};
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to || ktensor_create(&model, &shape, 2, &error) != STATUS_OK)
        abort();
    ktensor_randomise(&model, KTENSOR_RANDOM, 1);
    if (mode_views_make(view, &model, &labels, order, 5, &error) != STATUS_OK)
        abort();
    const struct page page = {
        .stem = stem, .model = &model, .labels = &labels, .view = view, .record = record};
    if (page_write(to, &page, &error) != STATUS_OK || fclose(to) != 0 || strstr(text, "<script"))
        abort();
    free(text);
    mode_views_free(view);
    ktensor_free(&model);
}

static void write_ranks(const json_t *file)
{
    const struct page_ranks page = {.stem = "x", .file = file, .beside = true};
    struct error error = {0};
    char *text = NULL;
    size_t size;
    if (page_ranks_check(file, "x.ranks.json", &error) != STATUS_OK)
        return;
    FILE *to = open_memstream(&text, &size);
    if (!to || page_ranks_write(to, &page, &error) != STATUS_OK || fclose(to) != 0 ||
        strstr(text, "<script"))
        abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *value;
    struct error error = {0};
    if (json_parse(&value, (const char *)data, size, "record", &error) == STATUS_OK) {
        write_page(value);
        write_ranks(value);
    } else if (error.status != STATUS_INPUT || !strstr(error.message, ": not JSON: ")) {
        abort();
    }
    json_decref(value);
    return 0;
}
