/* Words that stand for values: in options, help, messages and records. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct word {
    const char *text; /* NULL ends a table */
    int value;
};

/* The word of this value; NULL where the table has none. */
const char *word_of(const struct word *words, int value);

/* Whether text[0..length) is one of the words; *value is what it stands for. */
bool word_find(const struct word *words, const char *text, size_t length, int *value);

/* Appends what printf would print to list[0..size), cut where the list is full. */
void words_append(char *list, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends all words, with `between` between them, but `last` before the last one. */
void words_list(char *list, size_t size, const struct word *words, const char *between,
                const char *last);
