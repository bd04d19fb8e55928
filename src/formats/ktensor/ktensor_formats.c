#include "formats/ktensor/ktensor_formats.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "formats/ktensor/ktns.h"
#include "formats/ktensor/matrix_csv.h"
#include "formats/ktensor/matrix_text.h"
#include "formats/ktensor/npy.h"
#include "formats/names/labels.h"

const struct word ktensor_format_words[KTENSOR_FORMAT_COUNT + 1] = {{"text", KTENSOR_TEXT},
                                                                    {"npy", KTENSOR_NPY},
                                                                    {"ktns", KTENSOR_KTNS},
                                                                    {"csv", KTENSOR_CSV},
                                                                    {NULL, 0}};

const struct ktensor_format ktensor_formats[KTENSOR_FORMAT_COUNT] = {
    {.flag = KTENSOR_CSV,
     .suffix = "csv",
     .text = true,
     .matrices = &matrix_reader_csv,
     .write_named = matrix_csv_write},
    {.flag = KTENSOR_TEXT,
     .suffix = "mat",
     .text = true,
     .matrices = &matrix_reader_text,
     .write = matrix_text_write},
    {.flag = KTENSOR_NPY, .suffix = "npy", .matrices = &matrix_reader_npy, .write = npy_write},
    {.flag = KTENSOR_KTNS, .suffix = "ktns", .text = true, .read = ktns_read, .write = ktns_write},
};

const struct ktensor_format *ktensor_file_format(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (int i = 0; dot && i < KTENSOR_FORMAT_COUNT; i++)
        if (ktensor_formats[i].read && strcmp(dot + 1, ktensor_formats[i].suffix) == 0)
            return &ktensor_formats[i];
    return NULL;
}

int ktensor_format_files(const struct ktensor_format *format, int order)
{
    return format->read ? 1 : order + 1;
}

const char *ktensor_suffix(const struct ktensor_format *format, int i, int order,
                           char text[KTENSOR_SUFFIX_TEXT])
{
    if (format->read)
        snprintf(text, KTENSOR_SUFFIX_TEXT, "%s", format->suffix);
    else if (i == order)
        snprintf(text, KTENSOR_SUFFIX_TEXT, "lambda.%s", format->suffix);
    else
        snprintf(text, KTENSOR_SUFFIX_TEXT, "mode%d.%s", i + 1, format->suffix);
    return text;
}

enum status ktensor_files_name(struct ktensor_files *files, int order, const char *stem,
                               unsigned formats, struct error *error)
{
    char suffix[KTENSOR_SUFFIX_TEXT];
    *files = (struct ktensor_files){0};
    for (const struct ktensor_format *f = ktensor_formats;
         f < ktensor_formats + KTENSOR_FORMAT_COUNT; f++)
        for (int i = 0; (formats & f->flag) && i < ktensor_format_files(f, order); i++) {
            char *name = memory_text(error, "%s.%s", stem, ktensor_suffix(f, i, order, suffix));
            if (!name)
                return error->status;
            files->path[files->count++] = name;
        }
    return STATUS_OK;
}

enum status ktensor_files_add_maps(struct ktensor_files *files, const char *stem,
                                   const struct labels *names, struct error *error)
{
    for (int i = 0; i < NAME_MAPS; i++) {
        if (names && !map_exists(names, i))
            continue;
        char *name = name_maps_path(stem, i, error);
        if (!name)
            return error->status;
        files->path[files->count++] = name;
    }
    return STATUS_OK;
}

char *ktensor_stem(const char *stem, struct error *error)
{
    const struct ktensor_format *format = ktensor_file_format(stem);
    const size_t ending = format ? strlen(format->suffix) + 1 : 0;
    return memory_text(error, "%.*s", (int)(strlen(stem) - ending), stem);
}

enum status ktensor_find_labels(struct labels *l, const char *stem, int order, struct error *error)
{
    char *name = ktensor_stem(stem, error);
    if (name)
        labels_find(l, name, order, error);
    memory_free(name);
    return error->status;
}

void ktensor_files_free(struct ktensor_files *files)
{
    for (int i = 0; i < files->count; i++)
        memory_free(files->path[i]);
    *files = (struct ktensor_files){0};
}
