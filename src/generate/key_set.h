/* A sorted set of cells that one thread fills by draws. Keys are places on the line. */
#ifndef BLCO_KEY_SET_H
#define BLCO_KEY_SET_H

#include "generate/coordinate_keys.h"

struct key_set {
    coordinate_key *key;             /* (room), of which `count` ascending, distinct; owned */
    uint64_t count;                  /*                                                     */
    coordinate_key *drawn, *scratch; /* (room); owned                                       */
    uint64_t room;
};

/* Room for as many keys in the set, and as many drawn ones; empties the set. */
enum status key_set_clear(struct key_set *set, uint64_t room, struct error *error);

/* Accepts an empty one. */
void key_set_free(struct key_set *set);

/* Adds drawn[0..count), whatever is among them. All keys, in the set or not, may differ in their
 * lowest `bits` bits. In all there must not be more than `room` that are distinct. */
void key_set_add(struct key_set *set, uint64_t count, int bits);

/* Adds those drawn[0..count) that are not in the set, evenly spaced ones if that makes more than
 * `most`. */
void key_set_fill(struct key_set *set, uint64_t count, int bits, uint64_t most);

/* Leaves out evenly spaced ones until there are at most `most`. */
void key_set_thin(struct key_set *set, uint64_t most);

#endif
