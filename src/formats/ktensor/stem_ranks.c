#include "formats/ktensor/ktensor_io.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

#define SHOWN 8

/* The smallest ranks that were seen, ascending and distinct, and whether there are others. */
struct seen {
    uint64_t rank[SHOWN];
    int count;
    bool more;
};

/* The rank of a file NAME.rR.SUFFIX that every model has one of; 0 of any other file. */
static uint64_t rank_of(const char *file, const char *name)
{
    size_t length = strlen(name);
    char suffix[KTENSOR_SUFFIX_TEXT];
    uint64_t rank = 0;
    if (strncmp(file, name, length) != 0 || strncmp(file + length, ".r", 2) != 0)
        return 0;
    const char *end = number_parse_unsigned(file + length + 2, file + strlen(file), &rank);
    if (!end || *end != '.')
        return 0;
    for (int i = 0; i < KTENSOR_FORMAT_COUNT; i++)
        if (strcmp(end + 1, ktensor_suffix(&ktensor_formats[i], 0, 1, suffix)) == 0)
            return rank;
    return 0;
}

static void note(struct seen *seen, uint64_t rank)
{
    int at = 0;
    while (at < seen->count && seen->rank[at] < rank)
        at++;
    if (at < seen->count && seen->rank[at] == rank)
        return;
    if (seen->count == SHOWN)
        seen->more = true;
    else
        seen->count++;
    for (int i = seen->count - 1; i > at; i--)
        seen->rank[i] = seen->rank[i - 1];
    if (at < SHOWN)
        seen->rank[at] = rank;
}

static void list(const struct seen *seen, const char *stem, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < seen->count && used < size; i++) {
        bool last = i > 0 && i == seen->count - 1 && !seen->more;
        used += (size_t)snprintf(text + used, size - used, "%s%s.r%ju",
                                 i == 0 ? ""
                                 : last ? " and "
                                        : ", ",
                                 stem, (uintmax_t)seen->rank[i]);
    }
    if (seen->more && used < size)
        snprintf(text + used, size - used, " and others");
}

const char *stem_ranks(const char *stem, char *text, size_t size)
{
    char folder[4096];
    struct seen seen = {0};
    const char *slash = strrchr(stem, '/'), *name = slash ? slash + 1 : stem;
    snprintf(folder, sizeof folder, "%.*s.", (int)(name - stem), stem);
    DIR *files = opendir(folder);
    for (struct dirent *file; files && (file = readdir(files));) {
        uint64_t rank = rank_of(file->d_name, name);
        if (rank > 0)
            note(&seen, rank);
    }
    if (files)
        closedir(files);
    list(&seen, stem, text, size);
    return text;
}
