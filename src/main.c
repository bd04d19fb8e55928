/* The program: finds the command, runs it, and is the only place that prints an error. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/filemap.h"
#include "base/memory.h"
#include "base/threads.h"
#include "base/utf8.h"
#include "base/version.h"
#include "commands/cmd.h"
#include "commands/options/cmd_common.h"
#include "comm/comm_world.h"

static void help(int argc, char **argv, struct error *error)
{
    const struct command *command = argc < 2 ? NULL : command_find(argv[1], error);
    if (command)
        cmd_help(stdout, command, false);
    else if (argc < 2)
        command_usage(stdout);
}

/* The command that argv names; NULL where there is nothing to run, or with *error set. */
static const struct command *find_command(int argc, char **argv, struct error *error)
{
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        printf("blco %s\n", version_text);
    else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        help(argc - 1, argv + 1, error);
    else if (word[0] == '-')
        error_set(error, STATUS_INPUT, "a command is expected before option %s; try blco --help",
                  word);
    else
        return command_find(word, error);
    return NULL;
}

/* Of processes that work together, not every one tells. */
static void tell(const struct command *command, struct error *error)
{
    char message[PRINTABLE_ROOM(sizeof error->message)];
    if (!command || !command->together || comm_world_tells(error))
        fprintf(stderr, "blco%s%s: %s\n", command ? " " : "", command ? command->name : "",
                printable(error->message, message, sizeof message));
}

/* A standard stream that the parent process has closed would become the first file that blco opens,
 * and messages would go into that file. A mere place (O_PATH) stands in for the stream: it can be
 * neither read nor written. */
static void occupy_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH) != fd)
            _exit(STATUS_INTERNAL);
}

/* A parent that wants it, as the Python module does, names itself in BLCO_PARENT: its end, even by
 * SIGKILL, ends blco as SIGTERM does. */
static void end_with_parent(void)
{
    const char *parent = getenv("BLCO_PARENT");
    if (!parent)
        return;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (strtol(parent, NULL, 10) != getppid()) /* it has ended already */
        raise(SIGTERM);
}

/* Whether standard output is a pipe of which the reader has gone. */
static bool reader_has_gone(void)
{
    struct pollfd stream = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&stream, 1, 0) == 1 && (stream.revents & POLLERR);
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    /* a file at its limit of size, and a pipe that nobody reads any more: errors of writing */
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    end_with_parent();
    memory_return_freed();
    if (argc < 2) {
        command_usage(stderr);
        return STATUS_INPUT;
    }
    struct error error = {0};
    const struct command *command = find_command(argc, argv, &error);
    int code = (int)error.status;
    if (command && (code = (int)threads_check_first(&error)) == STATUS_OK) {
        /* a file that becomes shorter while it is read is bad input, told in one line */
        char program[64];
        snprintf(program, sizeof program, "blco %s", command->name);
        map_guard_install(program, STATUS_INPUT);
        code = cmd_run(command, argc - 1, argv + 1, &error);
    }
    if (fflush(stdout) != 0 || ferror(stdout))
        code = (int)error_set(&error, reader_has_gone() ? STATUS_UNREAD : STATUS_OUTPUT,
                              "standard output cannot be written");
    if (error.status == STATUS_UNREAD) { /* a pager that is left ends blco as other programs */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    if (error.status != STATUS_OK)
        tell(command, &error);
    return code;
}
