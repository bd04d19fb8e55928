/* What several commands share: options for the input, the machine and the output on the terminal,
 * --help and --version, threads and host memory. */
#ifndef BLCO_CMD_COMMON_H
#define BLCO_CMD_COMMON_H

#include <stdbool.h>

#include "backend/backend.h"
#include "base/json.h"
#include "base/progress.h"
#include "commands/options/cli.h"
#include "commands/options/cmd_ranks.h"
#include "formats/tns/tns_options.h"

#define CMD_MAX_RANK 1000000
#define CMD_MAX_SEED (UINT64_MAX - 1) /* a number that does not fit is read as UINT64_MAX */
/* Keys of options without a short letter. */
enum {
    CMD_KEY_INDEX_BASE = CLI_KEY_LONG,
    CMD_KEY_DIMS,
    CMD_KEY_BACKEND,
    CMD_KEY_MEMORY,
    CMD_KEY_HOST_MEMORY,
    CMD_KEY_CONFLICT,
    CMD_KEY_PRECISION,
    CMD_KEY_SHARING,
    CMD_KEY_RANKS,
    CMD_KEY_GRID,
    CMD_KEY_ON,
    CMD_KEY_GPUS,
    CMD_KEY_ACCELERATE,
    CMD_KEY_NONNEG,
    CMD_KEY_PROGRESS,
    CMD_KEY_OWN /* the first key of a command's own options */
};

struct cmd_common {
    bool help, help_all, version, quiet;
    enum progress_kind progress;    /* --progress                      */
    int threads;                    /* 0: not given                    */
    struct tns_options tns;         /* --index-base, --dims            */
    const char *backend;            /* auto, cuda or host; not owned   */
    struct backend_options options; /* options.rank: 0 without --rank  */
    int most_nonneg;                /* the largest mode that --nonneg lists, or 0 */
    struct cmd_ranks ranks;         /* --ranks, --grid                 */
    struct cmd_gpus gpus;           /* --gpus                          */
};

extern const struct cli_option cmd_input_options[];   /* --index-base --dims                     */
extern const struct cli_option cmd_machine_options[]; /* --backend -t --memory --host-memory ... */
extern const struct cli_option cmd_ranks_options[];   /* --gpus --grid                           */
extern const struct cli_option cmd_threads_options[]; /* -t                                      */
extern const struct cli_option cmd_host_options[];    /* -t --host-memory: for work without a GPU */
extern const struct cli_option cmd_general_options[]; /* --progress -q -h -V                     */
#define cmd_plain_options (cmd_general_options + 1)   /* without --progress                      */

void cmd_common_init(struct cmd_common *common);

/* A cli_setter: takes the options of the tables above, --rank, --accelerate, --nonneg, --ranks,
 * --grid and --on, for a struct cmd_common. STATUS_INPUT if an argument is wrong. */
enum status cmd_common_set(void *common, int key, const char *text, struct error *error);

/* Calls help(stdout) or prints the version, if the user asked for it. Returns whether the user
 * asked: the command then has nothing else to do. */
bool cmd_common_answered(const struct cmd_common *common, void (*help)(FILE *stream));

/* Progress on standard error, as -q and --progress ask for. */
void cmd_show_progress(struct progress *p, const struct cmd_common *common);

/* Prints the tensor's name; "-" is standard input. */
void cmd_print_tensor(const char *path);

/* Prints lengths of modes as 4 x 5 x 6. */
void cmd_print_lengths(const struct shape *shape);

/* Reads the model of a command that works on models alone, by as many threads as -t says; a
 * terminal shows so meanwhile. The caller frees *k with ktensor_free. Errors as of ktensor_read,
 * and STATUS_MEMORY where threads cannot be started. */
enum status cmd_read_model(struct ktensor *k, const char *stem, const struct cmd_common *common,
                           struct error *error);

/* Prints a JSON document to standard output. */
void cmd_print_json(const struct json *j);

/* Sets how many threads OpenMP uses: `threads`, else OMP_NUM_THREADS, else SLURM_CPUS_PER_TASK,
 * else the processors that this process may run on, divided by the `sharers` processes that may run
 * on the same ones. Returns how many, at least one. */
int cmd_set_threads(int threads, int sharers);

/* Bytes of host memory to use: --host-memory, else MACHINE_MEMORY_SHARE of the available memory. */
uint64_t cmd_host_memory(const struct cmd_common *common);

#endif
