/* A sorted set of positions on the alto line, filled with drawn positions by one thread. */
#ifndef BLCO_KEY_SET_H
#define BLCO_KEY_SET_H

#include "base/error.h"
#include "generate/coordinate_keys.h"

struct key_set {
    coordinate_key *key; /* (room) the set: the first `count`, ascending and distinct; owned */
    uint64_t count;
    coordinate_key *drawn, *scratch; /* (room); owned */
    uint64_t room;
};

/* Empties the set and makes room for `room` keys in the set and as many drawn keys. On failure the
 * set is freed. STATUS_MEMORY. */
enum status key_set_clear(struct key_set *set, uint64_t room, struct error *error);

/* Accepts an empty set. */
void key_set_free(struct key_set *set);

/* Adds the keys drawn[0..count); some may be repeated or already in the set. All keys, old and
 * drawn, differ in their lowest `bits` bits only. The set must not exceed `room` keys. */
void key_set_add(struct key_set *set, uint64_t count, int bits);

/* Like key_set_add(), but the set grows to at most `most` keys: if the new keys are more, evenly
 * spaced ones of them are added. */
void key_set_fill(struct key_set *set, uint64_t count, int bits, uint64_t most);

/* Drops evenly spaced keys until at most `most` are left. */
void key_set_thin(struct key_set *set, uint64_t most);

#endif
