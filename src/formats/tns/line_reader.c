#include "formats/tns/line_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "formats/tns/foreign_file.h"

/* --- Reads the bytes of an open file one after the other, and inflates them if the file is gzip.
 * The first bytes of a gzip file show what it is, whatever its name; it may have several members.
 * --- */

struct byte_reader {
    const char *name;              /* for messages; not owned                            */
    int fd;                        /* not owned                                          */
    bool gzip;                     /* known once the first bytes are read                */
    bool in_member;                /* gzip: a member has begun and has not ended         */
    bool ended;                    /* the file has no more bytes                         */
    unsigned char *input;          /* (INPUT_BYTES) bytes as they are in the file; owned */
    size_t first, count;           /* input[first, first + count) is not yet used        */
    struct inflate_state *inflate; /* NULL if the file is not gzip; owned                */
    atomic_size_t consumed;        /* bytes read from the file; any thread may read it   */
};

#define INPUT_BYTES    ((size_t)1 << 18)
#define MEMBER_START   4    /* bytes: magic, method and flags */
#define RESERVED_FLAGS 0xe0 /* bits that RFC 1952, section 2.3.1.2 wants to be zero */

/* Whether bytes[0..count) begin a gzip member. */
static bool byte_reader_is_gzip(const unsigned char *bytes, size_t count)
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
    size_t got = 0;
    TRY(read_fully(f, f->input + f->count, INPUT_BYTES - f->count, &got, error));
    f->count += got;
    return STATUS_OK;
}

/* Reads the first bytes and finds out whether the file is gzip. The caller frees the arrays of *f,
 * after a failure too. `name` outlives *f. STATUS_INPUT if the file cannot be read, STATUS_MEMORY.
 */
static enum status byte_reader_open(struct byte_reader *f, int fd, const char *name,
                                    struct error *error)
{
    *f = (struct byte_reader){.name = name, .fd = fd};
    f->input = memory_array(INPUT_BYTES, 1, error);
    TRY(error->status);
    TRY(refill(f, 2, error));
    f->gzip = byte_reader_is_gzip(f->input, f->count);
    if (f->gzip)
        f->inflate = memory_array(1, sizeof *f->inflate, error);
    if (f->inflate)
        isal_inflate_init(f->inflate);
    return error->status;
}

static enum status damaged(const struct byte_reader *f, const char *how, struct error *error)
{
    return error_set(error, STATUS_INPUT, "%s: damaged gzip: %s", f->name, how);
}

/* Begins the next member, if there is one: zero bytes may pad the end of the file. */
static enum status begin_member(struct byte_reader *f, struct error *error)
{
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
    f->in_member = true;
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
    s->avail_out = (uint32_t)room; /* a window, or less */

    int code = isal_inflate(s);
    *got = room - s->avail_out;
    f->first += given - s->avail_in;
    f->count = s->avail_in;
    if (code < 0 || code == ISAL_NEED_DICT)
        return damaged(f,
                       code == ISAL_INCORRECT_CHECKSUM ? "the checksum does not match"
                       : code == ISAL_INVALID_WRAPPER || code == ISAL_UNSUPPORTED_METHOD
                           ? "invalid header"
                           : "invalid compressed data",
                       error);
    if (s->block_state == ISAL_BLOCK_FINISH)
        f->in_member = false;
    else if (given == 0 && *got == 0)
        return damaged(f, "the file is cut off", error);
    return STATUS_OK;
}

/* Fills bytes[0..room); *got is less than room only at the end of the file. STATUS_INPUT, with the
 * name of the file, on a read error and if gzip data are damaged or cut off. */
static enum status byte_reader_read(struct byte_reader *f, char *bytes, size_t room, size_t *got,
                                    struct error *error)
{
    *got = 0;
    while (f->gzip && *got < room) {
        size_t inflated = 0;
        if (!f->in_member)
            TRY(begin_member(f, error));
        if (!f->in_member)
            return STATUS_OK;
        TRY(inflate_some(f, bytes + *got, room - *got, &inflated, error));
        *got += inflated;
    }
    if (f->gzip)
        return STATUS_OK;
    size_t ready = f->count < room ? f->count : room, rest;
    memcpy(bytes, f->input + f->first, ready);
    f->first += ready;
    f->count -= ready;
    TRY(read_fully(f, bytes + ready, room - ready, &rest, error));
    *got = ready + rest;
    return STATUS_OK;
}

/* --- Windows of whole text lines. --- */

#define SEARCHED ((size_t)1 << 16) /* bytes that are searched for line ends at a time */

/* The window of the whole lines of text[0..count), which is the rest of the file if `over`; then
 * the last line gets a newline if it lacks one (text has room for it). *whole is how many bytes of
 * the text the lines have. */
static struct line_window window_of(char *text, size_t count, bool over, size_t *whole)
{
    const char *newline = over ? NULL : memrchr(text, '\n', count);
    *whole = over ? count : newline ? (size_t)(newline - text) + 1 : 0;
    struct line_window window = {
        .begin = text, .end = text + *whole, .overlong = !over && !newline};
    if (over && count > 0 && text[count - 1] != '\n') {
        text[count] = '\n';
        window.end++;
        window.unterminated = true;
    }
    return window;
}

/* One of the two buffers that go back and forth between the reading thread and the caller. */
struct slot {
    char *bytes;               /* (window_bytes + 1), as `window` of the reader; owned */
    bool full;                 /* the caller's turn; otherwise the reading thread's    */
    bool last;                 /* nothing follows                                      */
    struct line_window window; /* undefined after a failure              */
    enum status status;        /* of reading; a message is in `error`    */
};

struct read_ahead {
    struct byte_reader file;
    size_t window_bytes;
    struct slot slot[2];
    int current;  /* the slot that the caller has or gets next */
    bool holding; /* the caller has the current slot           */
    bool started; /* the thread runs                           */
    bool stop;    /* the thread must end                       */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct error error;
};

/* Waits until the slot is full, or empty; false if the reader is being closed instead. */
static bool wait_until(struct read_ahead *a, const struct slot *slot, bool full)
{
    pthread_mutex_lock(&a->lock);
    while (slot->full != full && !a->stop)
        pthread_cond_wait(&a->changed, &a->lock);
    bool go_on = !a->stop;
    pthread_mutex_unlock(&a->lock);
    return go_on;
}

static void hand_over(struct read_ahead *a, struct slot *slot, bool full)
{
    pthread_mutex_lock(&a->lock);
    slot->full = full;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

/* Fills the slots in turn: each with the beginning of a text line that ends the slot before it,
 * then with what comes next in the file. Nobody else writes to these bytes until they are copied.
 */
static void *fill_slots(void *reader)
{
    struct read_ahead *a = reader;
    const char *rest = NULL;
    size_t rest_bytes = 0, got = 0, whole;
    bool last = false;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    for (int k = 0; !last; k = !k) {
        struct slot *slot = &a->slot[k];
        if (!wait_until(a, slot, false))
            break;
        if (rest_bytes > 0)
            memcpy(slot->bytes, rest, rest_bytes);
        /* The thread may wait for a pipe for ever: here, and nowhere else, closing the reader
         * cancels it. */
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
        slot->status = byte_reader_read(&a->file, slot->bytes + rest_bytes,
                                        a->window_bytes - rest_bytes, &got, &a->error);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        last = slot->status != STATUS_OK;
        if (!last) {
            const size_t count = rest_bytes + got;
            const bool over = count < a->window_bytes;
            slot->window = window_of(slot->bytes, count, over, &whole);
            last = over || slot->window.overlong;
            rest = slot->bytes + whole;
            rest_bytes = count - whole;
        }
        slot->last = last;
        hand_over(a, slot, true);
    }
    return NULL;
}

static enum status next_filled(struct read_ahead *a, struct line_window *window,
                               struct error *error)
{
    struct slot *slot = &a->slot[a->current];
    if (a->holding && slot->last) {
        *window = (struct line_window){.begin = slot->bytes, .end = slot->bytes};
        return STATUS_OK;
    }
    if (a->holding) {
        hand_over(a, slot, false);
        a->current = !a->current;
        slot = &a->slot[a->current];
    }
    wait_until(a, slot, true);
    a->holding = true;
    if (slot->status != STATUS_OK)
        return error_set(error, slot->status, "%s", a->error.message);
    *window = slot->window;
    return STATUS_OK;
}

/* A text line that does not fit in this window is read again, whole, with the next. */
static enum status next_read(struct line_reader *r, struct line_window *window, struct error *error)
{
    uint64_t left = r->end - r->position;
    bool over = left < r->window_bytes;
    size_t count = over ? (size_t)left : r->window_bytes;
    TRY(infile_read(&r->regular, r->window, count, r->position, error));
    size_t whole;
    *window = window_of(r->window, count, over, &whole);
    r->position += whole;
    return STATUS_OK;
}

enum status line_reader_next(struct line_reader *r, struct line_window *window, struct error *error)
{
    if (r->window)
        TRY(next_read(r, window, error));
    else
        TRY(next_filled(r->ahead, window, error));
    const size_t count = (size_t)(window->end - window->begin);
    r->text_bytes += count - window->unterminated;
    if (!r->is_tensor)
        return STATUS_OK;
    r->is_tensor = false; /* the others are not the beginning */
    TRY(foreign_file_refuse(r->name, window->begin, window->overlong ? r->window_bytes : count,
                            r->gzip, error));
    if (count >= UTF8_MARK_BYTES && memcmp(window->begin, UTF8_MARK, UTF8_MARK_BYTES) == 0) {
        window->begin += UTF8_MARK_BYTES;
        r->mark_bytes = UTF8_MARK_BYTES;
    }
    return STATUS_OK;
}

static enum status start_thread(struct line_reader *r, struct error *error)
{
    struct read_ahead *a = r->ahead = memory_zeros(1, sizeof *a, error);
    if (!a)
        return error->status;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    a->window_bytes = r->window_bytes;
    TRY(byte_reader_open(&a->file, r->fd, r->name, error));
    r->gzip = a->file.gzip;
    for (int k = 0; k < 2; k++)
        a->slot[k].bytes = memory_array(r->window_bytes + 1, 1, error);
    TRY(error->status);
    int code = pthread_create(&a->thread, NULL, fill_slots, a);
    if (code)
        return error_set(error, STATUS_INTERNAL, "cannot start a thread: %s", strerror(code));
    a->started = true;
    r->threads -= r->threads > 1;
    return STATUS_OK;
}

/* A regular file of plain text is read from its present position; for other files the thread is
 * started, also for those of /proc, whose size is 0 though they have bytes. */
static enum status start(struct line_reader *r, struct error *error)
{
    struct stat about;
    if (fstat(r->fd, &about) != 0)
        return error_set(error, STATUS_INPUT, "%s: cannot read: %s", r->name, strerror(errno));
    if (fcntl(r->fd, F_GETFL) & O_PATH) /* main() opens this where standard input is closed */
        return error_set(error, STATUS_INPUT, "%s: is closed", r->name);
    if (S_ISDIR(about.st_mode))
        return error_set(error, STATUS_INPUT, "%s: is a directory, expected a file", r->name);
    off_t position = S_ISREG(about.st_mode) ? lseek(r->fd, 0, SEEK_CUR) : -1;
    if (position < 0 || position >= about.st_size)
        return start_thread(r, error);

    r->file_bytes = (size_t)about.st_size;
    unsigned char magic[2];
    ssize_t got = pread(r->fd, magic, sizeof magic, position);
    if (got > 0 && byte_reader_is_gzip(magic, (size_t)got))
        return start_thread(r, error);
    r->window = memory_array(r->window_bytes + 1, 1, error);
    r->regular = (struct infile){.name = r->name, .fd = r->fd, .size = r->file_bytes};
    r->end = r->file_bytes;
    r->origin = r->begin = r->position = (uint64_t)position;
    return error->status;
}

enum status line_reader_open(struct line_reader *r, const char *path, size_t window_bytes,
                             struct error *error)
{
    const bool standard_input = strcmp(path, "-") == 0;
    *r = (struct line_reader){.name = standard_input ? "standard input" : path,
                              .window_bytes = window_bytes,
                              .threads = omp_get_max_threads(),
                              .fd =
                                  standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)};
    if (r->fd < 0)
        error_set(error, STATUS_INPUT, "%s: %s", r->name, strerror(errno));
    else
        start(r, error);
    if (error->status != STATUS_OK)
        line_reader_close(r);
    return error->status;
}

/* *next = where the first text line begins at `position` of the file or after it (the end of the
 * file if none does); at `first` some text line begins. Reads to the window. */
static enum status next_line(struct line_reader *r, uint64_t first, uint64_t position,
                             uint64_t *next, struct error *error)
{
    const char *newline = NULL;
    *next = position <= first ? first : position - 1;
    while (position > first && !newline && *next < r->file_bytes) {
        uint64_t left = r->file_bytes - *next;
        size_t count = left < r->window_bytes ? (size_t)left : r->window_bytes;
        count = count < SEARCHED ? count : SEARCHED;
        TRY(infile_read(&r->regular, r->window, count, *next, error));
        newline = memchr(r->window, '\n', count);
        *next += newline ? (uint64_t)(newline - r->window) + 1 : count;
    }
    return STATUS_OK;
}

enum status line_reader_take_share(struct line_reader *r, size_t skip, int share, int shares,
                                   struct error *error)
{
    uint64_t first = r->origin + skip, n = (uint64_t)shares, s = (uint64_t)share;
    uint64_t whole = (r->file_bytes - first) / n, rest = (r->file_bytes - first) % n;
    TRY(next_line(r, first, first + whole * s + rest * s / n, &r->begin, error));
    TRY(next_line(r, first, first + whole * (s + 1) + rest * (s + 1) / n, &r->end, error));
    r->position = r->begin;
    r->text_bytes = 0;
    return STATUS_OK;
}

/* Counts in counters of a byte, many of which a compiler updates at a time; they are summed before
 * one overflows. */
uint64_t byte_count(const char *p, const char *end, char byte)
{
    enum { WIDTH = 64, ROUNDS = 255 };
    uint64_t count = 0;
    while (end - p >= WIDTH) {
        uint8_t own[WIDTH] = {0};
        for (int round = 0; round < ROUNDS && end - p >= WIDTH; round++, p += WIDTH)
            for (int i = 0; i < WIDTH; i++)
                own[i] = (uint8_t)(own[i] + (p[i] == byte));
        for (int i = 0; i < WIDTH; i++)
            count += own[i];
    }
    for (; p < end; p++)
        count += *p == byte;
    return count;
}

uint64_t line_count(const char *p, const char *end)
{
    return byte_count(p, end, '\n');
}

/* Reads pieces to memory of their own, since the window may still be needed for a message. */
uint64_t line_reader_lines_before(const struct line_reader *r)
{
    uint64_t lines = 0, bytes = r->begin - r->origin;
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : lines)
    for (uint64_t at = 0; at < bytes; at += SEARCHED) {
        char piece[SEARCHED];
        struct error unread = {0};
        size_t count = bytes - at < SEARCHED ? (size_t)(bytes - at) : SEARCHED;
        if (infile_read(&r->regular, piece, count, r->origin + at, &unread) == STATUS_OK)
            lines += line_count(piece, piece + count);
    }
    return lines;
}

double line_reader_fraction(const struct line_reader *r)
{
    if (r->file_bytes == 0)
        return -1;
    if (r->window)
        return r->end > r->begin ? (double)(r->position - r->begin) / (double)(r->end - r->begin)
                                 : 1;
    return (double)atomic_load_explicit(&r->ahead->file.consumed, memory_order_relaxed) /
           (double)r->file_bytes;
}

static void stop_thread(struct read_ahead *a)
{
    if (a->started) {
        pthread_mutex_lock(&a->lock);
        a->stop = true;
        pthread_cond_broadcast(&a->changed);
        pthread_mutex_unlock(&a->lock);
        pthread_cancel(a->thread);
        pthread_join(a->thread, NULL);
    }
    memory_free(a->file.input, a->file.inflate);
    for (int k = 0; k < 2; k++)
        memory_free(a->slot[k].bytes);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    memory_free(a);
}

void line_reader_close(struct line_reader *r)
{
    if (!r->name)
        return;
    if (r->ahead)
        stop_thread(r->ahead);
    memory_free(r->window);
    if (r->fd >= 0 && r->fd != STDIN_FILENO)
        close(r->fd);
    *r = (struct line_reader){0};
}
