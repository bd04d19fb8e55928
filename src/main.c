/* The program: finds the command, runs it, and is the only place that prints an error. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/map_guard.h"
#include "base/printable.h"
#include "base/version.h"
#include "commands/cli.h"
#include "commands/cmd.h"
#include "comm/comm_world.h"

static const struct command {
    const char *name;
    const char *summary;
    void (*help)(FILE *stream);
    int (*run)(int argc, char **argv, struct error *error);
    bool together; /* the processes that a launcher has started work on one task */
} commands[] = {
    {"cpd", "decompose a sparse tensor by CP-ALS", cmd_cpd_help, cmd_cpd, true},
    {"info", "say what is in a tensor file, and what decomposing it takes", cmd_info_help, cmd_info,
     false},
    {"convert", "write a tensor file as another kind of tensor file", cmd_convert_help, cmd_convert,
     false},
    {"report", "write a page about a model", cmd_report_help, cmd_report, false},
    {"bench", "measure MTTKRP and ALS against what the machine can do", cmd_bench_help, cmd_bench,
     false},
    {"generate", "make a synthetic tensor", cmd_generate_help, cmd_generate, false},
};

#define COMMANDS ((int)(sizeof commands / sizeof commands[0]))

static void usage(FILE *stream)
{
    fprintf(stream, "blco decomposes large sparse tensors.\n\n"
                    "Usage: blco COMMAND [OPTION]... ARGUMENT...\n\nCommands:\n");
    for (int i = 0; i < COMMANDS; i++)
        fprintf(stream, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(stream, "  %-10s %s\n\n", "help", "print a command's help");
    fprintf(stream, "blco help COMMAND explains one of them, blco --version says which blco this "
                    "is.\n");
}

static const struct command *find(const char *name, struct error *error)
{
    const char *names[COMMANDS];
    for (int i = 0; i < COMMANDS; i++) {
        names[i] = commands[i].name;
        if (strcmp(name, names[i]) == 0)
            return &commands[i];
    }
    const char *nearest = cli_nearest(name, names, COMMANDS);
    if (nearest)
        error_set(error, STATUS_INPUT, "unknown command '%s'; did you mean '%s'?", name, nearest);
    else
        error_set(error, STATUS_INPUT, "unknown command '%s' (see blco --help)", name);
    return NULL;
}

static int help(int argc, char **argv, struct error *error)
{
    if (argc < 2) {
        usage(stdout);
        return STATUS_OK;
    }
    const struct command *command = find(argv[1], error);
    if (command)
        command->help(stdout);
    return (int)error->status;
}

/* A file that becomes shorter while it is read is bad input, told in one line. */
static void guard_maps(const struct command *command)
{
    char program[64];
    snprintf(program, sizeof program, "blco %s", command->name);
    map_guard_install(program, STATUS_INPUT);
}

/* Runs the command that argv names. Sets *command, for the message, once the command is known. */
static int dispatch(int argc, char **argv, const struct command **command, struct error *error)
{
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("blco %s\n", version_text);
        return STATUS_OK;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return help(argc - 1, argv + 1, error);
    if (word[0] == '-')
        return (int)error_set(error, STATUS_INPUT,
                              "a command is expected before option %s (see blco --help)", word);
    *command = find(word, error);
    if (*command)
        guard_maps(*command);
    return *command ? (*command)->run(argc - 1, argv + 1, error) : (int)error->status;
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
 * and messages would go into that file. A folder stands in for the stream: it can be neither read
 * nor written. */
static void occupy_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/", O_RDONLY | O_DIRECTORY) != fd)
            _exit(STATUS_INTERNAL);
}

/* A file at its limit of size, and a pipe that nobody reads any more, are then errors of writing.
 */
static void ignore_signals(void)
{
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    ignore_signals();
    if (argc < 2) {
        usage(stderr);
        return STATUS_INPUT;
    }
    struct error error = {0};
    const struct command *command = NULL;
    int code = dispatch(argc, argv, &command, &error);
    if (fflush(stdout) != 0 || ferror(stdout))
        code = (int)error_set(&error, STATUS_OUTPUT, "standard output cannot be written");
    if (error.status != STATUS_OK)
        tell(command, &error);
    return code;
}
