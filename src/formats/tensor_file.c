#include "formats/tensor_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "formats/npy/npy_read.h"

/* Whether a regular file has the magic bytes at the position of the descriptor. Nothing is read
 * from a pipe. */
static bool has_magic(int fd)
{
    char bytes[BLCO_MAGIC_BYTES];
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        return false;
    off_t position = lseek(fd, 0, SEEK_CUR);
    ssize_t got = position < 0 ? -1 : pread(fd, bytes, sizeof bytes, position);
    return got > 0 && blco_file_magic(bytes, (size_t)got);
}

enum status tensor_format(const char *path, enum tensor_format *format, struct error *error)
{
    *format = npy_tensor_named(path) ? TENSOR_NPY : TENSOR_TEXT;
    if (*format == TENSOR_NPY)
        return STATUS_OK;
    if (strcmp(path, "-") == 0) {
        if (has_magic(STDIN_FILENO))
            return error_set(error, STATUS_INPUT,
                             "standard input is a .blco file, which must be given by its name");
        return STATUS_OK;
    }
    /* Only a regular file is opened: the writer of a pipe would find the pipe closed afterwards. */
    struct stat what;
    if (stat(path, &what) != 0 || !S_ISREG(what.st_mode))
        return STATUS_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return STATUS_OK;
    if (has_magic(fd))
        *format = TENSOR_BLCO;
    close(fd);
    return STATUS_OK;
}

enum tensor_format tensor_format_named(const char *path)
{
    size_t length = strlen(path), end = strlen(".blco");
    bool ends = length > end && strcmp(path + length - end, ".blco") == 0;
    return ends ? TENSOR_BLCO : TENSOR_TEXT;
}

enum status tensor_check_lengths(const char *path, const struct shape *shape,
                                 const struct tns_options *options, struct error *error)
{
    if (options->ndims && options->ndims != shape->order)
        return error_set(error, STATUS_INPUT, "%s: %d modes, but --dims gives %d", path,
                         shape->order, options->ndims);
    for (int n = 0; n < shape->order; n++)
        if (options->dims[n] && options->dims[n] != shape->dims[n])
            return error_set(error, STATUS_INPUT,
                             "%s: mode %d: length %ju, but %s gives %ju, which changes the "
                             "lengths of text only",
                             path, n + 1, (uintmax_t)shape->dims[n], tns_dims_origin(options, n),
                             (uintmax_t)options->dims[n]);
    return STATUS_OK;
}

enum status tensor_open_blco(struct blco_file *f, const char *path,
                             const struct tns_options *options, struct error *error)
{
    if (blco_file_open(f, path, error) != STATUS_OK)
        return error->status;
    if (tensor_check_left(path, f->header->nnz, f->header->nnz, &f->listed, error) != STATUS_OK)
        goto done;
    tensor_check_lengths(path, &f->shape, options, error);
done:
    if (error->status != STATUS_OK)
        blco_file_close(f);
    return error->status;
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

enum status tensor_read_text(struct coo *x, const char *path, const struct tns_options *options,
                             struct progress *progress, struct tensor_report *report,
                             struct error *error)
{
    *x = (struct coo){0};
    *report = (struct tensor_report){0};
    double start = clock_now();
    (npy_tensor_named(path) ? npy_read : tns_read)(x, path, options, progress, &report->text,
                                                   error);
    if (error->status != STATUS_OK)
        return error->status;
    report->read_seconds = clock_lap(&start);
    if (tensor_clean(x, path, options, NULL, &report->cleaning, error) != STATUS_OK)
        coo_free(x);
    report->clean_seconds = clock_lap(&start);
    return error->status;
}

enum status tensor_read_pieces(struct coo *x, const char *path, const struct tns_options *options,
                               const struct tns_pieces *pieces, struct tns_report *report,
                               struct error *error)
{
    return (npy_tensor_named(path) ? npy_read_pieces : tns_read_pieces)(x, path, options, pieces,
                                                                        report, error);
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
