#include "formats/tns/gzip_member.h"

#include <isa-l/igzip_lib.h>

#include "base/memory.h"

/* Higher levels do not make text of numbers smaller. */
#define LEVEL      2
#define LEVEL_ROOM ISAL_DEF_LVL2_DEFAULT

enum status gzip_member_create(struct gzip_member *g, struct error *error)
{
    g->stream = memory_array(1, sizeof *g->stream, error);
    g->level_buffer = memory_array(LEVEL_ROOM, 1, error);
    if (!g->stream || !g->level_buffer)
        gzip_member_free(g);
    return error->status;
}

void gzip_member_free(struct gzip_member *g)
{
    memory_free(g->stream);
    memory_free(g->level_buffer);
    *g = (struct gzip_member){0};
}

size_t gzip_member_room(size_t size)
{
    return size + size / 8 + 4096; /* text that does not shrink is stored as it is, with headers */
}

enum status gzip_member_write(struct gzip_member *g, const char *text, size_t size, char *out,
                              size_t *used, struct error *error)
{
    size_t room = gzip_member_room(size);
    if (room > UINT32_MAX)
        return error_set(error, STATUS_INTERNAL, "%zu bytes are too many for a gzip member", size);
    struct isal_zstream *s = g->stream;
    isal_deflate_init(s);
    s->level = LEVEL;
    s->level_buf = g->level_buffer;
    s->level_buf_size = LEVEL_ROOM;
    s->gzip_flag = IGZIP_GZIP;
    s->end_of_stream = 1;
    s->next_in = (uint8_t *)(uintptr_t)text; /* the library only reads it */
    s->avail_in = (uint32_t)size;
    s->next_out = (uint8_t *)out;
    s->avail_out = (uint32_t)room;
    int answer = isal_deflate(s);
    if (answer != COMP_OK || s->internal_state.state != ZSTATE_END)
        return error_set(error, STATUS_INTERNAL, "the compressor failed (%d)", answer);
    *used = s->total_out;
    return STATUS_OK;
}
