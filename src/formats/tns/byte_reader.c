#include "formats/tns/byte_reader.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <isa-l/igzip_lib.h>

#include "base/memory.h"

#define INPUT_BYTES    ((size_t)1 << 18)
#define MEMBER_START   4                 /* bytes: magic, method and flags */
#define RESERVED_FLAGS 0xe0              /* bits that RFC 1952, section 2.3.1.2 wants to be zero */
#define MAX_STEP       ((size_t)1 << 30) /* the library counts in 32 bits */

bool byte_reader_is_gzip(const unsigned char *bytes, size_t count)
{
    return count >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/* Calls read(2) until `room` bytes are read or the file ends. */
static enum status read_fully(struct byte_reader *f, void *bytes, size_t room, size_t *got,
                              struct error *error)
{
    *got = 0;
    while (*got < room && !f->ended) {
        ssize_t n = read(f->fd, (char *)bytes + *got, room - *got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(error, STATUS_INPUT, "%s: cannot read: %s", f->name, strerror(errno));
        f->ended = n == 0;
        *got += (size_t)n;
        atomic_fetch_add_explicit(&f->consumed, (size_t)n, memory_order_relaxed);
    }
    return STATUS_OK;
}

/* Makes sure that `input` has at least `wanted` bytes, or all that are left of the file. */
static enum status refill(struct byte_reader *f, size_t wanted, struct error *error)
{
    if (f->count >= wanted || f->ended)
        return STATUS_OK;
    memmove(f->input, f->input + f->first, f->count);
    f->first = 0;
    size_t got;
    TRY(read_fully(f, f->input + f->count, INPUT_BYTES - f->count, &got, error));
    f->count += got;
    return STATUS_OK;
}

enum status byte_reader_open(struct byte_reader *f, int fd, const char *name, struct error *error)
{
    *f = (struct byte_reader){.name = name, .fd = fd};
    f->input = memory_array(INPUT_BYTES, 1, error);
    if (!f->input)
        goto done;
    TRY_OR(done, refill(f, 2, error));
    if (!byte_reader_is_gzip(f->input, f->count))
        goto done;
    f->gzip = true;
    f->inflate = memory_array(1, sizeof *f->inflate, error);
    if (f->inflate)
        isal_inflate_init(f->inflate);
done:
    if (error->status != STATUS_OK)
        byte_reader_close(f);
    return error->status;
}

static enum status damaged(const struct byte_reader *f, const char *how, struct error *error)
{
    return error_set(error, STATUS_INPUT, "%s: damaged gzip: %s", f->name, how);
}

static enum status explain(const struct byte_reader *f, int code, struct error *error)
{
    switch (code) {
    case ISAL_INCORRECT_CHECKSUM:
        return damaged(f, "the checksum does not match", error);
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD:
        return damaged(f, "invalid header", error);
    default:
        return damaged(f, "invalid compressed data", error);
    }
}

/* Begins the next member. *more is false at the end of the file, which zero bytes may pad. */
static enum status begin_member(struct byte_reader *f, bool *more, struct error *error)
{
    *more = false;
    TRY(refill(f, MEMBER_START, error));
    while (f->count > 0 && f->input[f->first] == 0) {
        f->first++;
        f->count--;
        TRY(refill(f, MEMBER_START, error));
    }
    if (f->count == 0)
        return STATUS_OK;
    if (!byte_reader_is_gzip(f->input + f->first, f->count))
        return damaged(f, "something else follows the compressed data", error);
    if (f->count >= MEMBER_START && f->input[f->first + 3] & RESERVED_FLAGS)
        return damaged(f, "invalid header: reserved flags are set", error);
    isal_inflate_reset(f->inflate);
    f->inflate->crc_flag = ISAL_GZIP;
    f->in_member = *more = true;
    return STATUS_OK;
}

/* Inflates some bytes of the current member into bytes[0..room): one call of the library. */
static enum status inflate_some(struct byte_reader *f, char *bytes, size_t room, size_t *got,
                                struct error *error)
{
    TRY(refill(f, 1, error));
    struct inflate_state *s = f->inflate;
    size_t given = f->count;
    s->next_in = f->input + f->first;
    s->avail_in = (uint32_t)given;
    s->next_out = (uint8_t *)bytes;
    s->avail_out = (uint32_t)(room < MAX_STEP ? room : MAX_STEP);
    size_t offered = s->avail_out;

    int code = isal_inflate(s);
    *got = offered - s->avail_out;
    f->first += given - s->avail_in;
    f->count = s->avail_in;
    if (code < 0 || code == ISAL_NEED_DICT)
        return explain(f, code, error);
    if (s->block_state == ISAL_BLOCK_FINISH)
        f->in_member = false;
    else if (given == 0 && *got == 0)
        return damaged(f, "the file is cut off", error);
    return STATUS_OK;
}

static enum status read_gzip(struct byte_reader *f, char *bytes, size_t room, size_t *got,
                             struct error *error)
{
    *got = 0;
    while (*got < room) {
        bool more = true;
        size_t some = 0;
        if (!f->in_member)
            TRY(begin_member(f, &more, error));
        if (!more)
            return STATUS_OK;
        TRY(inflate_some(f, bytes + *got, room - *got, &some, error));
        *got += some;
    }
    return STATUS_OK;
}

enum status byte_reader_read(struct byte_reader *f, char *bytes, size_t room, size_t *got,
                             struct error *error)
{
    if (f->gzip)
        return read_gzip(f, bytes, room, got, error);
    size_t ready = f->count < room ? f->count : room, rest;
    memcpy(bytes, f->input + f->first, ready);
    f->first += ready;
    f->count -= ready;
    TRY(read_fully(f, bytes + ready, room - ready, &rest, error));
    *got = ready + rest;
    return STATUS_OK;
}

void byte_reader_close(struct byte_reader *f)
{
    memory_free(f->input);
    memory_free(f->inflate);
    f->input = NULL;
    f->inflate = NULL;
}
