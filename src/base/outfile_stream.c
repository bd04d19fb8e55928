#include "base/outfile_stream.h"

#include "base/memory.h"

/* Returns 0 on failure, as stdio expects. */
static ssize_t write_bytes(void *cookie, const char *bytes, size_t size)
{
    struct outfile_stream *s = cookie;
    if (s->error->status != STATUS_OK)
        return 0;
    if (outfile_write(s->file, bytes, size, s->error) != STATUS_OK)
        return 0;
    return (ssize_t)size;
}

enum status outfile_stream_open(struct outfile_stream *s, struct outfile *f, struct error *error)
{
    const cookie_io_functions_t functions = {.write = write_bytes};
    *s = (struct outfile_stream){.file = f, .error = error};
    s->stream = memory_hook_fails() ? NULL : fopencookie(s, "w", functions);
    if (!s->stream)
        error_set(error, STATUS_MEMORY, "not enough memory to write a file");
    return error->status;
}

enum status outfile_stream_close(struct outfile_stream *s)
{
    if (!s->stream)
        return STATUS_OK;
    if (fclose(s->stream) != 0 && s->error->status == STATUS_OK)
        error_set(s->error, STATUS_OUTPUT, "%s: cannot be written", s->file->path);
    s->stream = NULL;
    return s->error->status;
}
