/* A temporary folder for the files of one test. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char scratch_folder[] = "/tmp/blco-test-XXXXXX";

/* cmocka's setup of one test; scratch_remove is the teardown. */
static inline int scratch_make(void **state)
{
    (void)state;
    strcpy(scratch_folder + sizeof scratch_folder - 7, "XXXXXX");
    return mkdtemp(scratch_folder) ? 0 : -1;
}

/* The number of entries in the folder, hidden ones too; removes them if `remove_them`. */
static inline int scratch_entries(int remove_them)
{
    int count = 0;
    DIR *folder = opendir(scratch_folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        if (remove_them && unlinkat(dirfd(folder), entry->d_name, 0) != 0)
            unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR);
    }
    if (folder)
        closedir(folder);
    return count;
}

static inline int scratch_remove(void **state)
{
    (void)state;
    scratch_entries(1);
    return rmdir(scratch_folder);
}

/* The path of `name` in the folder; valid until the eighth call from now. */
static inline const char *scratch_path(const char *name)
{
    static char path[8][512];
    static int next;
    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", scratch_folder, name);
    return path[next];
}

/* Writes a file in the folder; returns its path, as scratch_path does. */
static inline const char *scratch_file(const char *name, const void *bytes, size_t size)
{
    const char *path = scratch_path(name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
    return path;
}

static inline const char *scratch_text(const char *name, const char *text)
{
    return scratch_file(name, text, strlen(text));
}

/* Reads the file at `path` into bytes[0..room), and terminates it. Returns its size, or -1 if
 * there is no file. */
static inline long scratch_read(const char *path, char *bytes, size_t room)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return -1;
    size_t size = fread(bytes, 1, room - 1, file);
    bytes[size] = '\0';
    fclose(file);
    return (long)size;
}
