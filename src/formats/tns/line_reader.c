#include "formats/tns/line_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "formats/tns/byte_reader.h"

/* One of the two buffers that go round between the feeding thread and the caller. */
struct slot {
    char *bytes; /* (batch_bytes + 1), the last for a newline that the file lacks; owned */
    bool full;   /* the caller's turn; otherwise the feeding thread's                    */
    bool last;   /* nothing follows                                                      */
    struct line_batch batch;
    enum status status; /* where it is not STATUS_OK, there is no batch; the cause is in `error` */
};

struct line_reader {
    const char *name;
    int fd;
    size_t batch_bytes, mapped_bytes; /* of a batch that is fed, of one that is mapped */
    size_t file_bytes;                /* 0: unknown                                    */
    uint64_t text_bytes;

    char *map; /* the file, (map_bytes); NULL where it is fed by the thread          */
    size_t map_bytes;
    size_t position; /* in the map: the next batch begins here                      */
    size_t released; /* pages of the map before this are given back                 */
    char *last_copy; /* of the last batch, where its last line lacks the newline; owned */

    struct byte_reader feed;
    struct slot slot[2];
    int current;  /* the slot that the caller has, or has next                    */
    bool holding; /* the caller has it                                            */
    bool started; /* the thread runs                                              */
    bool stop;    /* it shall not wait any longer                                 */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct error error;
};

/* Where to cut `count` bytes that begin a line, `over` if the file ends with them: how many of them
 * are whole lines. 0 where there is no line end. */
static size_t whole_lines(const char *text, size_t count, bool over)
{
    if (over)
        return count;
    const char *newline = memrchr(text, '\n', count);
    return newline ? (size_t)(newline - text) + 1 : 0;
}

/* The `count` bytes at text, the file's last line without a newline among them: one is put behind
 * them, where there is room for it. */
static struct line_batch last_batch(char *text, size_t count)
{
    struct line_batch batch = {.begin = text, .end = text + count};
    if (count > 0 && text[count - 1] != '\n') {
        text[count] = '\n';
        batch.end++;
        batch.unterminated = true;
    }
    return batch;
}

/* Waits until the slot is full, or empty; false where the source is being closed instead. */
static bool wait_until(struct line_reader *s, const struct slot *slot, bool full)
{
    pthread_mutex_lock(&s->lock);
    while (slot->full != full && !s->stop)
        pthread_cond_wait(&s->changed, &s->lock);
    bool go_on = !s->stop;
    pthread_mutex_unlock(&s->lock);
    return go_on;
}

static void hand_over(struct line_reader *s, struct slot *slot, bool full)
{
    pthread_mutex_lock(&s->lock);
    slot->full = full;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* The thread may wait for a pipe for ever; only there can closing the source cancel it. */
static enum status feed_cancellably(struct line_reader *s, char *bytes, size_t room, size_t *got)
{
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    enum status status = byte_reader_read(&s->feed, bytes, room, got, &s->error);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    return status;
}

/* Fills the slots in turn until the file is over. The beginning of a line that goes on in the next
 * batch is copied there; nobody else writes where it comes from. */
static void *feed_slots(void *source)
{
    struct line_reader *s = source;
    const char *tail = NULL;
    size_t tail_bytes = 0;
    bool over = false;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    for (int k = 0; !over; k = !k) {
        struct slot *slot = &s->slot[k];
        if (!wait_until(s, slot, false))
            break;
        if (tail_bytes > 0)
            memcpy(slot->bytes, tail, tail_bytes);
        size_t got;
        slot->status =
            feed_cancellably(s, slot->bytes + tail_bytes, s->batch_bytes - tail_bytes, &got);
        if (slot->status == STATUS_OK) {
            size_t count = tail_bytes + got;
            over = count < s->batch_bytes;
            size_t whole = whole_lines(slot->bytes, count, over);
            slot->batch = over ? last_batch(slot->bytes, count)
                               : (struct line_batch){.begin = slot->bytes,
                                                     .end = slot->bytes + whole,
                                                     .overlong = whole == 0};
            tail = slot->bytes + whole;
            tail_bytes = count - whole;
        }
        over = over || slot->status != STATUS_OK || slot->batch.overlong;
        slot->last = over;
        hand_over(s, slot, true);
    }
    return NULL;
}

static enum status next_fed(struct line_reader *s, struct line_batch *batch, struct error *error)
{
    struct slot *slot = &s->slot[s->current];
    if (s->holding && slot->last) {
        *batch = (struct line_batch){.begin = slot->bytes, .end = slot->bytes};
        return STATUS_OK;
    }
    if (s->holding) {
        hand_over(s, slot, false);
        s->current = !s->current;
        slot = &s->slot[s->current];
    }
    wait_until(s, slot, true);
    s->holding = true;
    if (slot->status != STATUS_OK)
        return error_set(error, slot->status, "%s", s->error.message);
    *batch = slot->batch;
    return STATUS_OK;
}

/* Gives the pages of the map before `position` back, so that text does not count as memory that
 * this process holds. */
static void release_map(struct line_reader *s, size_t position)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t until = position / page * page;
    if (until > s->released) {
        madvise(s->map + s->released, until - s->released, MADV_DONTNEED);
        s->released = until;
    }
}

static enum status next_mapped(struct line_reader *s, struct line_batch *batch, struct error *error)
{
    size_t left = s->map_bytes - s->position;
    bool over = left < s->mapped_bytes;
    char *text = s->map + s->position;
    release_map(s, s->position);

    size_t count = whole_lines(text, over ? left : s->mapped_bytes, over);
    *batch = (struct line_batch){.begin = text, .end = text + count, .overlong = !over && !count};
    s->position += count;
    if (!over || count == 0 || text[count - 1] == '\n')
        return STATUS_OK;

    s->last_copy = memory_array(count + 1, 1, error);
    if (!s->last_copy)
        return error->status;
    memcpy(s->last_copy, text, count);
    *batch = last_batch(s->last_copy, count);
    return STATUS_OK;
}

enum status line_reader_next(struct line_reader *s, struct line_batch *batch, struct error *error)
{
    enum status status = s->map ? next_mapped(s, batch, error) : next_fed(s, batch, error);
    if (status == STATUS_OK)
        s->text_bytes += (size_t)(batch->end - batch->begin) - batch->unterminated;
    return status;
}

static enum status start_feeding(struct line_reader *s, struct error *error)
{
    enum status status = byte_reader_open(&s->feed, s->fd, s->name, error);
    for (int k = 0; k < 2 && status == STATUS_OK; k++) {
        s->slot[k].bytes = memory_array(s->batch_bytes + 1, 1, error);
        if (!s->slot[k].bytes)
            status = error->status;
    }
    if (status != STATUS_OK)
        return status;
    int code = pthread_create(&s->thread, NULL, feed_slots, s);
    if (code)
        return error_set(error, STATUS_INTERNAL, "cannot start a thread: %s", strerror(code));
    s->started = true;
    return STATUS_OK;
}

/* Maps a regular file of plain text from where it stands; others are fed. A file of /proc says that
 * it has no bytes, and has some. */
static enum status start(struct line_reader *s, struct error *error)
{
    struct stat about;
    if (fstat(s->fd, &about) != 0)
        return error_set(error, STATUS_INPUT, "%s: cannot read: %s", s->name, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return error_set(error, STATUS_INPUT, "%s: is a directory, expected a file", s->name);
    off_t position = S_ISREG(about.st_mode) ? lseek(s->fd, 0, SEEK_CUR) : -1;
    if (position < 0 || position >= about.st_size)
        return start_feeding(s, error);

    s->file_bytes = (size_t)about.st_size;
    unsigned char magic[2];
    ssize_t got = pread(s->fd, magic, sizeof magic, position);
    if (got > 0 && byte_reader_is_gzip(magic, (size_t)got))
        return start_feeding(s, error);
    void *map = mmap(NULL, s->file_bytes, PROT_READ, MAP_PRIVATE, s->fd, 0);
    if (map == MAP_FAILED)
        return start_feeding(s, error);
    madvise(map, s->file_bytes, MADV_SEQUENTIAL);
    s->map = map;
    s->map_bytes = s->file_bytes;
    s->position = (size_t)position;
    return STATUS_OK;
}

enum status line_reader_open(struct line_reader **source, const char *path, size_t batch_bytes,
                             size_t mapped_bytes, struct error *error)
{
    *source = NULL;
    struct line_reader *s = memory_zeros(1, sizeof *s, error);
    if (!s)
        return error->status;
    bool standard_input = strcmp(path, "-") == 0;
    s->name = standard_input ? "standard input" : path;
    s->batch_bytes = batch_bytes;
    s->mapped_bytes = mapped_bytes;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    enum status status = s->fd < 0
                             ? error_set(error, STATUS_INPUT, "%s: %s", s->name, strerror(errno))
                             : start(s, error);
    if (status != STATUS_OK)
        line_reader_close(s);
    else
        *source = s;
    return status;
}

const char *line_reader_name(const struct line_reader *s)
{
    return s->name;
}

size_t line_reader_batch_bytes(const struct line_reader *s)
{
    return s->map ? s->mapped_bytes : s->batch_bytes;
}

bool line_reader_threaded(const struct line_reader *s)
{
    return s->started;
}

double line_reader_fraction(const struct line_reader *s)
{
    if (s->file_bytes == 0)
        return -1;
    size_t done =
        s->map ? s->position : atomic_load_explicit(&s->feed.consumed, memory_order_relaxed);
    return (double)done / (double)s->file_bytes;
}

bool line_reader_gzip(const struct line_reader *s)
{
    return s->feed.gzip;
}

uint64_t line_reader_bytes(const struct line_reader *s)
{
    return s->text_bytes;
}

static void stop_feeding(struct line_reader *s)
{
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_cancel(s->thread);
    pthread_join(s->thread, NULL);
}

void line_reader_close(struct line_reader *s)
{
    if (!s)
        return;
    if (s->started)
        stop_feeding(s);
    byte_reader_close(&s->feed);
    for (int k = 0; k < 2; k++)
        memory_free(s->slot[k].bytes);
    memory_free(s->last_copy);
    if (s->map)
        munmap(s->map, s->map_bytes);
    if (s->fd >= 0 && s->fd != STDIN_FILENO)
        close(s->fd);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    memory_free(s);
}
