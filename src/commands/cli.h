/* The command line: option tables that are both parsed and printed as help, and numbers, sizes and
 * lists that are read whole or refused. */
#ifndef BLCO_CLI_H
#define BLCO_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "backend/backend.h"
#include "base/error.h"
#include "formats/tns/tns.h"

struct cli_option {
    const char *name;     /* long name; NULL ends a list                                      */
    int key;              /* its short letter, or a number above UCHAR_MAX where it has none  */
    const char *argument; /* what the help calls its argument; NULL where it takes none       */
    const char *help;     /* one or more lines, each but the last ended by a newline          */
};

struct cli_group {
    const char *title; /* NULL ends a list */
    const struct cli_option *options;
};

enum {
    CLI_KEY_HELP = 'h',
    CLI_KEY_VERSION = 'V',
    CLI_KEY_INDEX_BASE = 1000,
    CLI_KEY_DIMS,
    CLI_KEY_BACKEND,
    CLI_KEY_MEMORY,
    CLI_KEY_HOST_MEMORY,
    CLI_KEY_CONFLICT,
    CLI_KEY_PRECISION,
    CLI_KEY_SHARING,
    CLI_KEY_OWN /* a command's own keys start here */
};

/* What several commands share: how the tensor is read, and where and how the work is done. */
struct cli_common {
    bool help, version;
    bool quiet;
    int threads; /* 0: not given */
    struct tns_options tns;
    const char *backend;
    struct backend_options options; /* rank is the command's own */
};

extern const struct cli_option cli_input_options[];   /* --index-base --dims              */
extern const struct cli_option cli_machine_options[]; /* --backend -t --memory ...         */
extern const struct cli_option cli_general_options[]; /* -q -h -V                          */

/* What cli_parse calls for each option found; text is NULL for one without argument. */
typedef enum status (*cli_setter)(void *settings, int key, const char *text, struct error *error);

void cli_common_init(struct cli_common *common);

/* Takes an option of the three lists above. STATUS_INPUT where its argument is wrong. */
enum status cli_common_set(struct cli_common *common, int key, const char *text,
                           struct error *error);

/* Parses argv by the groups (GNU style: options and operands in any order). Options and arguments
 * go to `set`, in order, up to --help or --version; without these operands then stand in
 * argv[*first..argc). */
enum status cli_parse(int argc, char **argv, const struct cli_group *groups, cli_setter set,
                      void *settings, int *first, struct error *error);

/* The one operand that a command takes, called `what` in the message. */
enum status cli_single_operand(int argc, char **argv, int first, const char *what,
                               const char **operand, struct error *error);

/* Prints the groups with their options. */
void cli_help(FILE *stream, const struct cli_group *groups);

/* Each reads all of `text` or says what is wrong with it as the argument of `option`. */
enum status cli_unsigned(const char *option, const char *text, uint64_t least, uint64_t most,
                         uint64_t *value, struct error *error);
enum status cli_nonnegative(const char *option, const char *text, double *value,
                            struct error *error);
enum status cli_size(const char *option, const char *text, uint64_t *bytes, struct error *error);
enum status cli_lengths(const char *option, const char *text, uint64_t *lengths, int *count,
                        struct error *error);

enum status cli_header(const char *text, enum tns_header *header, struct error *error);

/* Sets how many threads OpenMP uses: `threads`, else OMP_NUM_THREADS, else SLURM_CPUS_PER_TASK,
 * else the processors that this process may run on. Returns how many. */
int cli_set_threads(int threads);

/* --host-memory, or most of what is available. */
uint64_t cli_host_memory(const struct cli_common *common);

/* The entry of names[0..count) that is nearest to `word`, or NULL where none is near. */
const char *cli_nearest(const char *word, const char *const *names, int count);

/* Finds the backend that was asked for and refuses options that it cannot take, before there is a
 * tensor. `why_not` as in backend_choose. */
enum status cli_choose_backend(const struct cli_common *common, const struct backend_kind **kind,
                               struct error *why_not, struct error *error);

#define CLI_MAX_RANK 1000000

#endif
