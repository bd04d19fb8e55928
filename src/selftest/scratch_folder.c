#include "selftest/scratch_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum status scratch_folder_make(char *path, struct error *error)
{
    const char *temporary = getenv("TMPDIR");
    const char *parent = temporary && *temporary ? temporary : "/tmp";
    int length = snprintf(path, SCRATCH_ROOM, "%s/blco-selftest-XXXXXX", parent);
    if (length >= SCRATCH_ROOM)
        error_set(error, STATUS_OUTPUT, "%s: the name is too long", parent);
    else if (!mkdtemp(path))
        error_set(error, STATUS_OUTPUT, "%s: no folder can be made there: %s", parent,
                  strerror(errno));
    if (error->status != STATUS_OK)
        path[0] = '\0';
    return error->status;
}

void scratch_folder_remove(const char *path)
{
    DIR *folder = *path ? opendir(path) : NULL;
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    rmdir(path);
}
