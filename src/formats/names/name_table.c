#include "formats/names/name_table.h"

#include <string.h>

#include "base/memory.h"
#include "base/uint128.h"

#define LEAST_SLOTS 64

struct name_slot {
    uint32_t hash;
    uint32_t next; /* the number of the name, plus 1; 0: the slot is free */
    uint64_t place;
};

/* --- hashes --- */

/* Both halves of a product, mixed: the step of wyhash (Wang Yi, public domain). */
static uint64_t mix(uint64_t a, uint64_t b)
{
    const uint128 product = (uint128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load(const char *text, size_t bytes)
{
    uint64_t word = 0;
    memcpy(&word, text, bytes);
    return word;
}

/* The last 0 to 8 bytes of a name in one word. */
static uint64_t load_rest(const char *text, size_t bytes)
{
    if (bytes == 8)
        return load(text, 8);
    if (bytes >= 4)
        return load(text, 4) << 32 | load(text + bytes - 4, 4);
    if (bytes == 0)
        return 0;
    const unsigned char first = (unsigned char)text[0], middle = (unsigned char)text[bytes / 2],
                        last = (unsigned char)text[bytes - 1];
    return (uint64_t)first << 16 | (uint64_t)middle << 8 | last;
}

uint32_t name_hash(const char *text, size_t length)
{
    const uint64_t odd = UINT64_C(0xa0761d6478bd642f), other = UINT64_C(0xe7037ed1a0b428db);
    uint64_t hash = length ^ odd;
    for (; length > 8; text += 8, length -= 8)
        hash = mix(load(text, 8) ^ odd, hash ^ other);
    hash = mix(load_rest(text, length) ^ odd, hash ^ other);
    return (uint32_t)mix(hash ^ odd, other);
}

/* --- the table --- */

#define LENGTH_BITS 24

static struct name name_at(const struct name_table *t, uint64_t place)
{
    return (struct name){t->text + (place >> LENGTH_BITS),
                         (size_t)(place & ((UINT64_C(1) << LENGTH_BITS) - 1))};
}

struct name name_table_get(const struct name_table *t, uint32_t number)
{
    return name_at(t, t->place[number]);
}

void name_table_prefetch(const struct name_table *t, uint32_t hash)
{
    if (t->slots > 0)
        __builtin_prefetch(&t->slot[hash & (t->slots - 1)]);
}

void name_table_prefetch_text(const struct name_table *t, uint32_t hash)
{
    if (t->slots > 0)
        __builtin_prefetch(name_at(t, t->slot[hash & (t->slots - 1)].place).text);
}

/* The slot that has the name, or the free one where it belongs. There is a free one. */
static uint64_t find_slot(const struct name_table *t, struct name name, uint32_t hash)
{
    uint64_t s = hash & (t->slots - 1);
    for (;; s = (s + 1) & (t->slots - 1)) {
        const struct name_slot *slot = &t->slot[s];
        if (slot->next == 0)
            return s;
        if (slot->hash != hash)
            continue;
        struct name other = name_at(t, slot->place);
        if (other.length == name.length && memcmp(other.text, name.text, name.length) == 0)
            return s;
    }
}

bool name_table_find(const struct name_table *t, struct name name, uint32_t hash, uint32_t *number)
{
    if (t->count == 0)
        return false;
    const struct name_slot *slot = &t->slot[find_slot(t, name, hash)];
    *number = slot->next - 1;
    return slot->next != 0;
}

/* Doubles the slots, of which at most half are taken. */
static enum status grow_slots(struct name_table *t, struct error *error)
{
    uint64_t slots = t->slots > 0 ? 2 * t->slots : LEAST_SLOTS;
    struct name_slot *slot = memory_zeros(slots, sizeof *slot, error);
    TRY(error->status);
    for (uint64_t i = 0; i < t->slots; i++) {
        if (t->slot[i].next == 0)
            continue;
        uint64_t s = t->slot[i].hash & (slots - 1);
        while (slot[s].next != 0)
            s = (s + 1) & (slots - 1);
        slot[s] = t->slot[i];
    }
    memory_free(t->slot);
    t->slot = slot;
    t->slots = slots;
    return STATUS_OK;
}

inline enum status name_table_append(struct name_table *t, struct name name, struct error *error)
{
    if (t->count == t->place_room) {
        uint64_t room = t->place_room + t->place_room / 2 + LEAST_SLOTS;
        TRY(memory_resize(&t->place, room, sizeof *t->place, error));
        t->place_room = room;
    }
    if (t->room - t->used <= name.length) {
        uint64_t room = t->used + name.length + t->used / 2 + LEAST_SLOTS;
        TRY(memory_resize(&t->text, room, 1, error));
        t->room = room;
    }
    t->place[t->count++] = t->used << LENGTH_BITS | name.length;
    *(char *)mempcpy(t->text + t->used, name.text, name.length) = '\0';
    t->used += name.length + 1;
    return STATUS_OK;
}

enum status name_table_add(struct name_table *t, struct name name, uint32_t hash, uint32_t *number,
                           struct error *error)
{
    if (name_table_find(t, name, hash, number))
        return STATUS_OK;
    if (2 * ((uint64_t)t->count + 1) > t->slots)
        TRY(grow_slots(t, error));
    struct name_slot *slot = &t->slot[find_slot(t, name, hash)];
    *number = t->count;
    TRY(name_table_append(t, name, error));
    *slot = (struct name_slot){hash, t->count, t->place[*number]};
    return STATUS_OK;
}

enum status name_table_renumber(struct name_table *t, const uint32_t *number, struct error *error)
{
    uint64_t *place = memory_array(t->count, sizeof *place, error);
    TRY(error->status);
    for (uint32_t k = 0; k < t->count; k++)
        place[number[k]] = t->place[k];
    for (uint64_t s = 0; s < t->slots; s++)
        if (t->slot[s].next != 0)
            t->slot[s].next = number[t->slot[s].next - 1] + 1;
    memory_free(t->place);
    t->place = place;
    t->place_room = t->count;
    return STATUS_OK;
}

void name_table_seal(struct name_table *t)
{
    memory_free(t->slot);
    t->slot = NULL;
    t->slots = 0;
}

uint64_t name_table_bytes(const struct name_table *t)
{
    return t->room + t->place_room * sizeof *t->place + t->slots * sizeof *t->slot;
}

void name_table_clear(struct name_table *t)
{
    if (8 * (uint64_t)t->count < t->slots && t->slots > LEAST_SLOTS) {
        name_table_free(t);
        return;
    }
    if (t->count > 0)
        memset(t->slot, 0, t->slots * sizeof *t->slot);
    t->count = 0;
    t->used = 0;
}

void name_table_free(struct name_table *t)
{
    memory_free(t->text, t->place, t->slot);
    *t = (struct name_table){0};
}

void tensor_names_free(struct tensor_names *names)
{
    for (int n = 0; n < MAX_ORDER; n++)
        name_table_free(&names->index[n]);
    memory_free(names->unused);
    *names = (struct tensor_names){0};
}
