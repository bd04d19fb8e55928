/* What several commands share: options for the input, the machine and the output on the terminal,
 * --help and --version, threads and host memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/json.h"
#include "base/progress.h"
#include "commands/options/cli.h"
#include "commands/options/cli_values.h"
#include "formats/csv/csv_options.h"
#include "formats/ktensor/ktensor_io.h"
#include "formats/tns/tns_options.h"
#include "tensor/value_change.h"

#define CMD_MAX_RANK            1000000
#define CMD_MAX_THREADS         4096
#define CMD_MAX_SEED            (UINT64_MAX - 1) /* a number that does not fit is read as UINT64_MAX */
#define CMD_SEED(owner, member) CLI_UNSIGNED(owner, member, 0, CMD_MAX_SEED)

#define CMD_MAX_GPUS 64
#define CMD_ALL_GPUS -1

/* What `blco info` assumes ranks to be. */
enum cmd_on { CMD_ON_BACKEND, CMD_ON_GPUS, CMD_ON_PROCESSORS };
extern const struct word cmd_on_words[];

/* The ranks (GPUs or processes) that work on one tensor. */
struct cmd_ranks {
    int ranks;            /* 0: neither --ranks nor --grid was given                        */
    int parts[MAX_ORDER]; /* of --grid: the number of ranges of each mode                   */
    int modes;            /* how many numbers --grid gave; 0: not given, a grid is chosen   */
    enum cmd_on on;       /* of --on; CMD_ON_BACKEND: what the backend works on             */
};

/* The GPUs that --gpus asks for. */
struct cmd_gpus {
    int count;             /* as given, or CMD_ALL_GPUS; 0: --gpus was not given                */
    bool listed;           /* --gpus gave their numbers; otherwise the first ones are meant     */
    bool all_unless_given; /* 0 means all GPUs; otherwise it means the first one                */
    int device[CMD_MAX_GPUS]; /* (count) their numbers                                          */
};

/* Take the arguments of --grid, into a struct cmd_ranks, and of --gpus, into a struct cmd_gpus: a
 * number alone is how many; a comma makes a list, also after a single number. */
cli_setter cmd_set_grid, cmd_set_gpus;

/* To be called once all options are set: without --ranks, --grid says how many ranks there are.
 * STATUS_INPUT where the two contradict each other. */
enum status cmd_count_ranks(struct cmd_ranks *ranks, struct error *error);

/* Checks that --grid, where given, is a grid of `count` ranks; `what` names the ranks in the
 * message ("GPUs"). STATUS_INPUT. */
enum status cmd_check_parts(const struct cmd_ranks *ranks, int count, const char *what,
                            struct error *error);

/* Checks that --grid, where given, has a number for each mode of the tensor. STATUS_INPUT. */
enum status cmd_check_grid(const struct cmd_ranks *ranks, int order, struct error *error);

/* What the options of the tables below set. The settings of each command begin with it, so that
 * these tables and the command's own fill one struct. */
struct cmd_common {
    bool help, help_all, version, quiet;
    enum progress_kind progress_kind; /* --progress                    */
    struct progress progress;         /* shown on standard error, as -q and --progress ask for */
    int threads;                      /* 0: not given                    */
    struct tns_options tns;           /* --index-base, --dims            */
    struct csv_options csv;           /* --columns, --value, --order, --bin */
    struct value_rule values;         /* --values                        */
    const char *backend;              /* one of backend_words; borrowed  */
    struct backend_options options;   /* options.problem.rank: 0 without --rank */
    int most_nonneg;                  /* the largest mode that --nonneg lists, or 0 */
    struct cmd_ranks ranks;           /* --ranks, --grid                 */
    struct cmd_gpus gpus;             /* --gpus                          */
    int signal;                       /* that ended the command's work before its end, or 0 */
};

extern const struct cli_option cmd_input_options[];   /* --index-base --dims --columns ...       */
extern const struct cli_option cmd_machine_options[]; /* --backend -t --memory --host-memory ... */
extern const struct cli_option cmd_ranks_options[];   /* --gpus --grid                           */
extern const struct cli_option cmd_threads_options[]; /* -t                                      */
extern const struct cli_option cmd_host_options[];    /* -t --host-memory: for work without a GPU */
extern const struct cli_option cmd_general_options[]; /* --progress -q -h -V                     */
#define cmd_plain_options (cmd_general_options + 1)   /* without --progress                      */

/* What rows of several tables have in common; their help differs. */
#define CMD_BACKEND CLI_WORD(struct cmd_common, backend, backend_words), .initial = "auto"
#define CMD_INDEX_BASE                                                                             \
    CLI_INT(struct cmd_common, tns.index_base, 0, 1),                                              \
        .initial = "1", CLI_GIVEN(struct cmd_common, tns.index_base_given)
#define CMD_DIMS CLI_OWN(cmd_set_dims, struct tns_options, struct cmd_common, tns)
#define CMD_RANK CLI_UNSIGNED(struct cmd_common, options.problem.rank, 1, CMD_MAX_RANK)
#define CMD_GRID CLI_OWN(cmd_set_grid, struct cmd_ranks, struct cmd_common, ranks)
#define CMD_GPUS CLI_OWN(cmd_set_gpus, struct cmd_gpus, struct cmd_common, gpus), .may_differ = true
#define CMD_ACCELERATE                                                                             \
    CLI_CHOICE(struct cmd_common, options.problem.acceleration, acceleration_words),               \
        .initial = "auto"
extern const struct word cmd_unlisted_words[];
#define CMD_UNLISTED                                                                               \
    CLI_OWN(cmd_set_unlisted, struct unlisted, struct cmd_common, options.problem.unlisted),       \
        .words = cmd_unlisted_words, .initial = "zero"
#define CMD_NONNEG CLI_SETTINGS(cmd_set_nonneg)
#define CMD_THREADS                                                                                \
    {                                                                                              \
        "--threads", 't', "N",                                                                     \
            "threads on the host (OMP_NUM_THREADS, else\nSLURM_CPUS_PER_TASK, else all available " \
            "cores)",                                                                              \
            CLI_INT(struct cmd_common, threads, 1, CMD_MAX_THREADS), .may_differ = true            \
    }

/* Reads whole numbers with colons between them, at most three, as 4:32:4. Returns how many, or 0
 * where `text` is anything else; numbers that it lacks stay as they are. */
int cmd_take_numbers(const char *text, uint64_t number[3]);

cli_setter cmd_set_dims, cmd_set_nonneg, cmd_set_unlisted, cmd_set_values;

/* Adds MODE=FILE to a struct labels. */
cli_setter cmd_set_labels;

/* The row of --values, and its words but for tfidf:MODE. */
extern const struct word cmd_value_words[];
#define CMD_VALUES                                                                                 \
    {                                                                                              \
        "--values", 0, "HOW",                                                                      \
            "what becomes of a value x: ln(1 + x) (log1p), 1\n(binary), or tfidf:MODE: more "      \
            "where the index of this\nmode is rare; default: x",                                   \
            CLI_OWN(cmd_set_values, struct value_rule, struct cmd_common, values),                 \
            .words = cmd_value_words                                                               \
    }

/* A command of blco. Its settings begin with a struct cmd_common; cmd_run fills them from the
 * command line. `run` returns the exit status: error->status, or 128 plus the number of the signal
 * that ended cpd early. */
struct command {
    const char *name, *summary;
    const char *usage;        /* the help before the options                                    */
    const char *ending;       /* the help after the options, or NULL                            */
    const char *short_ending; /* the same after the options that are used most; NULL: --help
                               * prints all options, as --help=all does                         */
    const struct cli_section *sections;
    size_t settings; /* bytes                                                               */
    enum status (*run)(void *settings, const struct cli_line *line, struct error *error);
    void (*free)(void *settings); /* what they own; accepts zeros; NULL: they own nothing       */
    const char *verbatim;     /* the first argument after which nothing is parsed, or NULL      */
    const char *operands;     /* how the names of its files end, as "tns blco", or NULL         */
    const struct word *words; /* what its operand may be, or NULL                               */
    bool together; /* the processes that a launcher has started work on one task: `run` is called
                    * with the error of a wrong command line, too, and tells the others         */
};

#define CMD_TENSORS "tns tns.gz blco csv csv.gz tsv tsv.gz" /* how the names of tensors end */
#define CMD_MODELS  "ktns" /* of models; these are also named by their stems */

/* Prints the help of a command, with every option where `all`. */
void cmd_help(FILE *stream, const struct command *command, bool all);

/* Prints the help or the version, if the user asked for it. Returns whether the user asked: the
 * command then has nothing else to do. */
bool cmd_answered(const struct command *command, const struct cmd_common *common);

/* Parses the arguments, of which argv[0] is the command's name, answers --help and --version, or
 * runs the command. Returns the exit status. */
int cmd_run(const struct command *command, int argc, char **argv, struct error *error);

/* Whether text[0..length) ends in `ending`, and has more. */
bool cmd_ends_in(const char *text, size_t length, const char *ending);

/* Starts the threads of -t. Errors of threads_start. */
enum status cmd_begin(const struct cmd_common *common, struct error *error);

/* Prints the tensor's name; "-" is standard input. */
void cmd_print_tensor(const char *path);

/* Prints lengths of modes as 4 x 5 x 6. */
void cmd_print_lengths(const struct shape *shape);

/* Reads the model *m of a command that works on models alone, with the threads of -t, and what is
 * beside it (named_model_read), and shows progress; the labels of --labels are in m->names already.
 * The caller frees *m with named_model_free. STATUS_INPUT also for a loss that is not known, and
 * STATUS_MEMORY where threads cannot be started. */
enum status cmd_read_model(struct named_model *m, const char *stem, struct cmd_common *common,
                           struct error *error);

/* The loss of a model that has been read; squares where nothing is beside it that says more. */
const struct loss *cmd_model_loss(const struct named_model *m);

/* Prints a JSON document to standard output, unless an error has come up, and frees it. Returns the
 * status of this error. */
enum status cmd_print_json(struct json *j);

/* Sets how many threads OpenMP uses: `threads`, else OMP_NUM_THREADS, else SLURM_CPUS_PER_TASK,
 * else the cores that this process may run on, divided by the `sharers` processes that may run on
 * the same cores. Returns how many, at least one. */
int cmd_set_threads(int threads, int sharers);

/* Refuses --conflict and --grid where each row has a system of its own, because of `reason`: there
 * is no MTTKRP, and no mode is cut. STATUS_INPUT. */
enum status cmd_check_by_rows(const struct cmd_common *common, const char *reason,
                              struct error *error);

/* Bytes of host memory to use: --host-memory, else MACHINE_MEMORY_FRACTION of the available memory.
 */
uint64_t cmd_host_memory(const struct cmd_common *common);

/* The ranks that -r names: one, or several to be compared. */

#define RANK_RANGE_MOST 1000 /* ranks */

struct rank_range {
    uint64_t first, last, step; /* last is one of the ranks                                  */
};

/* Takes "8", "1:4" (1, 2, 3 and 4) or "4:32:4" (4, 8, ..., 32) into a struct rank_range. */
cli_setter rank_range_set;

/* How many ranks there are. */
int rank_range_count(const struct rank_range *range);
