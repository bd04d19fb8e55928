/* What several commands share: options for the input, the machine and the output on the terminal,
 * --help and --version, threads and host memory. */
#ifndef BLCO_CMD_COMMON_H
#define BLCO_CMD_COMMON_H

#include <stdbool.h>

#include "backend/backend.h"
#include "base/json.h"
#include "commands/cli.h"
#include "formats/tns/tns_options.h"

#define CMD_MAX_RANK 1000000
#define CMD_MAX_SEED (UINT64_MAX - 1) /* a number that does not fit is read as UINT64_MAX */
#define CMD_MAX_GPUS 64
#define CMD_ALL_GPUS -1

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
    CMD_KEY_OWN /* the first key of a command's own options */
};

/* What `blco info` takes ranks for. */
enum cmd_on { CMD_ON_BACKEND, CMD_ON_GPUS, CMD_ON_PROCESSORS };

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
    bool all_unless_given; /* what 0 means; otherwise 0 means the first one                     */
    int device[CMD_MAX_GPUS]; /* (count) their numbers                                          */
};

struct cmd_common {
    bool help, version, quiet;
    int threads;                    /* 0: not given                    */
    struct tns_options tns;         /* --index-base, --dims            */
    const char *backend;            /* auto, cuda or host; not owned   */
    struct backend_options options; /* options.rank: 0 without --rank  */
    struct cmd_ranks ranks;         /* --ranks, --grid                 */
    struct cmd_gpus gpus;           /* --gpus                          */
};

extern const struct cli_option cmd_input_options[];   /* --index-base --dims                     */
extern const struct cli_option cmd_machine_options[]; /* --backend -t --memory --host-memory ... */
extern const struct cli_option cmd_ranks_options[];   /* --gpus --grid                           */
extern const struct cli_option cmd_threads_options[]; /* -t                                      */
extern const struct cli_option cmd_host_options[];    /* -t --host-memory: for work without a GPU */
extern const struct cli_option cmd_general_options[]; /* -q -h -V                                */

void cmd_common_init(struct cmd_common *common);

/* A cli_setter: takes the options of the tables above, --rank, --ranks, --grid and --on, for a
 * struct cmd_common. STATUS_INPUT if an argument is wrong. */
enum status cmd_common_set(void *common, int key, const char *text, struct error *error);

/* Calls help(stdout) or prints the version, if the user asked for it. Returns whether the user
 * asked: the command then has nothing else to do. */
bool cmd_common_answered(const struct cmd_common *common, void (*help)(FILE *stream));

/* To be called once all options are set: --grid alone says how many ranks there are. STATUS_INPUT
 * where --ranks says another number, or where --on stands without both. */
enum status cmd_settle_ranks(struct cmd_ranks *ranks, struct error *error);

/* STATUS_INPUT where --grid is not one of `count` ranks; `what` names them ("GPUs"). */
enum status cmd_check_parts(const struct cmd_ranks *ranks, int count, const char *what,
                            struct error *error);

/* STATUS_INPUT where --grid does not give a number for each of the tensor's modes. */
enum status cmd_check_grid(const struct cmd_ranks *ranks, int order, struct error *error);

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
