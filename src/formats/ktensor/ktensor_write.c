#include "formats/ktensor/ktensor_io.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/ktensor/matrix_text.h"

/* A folder is no file of a model. */
static bool is_file(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && !S_ISDIR(s.st_mode);
}

enum status ktensor_files_older(struct outfile *file, int *count, const struct stem_lock *lock,
                                struct error *error)
{
    struct ktensor_files all;
    const int replacing = *count;
    if (ktensor_files_name(&all, MAX_ORDER, lock->stem, KTENSOR_FORMATS, error) != STATUS_OK)
        goto done;
    for (int i = 0; i < all.count; i++) {
        bool goes = is_file(all.path[i]);
        for (int k = 0; k < replacing; k++)
            goes = goes && strcmp(file[k].path, all.path[i]) != 0;
        if (goes && outfile_set_take_away(&file[(*count)++], all.path[i], error) != STATUS_OK)
            goto done;
    }
done:
    ktensor_files_free(&all);
    return error->status;
}

enum status ktensor_write(const struct ktensor *k, struct stem_lock *lock, unsigned formats,
                          struct ktensor_files *files, struct error *error)
{
    struct outfile file[KTENSOR_MOST_FILES] = {0}, *next = file;
    int count = 0;
    if (ktensor_files_name(files, k->shape.order, lock->stem, formats, error) != STATUS_OK)
        return error->status;
    for (; count < files->count; count++)
        if (outfile_open(&file[count], files->path[count], error) != STATUS_OK)
            goto done;
    for (int i = 0; i < KTENSOR_FORMAT_COUNT; i++) {
        const struct ktensor_format *format = &ktensor_formats[i];
        if (!(formats & format->flag))
            continue;
        if (format->write(next, k, error) != STATUS_OK)
            goto done;
        next += ktensor_format_files(format, k->shape.order);
    }
    if (ktensor_files_older(file, &count, lock, error) != STATUS_OK)
        goto done;
    if (outfile_set_replace(lock, file, count, error) == STATUS_OK)
        outfile_set_keep(lock, file, count);
done:
    for (int i = 0; i < KTENSOR_MOST_FILES; i++)
        outfile_discard(&file[i]);
    return error->status;
}

uint64_t ktensor_text_bytes(const struct ktensor *k, unsigned formats)
{
    uint64_t kinds = 0;
    for (int i = 0; i < KTENSOR_FORMAT_COUNT; i++)
        kinds += (formats & ktensor_formats[i].flag) && ktensor_formats[i].text;
    return kinds > 0 ? kinds * matrix_text_bytes(k) : 0;
}

enum status ktensor_openable(const char *stem, int order, unsigned formats, struct error *error)
{
    struct ktensor_files files;
    struct outfile file[KTENSOR_MOST_FILES] = {0};
    if (ktensor_files_name(&files, order, stem, formats, error) != STATUS_OK)
        goto done;
    for (int i = 0; i < files.count; i++)
        if (outfile_open(&file[i], files.path[i], error) != STATUS_OK)
            goto done;
done:
    for (int i = 0; i < KTENSOR_MOST_FILES; i++)
        outfile_discard(&file[i]);
    ktensor_files_free(&files);
    return error->status;
}

static enum status try_file(const char *path, struct error *error)
{
    struct outfile file = {0};
    if (outfile_open(&file, path, error) != STATUS_OK)
        return error->status;
    outfile_discard(&file);
    return STATUS_OK;
}

enum status ktensor_writable(const char *stem, unsigned formats, struct error *error)
{
    struct ktensor_files files, all = {0};
    struct stat s;
    if (ktensor_files_name(&files, 1, stem, formats, error) != STATUS_OK)
        goto done;
    if (try_file(files.path[0], error) != STATUS_OK)
        goto done;
    if (ktensor_files_name(&all, MAX_ORDER, stem, KTENSOR_FORMATS, error) != STATUS_OK)
        goto done;
    for (int i = 0; i < all.count; i++)
        if (lstat(all.path[i], &s) == 0 && try_file(all.path[i], error) != STATUS_OK)
            goto done;
done:
    ktensor_files_free(&files);
    ktensor_files_free(&all);
    return error->status;
}
