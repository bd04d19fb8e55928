/* Names and their numbers: the first name that is added is number 0. Several threads may look names
 * up at once, as long as none is added. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tensor/mode_names.h"

#define NAME_LONGEST     ((size_t)1 << 20)   /* bytes of a name, as of a label */
#define NAME_TABLE_LIMIT (UINT32_C(1) << 31) /* names                          */

struct name_slot;

struct name_table {
    uint32_t count;
    char *text;          /* the names as they were added, each terminated; owned   */
    uint64_t used, room; /* bytes of `text`                                        */
    uint64_t *place;     /* (place_room) of each name: where it begins in `text` and
                          * its length, as name_at() unpacks them; owned           */
    uint64_t place_room;
    struct name_slot *slot; /* (slots) a hash table with linear probing; owned        */
    uint64_t slots;         /* 0 or a power of two                                    */
};

struct name {
    const char *text; /* terminated in a table, elsewhere perhaps not */
    size_t length;
};

/* How many bytes of the name a message shows, for "%.*s": `most` at most. */
static inline int name_shown(struct name name, size_t most)
{
    return (int)(name.length < most ? name.length : most);
}

/* The hash of a name, by which the table finds it. */
uint32_t name_hash(const char *text, size_t length);

/* Brings the slot of this hash into the cache, and later, with that slot, the text of the name that
 * has it, for a name_table_find() that follows soon. */
void name_table_prefetch(const struct name_table *t, uint32_t hash);
void name_table_prefetch_text(const struct name_table *t, uint32_t hash);

/* Whether the table has the name; then *number is its number. */
bool name_table_find(const struct name_table *t, struct name name, uint32_t hash, uint32_t *number);

/* *number = the number of the name, which is added unless the table has it; its length is
 * NAME_LONGEST at most, and the table has fewer than NAME_TABLE_LIMIT names. STATUS_MEMORY. */
enum status name_table_add(struct name_table *t, struct name name, uint32_t hash, uint32_t *number,
                           struct error *error);

/* Adds the name, whether the table has it or not; names that are added so are not found by their
 * text. STATUS_MEMORY. */
enum status name_table_append(struct name_table *t, struct name name, struct error *error);

/* Name k gets the number number[k]; `number` is a permutation. STATUS_MEMORY leaves the table as it
 * was. */
enum status name_table_renumber(struct name_table *t, const uint32_t *number, struct error *error);

/* Ends the adding and finding of names by their text, and frees what these need. */
void name_table_seal(struct name_table *t);

/* The name with this number; its text is valid until the next name is added. */
struct name name_table_get(const struct name_table *t, uint32_t number);

/* Bytes that the table takes. */
uint64_t name_table_bytes(const struct name_table *t);

/* Takes all names away; keeps the memory if it was used well. */
void name_table_clear(struct name_table *t);

/* Accepts an empty table. */
void name_table_free(struct name_table *t);

/* The names of a tensor that was read from CSV: of its modes, and of the indices of each mode. */
struct tensor_names {
    int order; /* 0: there are no names of indices */
    struct mode_names modes;
    struct name_table index[MAX_ORDER]; /* (order) name k is that of index k; owned */
    char *unused; /* a column of numbers that is neither a mode nor the value, or NULL; owned */
};

/* Accepts empty names. */
void tensor_names_free(struct tensor_names *names);
