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

#include "base/json_tree.h"
#include "report/page.h"
#include "report/page_ranks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every text is terminated within the tree, and members are as many as were counted. */
static void check_tree(const struct json_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        const struct json_value *value = &tree->value[i], *member = json_first(tree, value);
        size_t count = 0;
        for (; member; member = json_next(tree, member))
            count++;
        if (count != value->count || (value->kind == JSON_STRING) != (value->text != NULL))
            abort();
        if (value->text && strlen(value->text) > 1u << 30)
            abort();
    }
}

static void write_page(const struct json_tree *tree)
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
    if (mode_views_make(view, &model, order, 5, &error) != STATUS_OK)
        abort();
    const struct page page = {
        .stem = stem, .model = &model, .labels = &labels, .view = view, .record = tree};
    if (page_write(to, &page, &error) != STATUS_OK || fclose(to) != 0 || strstr(text, "<script"))
        abort();
    free(text);
    mode_views_free(view);
    ktensor_free(&model);
}

static void write_ranks(const struct json_tree *tree)
{
    const struct page_ranks page = {.stem = "x", .tree = tree, .beside = true};
    struct error error = {0};
    char *text = NULL;
    size_t size;
    if (page_ranks_check(tree, "x.ranks.json", &error) != STATUS_OK)
        return;
    FILE *to = open_memstream(&text, &size);
    if (!to || page_ranks_write(to, &page, &error) != STATUS_OK || fclose(to) != 0 ||
        strstr(text, "<script"))
        abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_tree tree;
    struct error error = {0};
    if (json_tree_parse(&tree, (const char *)data, size, "record", &error) == STATUS_OK) {
        check_tree(&tree);
        write_page(&tree);
        write_ranks(&tree);
    } else if (error.status != STATUS_INPUT || !strstr(error.message, ": not JSON: ")) {
        abort();
    }
    json_tree_free(&tree);
    return 0;
}
