/* A segment of a .blco file in its bytes: cut into blocks, indices and values narrow. */
#ifndef BLCO_PACK_H
#define BLCO_PACK_H

#include <stdbool.h>

#include "blco_format.h"
#include "error.h"
#include "ordering.h"

/* What one thread packs into. */
struct blco_packer {
    uint8_t *bytes; /* (room), of which `used` are the last segment's; owned            */
    uint64_t room, used;
    uint32_t *begin; /* (BLCO_SEGMENT_NNZ + 1) first nonzeros of the blocks, and the end; owned */
    uint32_t nblocks;
};

/* On failure *p is empty. */
enum status blco_packer_create(struct blco_packer *p, struct error *error);

/* Accepts an empty one. */
void blco_packer_free(struct blco_packer *p);

/* Packs nonzeros [first, first + count) of x, at most BLCO_SEGMENT_NNZ, which stand in the order of
 * `o` and have distinct coordinates. Offset and checksum of *s are the caller's to fill. */
enum status blco_pack(struct blco_packer *p, const struct ordering *o, const struct coo *x,
                      uint64_t first, uint32_t count, struct blco_file_segment *s,
                      struct error *error);

/* The same in two steps, where the bytes go to a place of the caller's, which knows it when all
 * segments are measured: first their number and how they are cut; then, from the cuts that were
 * made last, bytes[0..s->bytes), aligned to BLCO_SEGMENT_ALIGN. */
void blco_pack_cut(struct blco_packer *p, const struct ordering *o, const struct coo *x,
                   uint64_t first, uint32_t count, struct blco_file_segment *s);
void blco_pack_fill(struct blco_packer *p, const struct ordering *o, const struct coo *x,
                    uint64_t first, const struct blco_file_segment *s, uint8_t *bytes);

/* The tensor's nonzeros [first, first + count) from the bytes of a segment; x has the room, its
 * order and lengths. STATUS_INPUT where these are not bytes that blco_pack makes; nothing outside
 * of bytes[0..s->bytes) is read then. `name` is the file's, for the message. */
enum status blco_unpack(const uint8_t *bytes, const struct blco_file_segment *s, struct coo *x,
                        uint64_t first, uint32_t count, const char *name, struct error *error);

/* Whether these are such bytes, as far as that can be told without decoding them: no block reaches
 * out of them or has bits or forms that do not exist, and they have `count` nonzeros. */
bool blco_is_sound(const uint8_t *bytes, const struct blco_file_segment *s, int order,
                   uint32_t count);

#endif
