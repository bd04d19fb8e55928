#include "formats/tensor_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_BYTES 4096

const struct tensor_format *const tensor_formats[TENSOR_FORMAT_COUNT] = {&tensor_npy, &tensor_blco,
                                                                         &tensor_csv, &tensor_text};

enum status tensor_file_find_format(struct tensor_reader *r, struct error *error)
{
    char bytes[FIRST_BYTES];
    size_t count = 0;
    struct stat what;
    const char *path = r->path;
    const bool columns = r->csv && r->csv->columns, input = strcmp(path, "-") == 0;
    /* Only a regular file is opened: the writer of a pipe would find the pipe closed afterwards. */
    const bool regular = !input && stat(path, &what) == 0 && S_ISREG(what.st_mode);
    const int fd = input ? STDIN_FILENO : regular ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    /* the first bytes of a regular file, from the position of the descriptor on; nothing is read
     * from a pipe */
    if (fd >= 0 && fstat(fd, &what) == 0 && S_ISREG(what.st_mode)) {
        const off_t position = lseek(fd, 0, SEEK_CUR);
        const ssize_t got = position < 0 ? -1 : pread(fd, bytes, FIRST_BYTES, position);
        count = got > 0 ? (size_t)got : 0;
    }
    if (regular && fd >= 0)
        close(fd);
    r->format = &tensor_text;
    for (int i = TENSOR_FORMAT_COUNT - 1; i >= 0; i--) {
        const bool may_be = tensor_formats[i] != &tensor_csv || (regular && fd >= 0);
        if (may_be && tensor_formats[i]->probe(path, bytes, count))
            r->format = tensor_formats[i];
    }
    if (input && r->format == &tensor_blco)
        return error_set(error, STATUS_INPUT,
                         "standard input is a .blco file, which must be given by its name");
    if (columns && (r->format == &tensor_blco || r->format == &tensor_npy))
        return error_set(error, STATUS_INPUT, "%s: is %s, expected CSV, to which --columns belongs",
                         path, r->format->what);
    if (columns)
        r->format = &tensor_csv;
    if (r->tns && r->tns->index_base_given && !r->format->has_indices)
        return error_set(error, STATUS_INPUT,
                         "%s: %s is for text and NumPy arrays, but this is %s%s", path,
                         r->tns->index_base_given, r->format->what,
                         r->format == &tensor_csv ? ", which has names" : "");
    return STATUS_OK;
}

const struct tensor_format *tensor_format_named(const char *path)
{
    size_t length = strlen(path), end = strlen(".blco");
    bool ends = length > end && strcmp(path + length - end, ".blco") == 0;
    return ends ? &tensor_blco : &tensor_text;
}

enum status tensor_name_overflow(const char *path, struct error *error)
{
    if (error->status == STATUS_INPUT)
        error_prefix(error, "%s: ", strcmp(path, "-") == 0 ? "standard input" : path);
    return error->status;
}

enum status tensor_clean(struct coo *x, const char *path, const struct tns_options *options,
                         const uint64_t *first, struct coo_cleaning *report, struct error *error)
{
    coo_clean(x, first, options->zeros, report, error);
    return tensor_name_overflow(path, error);
}

enum status tensor_check_left(const char *path, uint64_t entries, uint64_t nnz,
                              const struct coo_listed *listed, struct error *error)
{
    if (nnz > listed->unknown + listed->zeros)
        return STATUS_OK;
    if (listed->unknown > 0)
        return error_set(error, STATUS_INPUT,
                         "%s: no nonzeros: all %ju entries are unknown, zero or add up to zero",
                         path, (uintmax_t)entries);
    if (entries == 0)
        return error_set(error, STATUS_INPUT, "%s: no nonzeros", path);
    return error_set(error, STATUS_INPUT,
                     "%s: no nonzeros: all %ju entries are zero or add up to zero", path,
                     (uintmax_t)entries);
}

void tensor_note_cleaning(struct progress *progress, const struct coo_cleaning *cleaning)
{
    if (cleaning->duplicates > 0)
        progress_note(progress, "%ju duplicate entries added to earlier ones",
                      (uintmax_t)cleaning->duplicates);
    if (cleaning->zeros > 0)
        progress_note(progress, "%ju explicit zeros dropped", (uintmax_t)cleaning->zeros);
}

/* --- writing --- */

_Static_assert(BLCO_SEGMENT_NNZ % TNS_WRITE_PIECE == 0, "pieces suit both kinds of file");

enum status tensor_writer_open(struct tensor_writer *w, const char *path, const struct shape *shape,
                               uint64_t nnz, const struct tensor_write_options *options,
                               struct error *error)
{
    *w = (struct tensor_writer){.format = tensor_format_named(path), .blco = {.file = {.fd = -1}}};
    if (w->format == &tensor_blco)
        return blco_writer_open(&w->blco, path, shape, options->memory, error);
    return tns_writer_open(&w->text, path, shape, nnz, &options->text, error);
}

enum status tensor_writer_append(struct tensor_writer *w, const struct coo *x, struct error *error)
{
    if (w->format == &tensor_blco)
        return blco_writer_append(&w->blco, x, NULL, x->nnz, error);
    return tns_writer_append(&w->text, x, error);
}

enum status tensor_writer_commit(struct tensor_writer *w, struct line_writer_report *report,
                                 struct error *error)
{
    *report = (struct line_writer_report){0};
    if (w->format == &tensor_blco)
        return blco_writer_commit(&w->blco, &report->file_bytes, error);
    return line_writer_commit(w->text.lines, report, error);
}

void tensor_writer_free(struct tensor_writer *w)
{
    blco_writer_discard(&w->blco);
    line_writer_free(w->text.lines);
    w->text.lines = NULL;
}
