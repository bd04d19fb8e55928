#include "formats/tensor_file.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "formats/npy/npy_tensor.h"

#define FIRST_BYTES 4096

/* The first bytes of a regular file, from the position of the descriptor on; 0 where there are
 * none. Nothing is read from a pipe. */
static size_t first_bytes(int fd, char bytes[FIRST_BYTES])
{
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        return 0;
    off_t position = lseek(fd, 0, SEEK_CUR);
    ssize_t got = position < 0 ? -1 : pread(fd, bytes, FIRST_BYTES, position);
    return got > 0 ? (size_t)got : 0;
}

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), end = strlen(ending);
    return length > end && strcasecmp(path + length - end, ending) == 0;
}

static bool named_csv(const char *path)
{
    return ends_in(path, ".csv") || ends_in(path, ".tsv") || ends_in(path, ".csv.gz") ||
           ends_in(path, ".tsv.gz");
}

/* The kind of the file that begins with these bytes. */
static enum tensor_format format_of(const char *path, const char *bytes, size_t count)
{
    if (blco_file_magic(bytes, count))
        return TENSOR_BLCO;
    return named_csv(path) || csv_header_is_sure(bytes, count) ? TENSOR_CSV : TENSOR_TEXT;
}

static enum status format_of_input(const struct csv_options *csv, enum tensor_format *format,
                                   struct error *error)
{
    char bytes[FIRST_BYTES];
    if (blco_file_magic(bytes, first_bytes(STDIN_FILENO, bytes)))
        return error_set(error, STATUS_INPUT,
                         "standard input is a .blco file, which must be given by its name");
    *format = csv && csv->columns ? TENSOR_CSV : TENSOR_TEXT;
    return STATUS_OK;
}

static enum status find_format(const char *path, const struct csv_options *csv,
                               enum tensor_format *format, struct error *error)
{
    if (csv && csv->columns && npy_tensor_named(path))
        return error_set(error, STATUS_INPUT,
                         "%s: is a NumPy array, expected CSV, to which --columns belongs", path);
    *format = csv && csv->columns ? TENSOR_CSV : npy_tensor_named(path) ? TENSOR_NPY : TENSOR_TEXT;
    if (*format == TENSOR_NPY)
        return STATUS_OK;
    if (strcmp(path, "-") == 0)
        return format_of_input(csv, format, error);
    /* Only a regular file is opened: the writer of a pipe would find the pipe closed afterwards. */
    struct stat what;
    if (stat(path, &what) != 0 || !S_ISREG(what.st_mode))
        return STATUS_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return STATUS_OK;
    char bytes[FIRST_BYTES];
    const enum tensor_format found = format_of(path, bytes, first_bytes(fd, bytes));
    close(fd);
    if (*format == TENSOR_CSV && found == TENSOR_BLCO)
        return error_set(error, STATUS_INPUT,
                         "%s: is a .blco file, expected CSV, to which --columns belongs", path);
    if (*format == TENSOR_TEXT)
        *format = found;
    return STATUS_OK;
}

enum status tensor_format(const char *path, const struct csv_options *csv,
                          const struct tns_options *text, enum tensor_format *format,
                          struct error *error)
{
    TRY(find_format(path, csv, format, error));
    const bool has_base = *format == TENSOR_TEXT || *format == TENSOR_NPY;
    if (!text || !text->index_base_given || has_base)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT, "%s: %s is for text and NumPy arrays, but this is %s",
                     path, text->index_base_given,
                     *format == TENSOR_CSV ? "CSV, which has names" : "a .blco file");
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
    TRY(blco_file_open(f, path, error));
    TRY_OR(done, tensor_check_left(path, f->header->nnz, f->header->nnz, &f->listed, error));
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
    TRY(error->status);
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

enum status tensor_read_csv(struct coo *x, struct tensor_names *names,
                            const struct csv_source *source, struct progress *progress,
                            struct tensor_report *report, struct error *error)
{
    *report = (struct tensor_report){0};
    double start = clock_now();
    TRY(csv_read(x, names, source, progress, &report->text, error));
    report->read_seconds = clock_lap(&start);
    TRY_OR(done, tensor_check_lengths(source->path, &x->shape, source->text, error));
    tensor_clean(x, source->path, source->text, NULL, &report->cleaning, error);
    report->clean_seconds = clock_lap(&start);
done:
    if (error->status != STATUS_OK)
        coo_free(x);
    return error->status;
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
