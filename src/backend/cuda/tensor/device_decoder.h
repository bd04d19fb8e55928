/* Copies segments of a .blco file to device memory as they are, and decodes them there, some at a
 * time. */
#ifndef BLCO_DEVICE_DECODER_H
#define BLCO_DEVICE_DECODER_H

#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_staging.h"
#include "formats/blco/blco_file.h"
#include "kernels/packed/unpack.h"

#define DEVICE_DECODER_NNZ (1 << 22) /* nonzeros that are decoded at a time, at most */

struct device_decoder {
    const struct blco_file *file;   /* borrowed                                               */
    const struct device_pool *pool; /* of the arrays; borrowed                                */
    struct packed_layout layout;    /* of the words to which nonzeros are decoded             */
    uint64_t *number;               /* (segments) their numbers in the file, ascending; owned */
    uint64_t segments;
    uint64_t at_once;               /* segments that are decoded at a time                    */
    uint64_t size;                  /* bytes of all segments                                  */
    struct unpack_segment *host;    /* (segments); owned                                      */
    struct unpack_segment *segment; /* (segments); device, owned                              */
    struct packed_spread *spread;   /* (1); device, owned                                     */
    int *damaged;                   /* (1); device, owned                                     */
    uint8_t *bytes;                 /* device, owned                                          */
};

/* Takes room and fills the tables. The caller has set d->file, pool, layout, number and segments;
 * the other members are 0. *d owns `number` from now on, after a failure too. The segments' room
 * has at least `room` bytes. The caller closes *d, after a failure too. STATUS_MEMORY. */
enum status device_decoder_open(struct device_decoder *d, uint64_t room, struct error *error);

/* Copies the segments to the device, and checks them on the way. STATUS_INPUT where one is damaged;
 * the message is about the first. */
enum status device_decoder_send(struct device_decoder *d, struct device_staging *staging,
                                struct error *error);

/* The number of nonzeros of the decoder's segments [begin, end). */
uint64_t device_decoder_nnz(const struct device_decoder *d, uint64_t begin, uint64_t end);

/* Decodes the segments [begin, end), at most d->at_once, to words (word[1] only where the layout
 * has two) and values, device arrays with room for their nonzeros. Asynchronous. */
enum status device_decoder_unpack(const struct device_decoder *d, uint64_t begin, uint64_t end,
                                  uint64_t *const *word, double *value, struct error *error);

/* Waits for the decoding. STATUS_INPUT where it found a coordinate beyond its mode. */
enum status device_decoder_finish(const struct device_decoder *d, struct error *error);

/* No copy may be queued. Accepts an empty one. */
void device_decoder_close(struct device_decoder *d);

#endif
