#include "generate/key_set.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

#define DIGIT_BITS 11

enum status key_set_clear(struct key_set *set, uint64_t room, struct error *error)
{
    set->count = 0;
    if (room <= set->room)
        return STATUS_OK;
    key_set_free(set);
    set->key = memory_array(room, sizeof *set->key, error);
    set->drawn = memory_array(room, sizeof *set->drawn, error);
    set->scratch = memory_array(room, sizeof *set->scratch, error);
    set->room = room;
    if (error->status != STATUS_OK)
        key_set_free(set);
    return error->status;
}

void key_set_free(struct key_set *set)
{
    memory_free(set->key);
    memory_free(set->drawn);
    memory_free(set->scratch);
    *set = (struct key_set){0};
}

/* One pass of a radix sort, by the digit of `bits` bits from `shift` on. */
static void sort_by_digit(const coordinate_key *from, coordinate_key *to, uint64_t count, int shift,
                          int bits)
{
    uint64_t start[1 << DIGIT_BITS] = {0}, sum = 0;
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    for (uint64_t i = 0; i < count; i++)
        start[(uint64_t)(from[i] >> shift) & mask]++;
    for (uint64_t digit = 0; digit <= mask; digit++) {
        uint64_t own = start[digit];
        start[digit] = sum;
        sum += own;
    }
    for (uint64_t i = 0; i < count; i++)
        to[start[(uint64_t)(from[i] >> shift) & mask]++] = from[i];
}

static void swap(coordinate_key **a, coordinate_key **b)
{
    coordinate_key *c = *a;
    *a = *b;
    *b = c;
}

static void sort_drawn(struct key_set *set, uint64_t count, int bits)
{
    int passes = (bits + DIGIT_BITS - 1) / DIGIT_BITS;
    for (int pass = 0, shift = 0; pass < passes; pass++) {
        int digit = (bits - shift) / (passes - pass);
        sort_by_digit(set->drawn, set->scratch, count, shift, digit);
        swap(&set->drawn, &set->scratch);
        shift += digit;
    }
}

/* Sorts the drawn keys and keeps the new ones. Returns their number. */
static uint64_t find_new(struct key_set *set, uint64_t count, int bits)
{
    uint64_t found = 0, k = 0;
    sort_drawn(set, count, bits);
    for (uint64_t i = 0; i < count; i++) {
        coordinate_key key = set->drawn[i];
        while (k < set->count && set->key[k] < key)
            k++;
        bool known =
            (k < set->count && set->key[k] == key) || (found > 0 && set->drawn[found - 1] == key);
        set->drawn[found] = key;
        found += !known;
    }
    return found;
}

/* Adds drawn[0..count), which are sorted and new. */
static void merge(struct key_set *set, uint64_t count)
{
    if (set->count == 0) {
        swap(&set->key, &set->drawn);
        set->count = count;
        return;
    }
    uint64_t a = 0, b = 0, all = set->count + count;
    for (uint64_t i = 0; i < all; i++) {
        bool old = b == count || (a < set->count && set->key[a] < set->drawn[b]);
        set->scratch[i] = old ? set->key[a++] : set->drawn[b++];
    }
    swap(&set->key, &set->scratch);
    set->count = all;
}

/* Keeps `most` of key[0..count), evenly spaced. */
static void thin(coordinate_key *key, uint64_t count, uint64_t most)
{
    uint64_t kept = 0, due = 0;
    for (uint64_t i = 0; i < count; i++) {
        due += most;
        key[kept] = key[i];
        if (due >= count) {
            due -= count;
            kept++;
        }
    }
}

void key_set_add(struct key_set *set, uint64_t count, int bits)
{
    merge(set, find_new(set, count, bits));
}

void key_set_fill(struct key_set *set, uint64_t count, int bits, uint64_t most)
{
    uint64_t found = find_new(set, count, bits), missing = most - set->count;
    if (found > missing) {
        thin(set->drawn, found, missing);
        found = missing;
    }
    merge(set, found);
}

void key_set_thin(struct key_set *set, uint64_t most)
{
    if (set->count <= most)
        return;
    thin(set->key, set->count, most);
    set->count = most;
}
