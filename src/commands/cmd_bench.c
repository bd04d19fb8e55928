/* blco bench: MTTKRP and ALS on a tensor, against what the machine can do. */
#include "commands/cmd.h"

#include "base/outfile.h"
#include "base/threads.h"
#include "base/version.h"
#include "bench/bench.h"
#include "comm/comm.h"
#include "commands/file_roles.h"
#include "commands/machine_choice.h"
#include "commands/options/cmd_common.h"
#include "commands/ranks_join.h"
#include "record/run_record.h"

#define MAX_SAMPLES 1000000

struct job {
    struct cmd_common common;
    const char *tensor, *json;
    int cache_tiles;               /* --cache-tiles: a mode from 1, or 0 for none */
    const char *cache_tiles_given; /* "--cache-tiles", or NULL */
    int threads;
    struct bench_request request;
    struct bench_result result; /* of several ranks: rank 0's                  */
    struct bench_ranks ranks;   /* where there are several                     */
    struct outfile file;
};

static const struct cli_option bench_options[] = {
    {"--rank", 'r', "R", "number of components (required)", CMD_RANK},
    {"--samples", 0, "N",
     "time each MTTKRP and iteration N times (20; MTTKRP\nup to 100 times while that takes less "
     "than 0.2 s)",
     CLI_UNSIGNED(struct job, request.samples, 1, MAX_SAMPLES)},
    {"--als", 0, NULL, "measure iterations of ALS only", CLI_FLAG(struct job, request.als_only)},
    {"--nonneg", 0, NULL, "keep all factor matrices nonnegative in ALS", CMD_NONNEG},
    {"--cache-tiles", 0, "N",
     "on a GPU, work in tiles of the L2 cache of mode N;\n0: in none (where they pay)",
     CLI_INT(struct job, cache_tiles, 0, MAX_ORDER), CLI_GIVEN(struct job, cache_tiles_given)},
    {"--json", 0, "FILE", "write a record with every sample", CLI_FILE(struct job, json)},
    {.name = NULL}};

static const struct cli_section sections[] = {
    {"Benchmark", bench_options},     {"Input", cmd_input_options},
    {"Machine", cmd_machine_options}, {"Several GPUs", cmd_ranks_options},
    {"General", cmd_general_options}, {NULL, NULL}};

/* Checks all that can be checked before the tensor is read. */
static enum status prepare(struct job *job, struct error *error)
{
    struct error why_not = {0};
    struct file_roles files = {0};
    if (job->common.options.problem.rank == 0)
        return error_set(error, STATUS_INPUT, "no rank given: -r RANK expected");
    TRY(machine_choose_now(&job->common, &job->request.kind, &why_not, error));
    TRY(cmd_check_parts(&job->common.ranks, job->common.gpus.count, "GPUs", error));
    if (job->cache_tiles_given && !job->request.kind->devices)
        return error_set(error, STATUS_INPUT, "--cache-tiles: backend %s uses no GPU",
                         job->request.kind->name);
    const bool als_only = job->request.als_only || job->common.gpus.count > 1;
    if (job->common.options.problem.precision == POLICY_AUTO && !als_only)
        return error_set(error, STATUS_INPUT, "--precision auto needs --als");
    file_roles_add_tensor(&files, job->tensor, &job->common.csv, error);
    file_roles_add(&files, FILE_RECORD, job->json, error);
    TRY(file_roles_check(&files, error));
    if (job->json)
        TRY(outfile_open(&job->file, job->json, error));
    job->threads = cmd_set_threads(job->common.threads, 1);
    TRY(threads_start(error));
    if (why_not.status)
        progress_note(&job->common.progress, "backend %s (%s)", job->request.kind->name,
                      why_not.message);
    return STATUS_OK;
}

/* One rank: alone, or a thread of this process. */
static enum status measure_rank(struct comm *c, void *context, struct error *error)
{
    struct job *job = context;
    const bool several = c->size > 1;
    struct bench_request request = job->request;
    struct bench_ranks other_ranks = {0}, *ranks = c->rank == 0 ? &job->ranks : &other_ranks;
    struct bench_result other = {0}, *result = c->rank == 0 ? &job->result : &other;
    struct rank_tensor tensor = {0};
    struct rank_place place[CMD_MAX_GPUS];
    struct backend_wake wake;
    struct device_comm *devices = NULL;
    struct progress *progress = c->rank == 0 ? &job->common.progress : NULL;
    if (several) {
        TRY_OR(done, rank_places(place, c, &job->common, request.kind, error));
        request.options.device = place[c->rank].device;
        backend_wake_begin(&wake, request.kind, request.options.device);
        TRY_OR(done, rank_meet(&devices, &wake, c, error));
    }
    const struct rank_request split =
        rank_split(&job->common, request.kind, several ? place : NULL, c, job->tensor);
    TRY_OR(done, rank_tensor_open(&tensor, c, &split, progress, error));
    tensor.rows.devices = devices;
    TRY_OR(done, cmd_check_grid(&job->common.ranks, tensor.shape.order, error));
    if (job->cache_tiles > tensor.shape.order)
        TRY_OR(done, error_set(error, STATUS_INPUT, "--cache-tiles: mode %d, but the tensor has %d",
                               job->cache_tiles, tensor.shape.order));
    request.tensor = &tensor;
    request.als_only |= several;
    bench_run(result, &request, progress, error);
    if (error->status != STATUS_OK)
        comm_abort(c, error);
    else if (several)
        bench_ranks_gather(ranks, &tensor, result, error);
done:
    bench_ranks_free(&other_ranks);
    bench_free(&other);
    rank_tensor_close(&tensor);
    if (devices)
        request.kind->leave(devices);
    return error->status;
}

static enum status measure(struct job *job, struct error *error)
{
    job->request.options = job->common.options;
    if (job->cache_tiles_given)
        job->request.options.forced.cache_tiles = job->cache_tiles > 0 ? job->cache_tiles : -1;
    if (job->common.gpus.count > 1)
        return comm_run_team(job->common.gpus.count, measure_rank, job, error);
    struct comm *self = comm_self(error);
    if (!self)
        return error->status;
    measure_rank(self, job, error);
    comm_finalize(self);
    return error->status;
}

static enum status write_record(struct job *job, char *const *argv, struct error *error)
{
    struct json j;
    if (!job->json)
        return STATUS_OK;
    json_begin(&j, error);
    json_put_object(&j, NULL);
    run_record_machine(&j, "bench", argv, job->request.kind, job->common.options.device,
                       job->threads);
    bench_record(&j, job->tensor, &job->request, &job->result,
                 job->ranks.ranks > 0 ? &job->ranks : NULL);
    json_end(&j);
    return run_record_write(&j, &job->file, error);
}

static enum status show(const struct job *job, struct error *error)
{
    const struct problem *problem = &job->common.options.problem;
    const struct backend_kind *kind = job->request.kind;
    const bool several = job->ranks.ranks > 0;
    struct backend_device device;
    char processor[256];
    cmd_print_tensor(job->tensor);
    printf("lengths      ");
    cmd_print_lengths(several ? &job->ranks.shape : &job->result.shape);
    printf("\nnonzeros     %ju\nrank         %ju, %s precision%s\n",
           (uintmax_t)(several ? job->ranks.nnz : job->result.nnz), (uintmax_t)problem->rank,
           word_of(precision_words, (int)problem->precision),
           mode_rules_any(problem->rules.nonneg) ? ", nonnegative" : "");
    if (kind->device)
        TRY(kind->device(job->common.options.device, &device, error));
    run_record_processor(processor, sizeof processor);
    printf("program      blco %s, backend %s\n", version_text, kind->name);
    if (kind->device)
        printf("device       %s; driver %s; runtime %s\n", device.name, device.driver,
               device.runtime);
    printf("processor    %s, %d thread%s\n", processor, job->threads, job->threads == 1 ? "" : "s");
    printf("verified by  %s\n", BENCH_REFERENCE);
    bench_table(stdout, &job->result);
    if (several)
        bench_table_ranks(stdout, &job->ranks, job->result.shape.order);
    return STATUS_OK;
}

static enum status run(void *settings, const struct cli_line *line, struct error *error)
{
    struct job *job = settings;
    job->file.fd = -1;
    TRY(cli_single_operand(line, "tensor", error));
    job->tensor = line->operand[0];
    TRY(prepare(job, error));
    TRY(measure(job, error));
    TRY(write_record(job, line->argv, error));
    progress_done(&job->common.progress, "done");
    return show(job, error);
}

static void free_job(void *settings)
{
    struct job *job = settings;
    if (job->tensor)
        outfile_discard(&job->file);
    bench_free(&job->result);
    bench_ranks_free(&job->ranks);
}

const struct command cmd_bench = {
    .name = "bench",
    .summary = "measure MTTKRP and ALS against what the machine can do",
    .usage = "Usage: blco bench TENSOR -r RANK [OPTION]...\n\n"
             "Measures MTTKRP for each mode and each conflict resolution (or that of\n"
             "--conflict), and iterations of ALS, against limits of the machine that are\n"
             "measured in the same run. Results are verified before they are timed. On\n"
             "several GPUs, iterations of ALS only, with a table of the GPUs.\n"
             "TENSOR is text (.tns) or CSV (--columns), plain or gzip, a .blco file,\n"
             "COORDS.npy,VALUES.npy, or - for text or CSV from standard input.\n",
    .ending = "\nExit status: 0 done, 1 a result is wrong, 2 usage or input, 3 memory,\n4 "
              "numerical breakdown, 5 output. More in blco-bench(1).\n",
    .sections = sections,
    .settings = sizeof(struct job),
    .run = run,
    .free = free_job,
    .operands = CMD_TENSORS,
};
