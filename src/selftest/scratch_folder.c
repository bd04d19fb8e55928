#include "selftest/scratch_folder.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
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

/* --- signals that end the process --- */

static const int fatal[] = {SIGINT, SIGTERM, SIGHUP};
static sem_t arrived; /* takes no open file, as a pipe would: a limit may leave none */
static volatile sig_atomic_t number;

static void on_signal(int n)
{
    number = n;
    sem_post(&arrived);
}

/* Removes the folder when a signal comes, and ends the process as if it had no handler. Other
 * threads may still write to the folder. */
static void *wait_for_signal(void *unused)
{
    char path[SCRATCH_ROOM];
    (void)unused;
    while (sem_wait(&arrived) != 0)
        ;
    memcpy(path, made, sizeof path);
    for (int tries = 0; tries < 1000 && access(path, F_OK) == 0; tries++)
        scratch_folder_remove(path);
    signal(number, SIG_DFL);
    raise(number);
    return NULL;
}

/* --- the folder --- */

enum status scratch_folder_make(char *path, struct error *error)
{
    pthread_t thread;
    struct sigaction now, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
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
    /* Where no thread can be started, a signal leaves the folder. One that is ignored stays so. */
    if (!made[0] || sem_init(&arrived, 0, 0) != 0 ||
        pthread_create(&thread, NULL, wait_for_signal, NULL) != 0)
        return error->status;
    pthread_detach(thread);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        if (sigaction(fatal[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(fatal[i], &action, NULL);
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
