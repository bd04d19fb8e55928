/* The strongest entries of each component in a mode, by which people name a component. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/json.h"
#include "formats/names/labels.h"
#include "model/ktensor.h"

/* The order of the entries of a heap, as qsort has it: the best first. */
typedef int best_order(const void *a, const void *b);

/* Keeps `entry`, of `size` bytes, if it is one of the `wanted` best so far: heap[0..*count) has
 * these, its first entry is the worst of them. Returns whether it is kept. qsort orders the heap in
 * the end. */
bool best_keep(void *heap, uint64_t *count, uint64_t wanted, size_t size, best_order *order,
               const void *entry);

struct top_entry {
    uint64_t index; /* row of the factor matrix, from 0 */
    double value;
};

struct top_entries {
    uint64_t count;          /* K, entries of each component                                */
    struct top_entry *entry; /* (R x K) those of component r begin at entry[r * K]; owned   */
};

/* *top = the `count` entries of largest magnitude in each column of the factor matrix A (rows x R,
 * row-major), or all where the matrix has fewer rows: the strongest first, of equal magnitudes the
 * one with the smaller index first, NaN after all numbers. All OpenMP threads read A once; beside
 * the result, memory for a few entries of each component and thread is taken. The caller frees
 * *top, which is empty on failure. STATUS_MEMORY. */
enum status top_entries_find(struct top_entries *top, const double *a, uint64_t rows, uint64_t rank,
                             uint64_t count, struct error *error);

/* Accepts an empty one. */
void top_entries_free(struct top_entries *top);

/* What is shown of them, for people or as JSON: some components and modes of a model. Numbers count
 * from 0; an end is one after the last. */
struct top_view {
    const struct ktensor *model;
    const struct labels *labels;   /* read                                      */
    const struct top_entries *top; /* (N) of each mode that is shown            */
    int index_base;                /* the number that the first index is shown as */
    uint64_t component, end_component;
    int mode, end_mode;
};

#define SHARES_TEXT 80 /* most characters */

/* text (SHARES_TEXT) = what component r explains alone, and what the model loses without it, as
 * they follow its weight: ", explains 31.2 %, 12.0 % lost without it"; what is not known is left
 * out.
 * ", cancels others" where a share is not between 0 and 1. Returns text. */
const char *shares_text(const struct ktensor *model, uint64_t r, char *text);

/* Prints a block of text lines for each component, with as many modes side by side as 80 columns
 * hold. Labels are made printable, and long ones cut. Entries of 0 are left out. */
void top_print(FILE *stream, const struct top_view *view);

/* Adds the same to the object that is open, with whole labels and all digits. */
void top_put_json(struct json *j, const struct top_view *view);
