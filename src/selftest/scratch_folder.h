/* A folder for the files of a self-test, in the temporary folder (TMPDIR, else /tmp). */
#ifndef BLCO_SCRATCH_FOLDER_H
#define BLCO_SCRATCH_FOLDER_H

#include "base/error.h"

#define SCRATCH_ROOM 4096 /* of a path, the terminating zero included */

/* Makes the folder, one at a time; path (SCRATCH_ROOM) receives its name. An exit(), SIGINT,
 * SIGTERM or SIGHUP removes the folder, too. STATUS_OUTPUT, and path is empty. */
enum status scratch_folder_make(char *path, struct error *error);

/* Removes the folder and the files in it; accepts an empty path. */
void scratch_folder_remove(const char *path);

#endif
