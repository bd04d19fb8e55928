#include "record/run_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/version.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* Variables that change how fast blco is; no others are recorded. */
static const char *const variables[] = {
    "CUDA_VISIBLE_DEVICES", "GOMP_CPU_AFFINITY", "OMP_NUM_THREADS", "OMP_PLACES",
    "OMP_PROC_BIND",        "OMP_WAIT_POLICY",   "GOMP_SPINCOUNT",  "SLURM_CPUS_PER_TASK"};

void run_record_processor(char *name, size_t size)
{
    char text_line[512];
    snprintf(name, size, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file)
        return;
    while (fgets(text_line, sizeof text_line, file)) {
        char *colon = strchr(text_line, ':');
        if (strncmp(text_line, "model name", 10) != 0 || !colon)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(name, size, "%s", colon);
        break;
    }
    fclose(file);
}

void run_record_program(struct json *j, const char *writer, char *const *argv)
{
    char date[32] = "";
    struct tm utc;
    time_t now = time(NULL);
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_put_string(j, "record", writer);
    json_put_string(j, "date", date);
    json_put_array(j, "command");
    json_put_string(j, NULL, "blco");
    for (; *argv; argv++)
        json_put_string(j, NULL, *argv);
    json_end(j);
    json_put_string(j, "version", version_number);
    json_put_string(j, "commit", version_commit);
}

enum status run_record_machine(struct json *j, const char *writer, char *const *argv,
                               const struct backend_kind *kind, int device, int threads)
{
    struct backend_device gpu;
    char processor[256];
    run_record_processor(processor, sizeof processor);
    run_record_program(j, writer, argv);
    json_put_string(j, "compiler", COMPILER);
    json_put_string(j, "backend", kind->name);
    if (kind->device) {
        if (kind->device(device, &gpu, j->error) != STATUS_OK)
            return j->error->status;
        json_put_object(j, "device");
        json_put_string(j, "name", gpu.name);
        json_put_string(j, "driver", gpu.driver);
        json_put_string(j, "runtime", gpu.runtime);
        json_end(j);
    }
    json_put_string(j, "processor", processor);
    json_put_unsigned(j, "threads", (uint64_t)threads);
    json_put_object(j, "environment");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i]))
            json_put_string(j, variables[i], getenv(variables[i]));
    json_end(j);
    return j->error->status;
}

void run_record_texts(struct json *j, const char *name, char *const *text, int count)
{
    json_put_array(j, name);
    for (int i = 0; i < count; i++)
        json_put_string(j, NULL, text[i]);
    json_end(j);
}

void run_record_tensor(struct json *j, const char *name, const struct shape *shape, uint64_t nnz,
                       const uint64_t *hash, const struct mode_names *modes)
{
    json_put_object(j, "tensor");
    json_put_string(j, "name", name);
    json_put_unsigned(j, "order", (uint64_t)shape->order);
    json_put_unsigneds(j, "lengths", shape->dims, (size_t)shape->order);
    if (modes)
        mode_names_put(j, modes, shape->order);
    json_put_unsigned(j, "nonzeros", nnz);
    if (hash) {
        char digits[17];
        snprintf(digits, sizeof digits, "%016" PRIx64, *hash);
        json_put_string(j, "fingerprint", digits);
    }
    json_end(j);
}

void run_record_options(struct json *j, const struct backend_options *options)
{
    json_put_unsigned(j, "rank", options->problem.rank);
    for (const struct problem_choice *c = problem_choices; c->name; c++)
        json_put_string(j, c->key, problem_word(&options->problem, c));
    json_put_string(j, "conflict", conflict_name(options->conflict));
    json_put_bool(j, "sharing", !options->no_sharing);
    json_put_unsigned(j, "memory", options->memory);
    json_put_unsigned(j, "host_memory", options->host_memory);
}

void run_record_modes(struct json *j, const char *name, const bool *flag, int order)
{
    uint64_t mode[MAX_ORDER];
    size_t modes = 0;
    for (int n = 0; n < order; n++)
        if (flag[n])
            mode[modes++] = (uint64_t)n + 1;
    json_put_unsigneds(j, name, mode, modes);
}

void run_record_built(struct json *j, const struct backend_built *built)
{
    const struct plan *plan = &built->plan;
    const struct mode_groups *groups = &built->groups;
    uint64_t first[MAX_ORDER];
    json_put_array(j, "conflict");
    for (int n = 0; n < plan->request.tensor.shape.order; n++)
        json_put_string(j, NULL, conflict_name(plan->conflict[n]));
    json_end(j);
    for (int g = 0; g < groups->groups; g++)
        first[g] = (uint64_t)groups->first[g] + 1;
    json_put_unsigneds(j, "groups", first, (size_t)groups->groups);
    json_put_bool(j, "streamed", plan->streamed);
    if (!plan->streamed)
        return;
    json_put_unsigned(j, "batch_nonzeros", plan->batch_nnz);
    json_put_unsigned(j, "host_bytes", plan->host_bytes);
    json_put_unsigned(j, "resident_bytes", plan->resident_bytes);
}

enum status run_record_write(struct json *j, struct outfile *file, struct error *error)
{
    if (error->status == STATUS_OK && outfile_write(file, j->text, j->used, error) == STATUS_OK)
        outfile_commit(file, error);
    json_free(j);
    return error->status;
}
