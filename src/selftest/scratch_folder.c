#include "selftest/scratch_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder that the end of the process removes, should it come before scratch_folder_remove:
 * within OpenMP, say, which starts no thread. */
static char made[SCRATCH_ROOM];

static void remove_made(void)
{
    scratch_folder_remove(made);
}

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
    else if (atexit(remove_made) == 0)
        memcpy(made, path, SCRATCH_ROOM);
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
    made[0] = '\0';
}
