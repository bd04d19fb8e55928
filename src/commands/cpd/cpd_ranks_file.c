#include "commands/cpd/cpd_ranks_file.h"

#include <math.h>

#include "base/memory.h"
#include "commands/cpd/cpd_record.h"
#include "record/run_record.h"

char *cpd_ranks_file_name(const struct cpd_settings *s, struct error *error)
{
    return s->base_stem && !s->nowrite ? memory_text(error, "%s.ranks.json", s->base_stem) : NULL;
}

enum status cpd_ranks_file_check(const struct cpd_settings *s, struct error *error)
{
    char *path = cpd_ranks_file_name(s, error);
    if (path)
        outfile_check(path, error);
    memory_free(path);
    return error->status;
}

static void put_core(struct json *j, const struct core_consistency *core)
{
    bool known = core->state == CORE_KNOWN;
    json_put_number(j, "core_consistency", known ? core->percent : NAN);
    if (known && core->estimated)
        json_put_number(j, "core_consistency_error", core->error);
}

static void put_files(struct json *j, int order, const struct cpd_settings *s, const char *stem)
{
    struct ktensor_files files;
    json_put_array(j, "files");
    ktensor_files_name(&files, order, stem, s->formats, j->error);
    for (int i = 0; i < files.count; i++)
        json_put_string(j, NULL, files.path[i]);
    ktensor_files_free(&files);
    json_end(j);
}

static void put_model(struct json *j, int order, const struct cpd_settings *s,
                      const struct rank_outcome *o)
{
    const struct cpals_result *r = &o->result;
    char *stem = memory_text(j->error, "%s.r%ju", s->base_stem, (uintmax_t)o->rank);
    if (!stem)
        return;
    json_put_number(j, "fit", r->fit);
    json_put_number(j, "fit_noise", r->trust.noise);
    json_put_unsigned(j, "iterations", (uint64_t)r->iterations);
    json_put_string(j, "stop", cpd_record_stop(r->stop));
    put_core(j, &r->core);
    if (r->held.entries > 0) {
        const bool counts = loss_of(r->held.loss)->rates;
        json_put_number(j, cpd_record_held(r->held.loss), r->held.value);
        json_put_number(j, counts ? "held_out_deviance_error" : "held_out_rmse_error",
                        r->held.error);
    }
    if (o->halves.asked)
        json_put_number(j, "split_half_score", o->halves.known ? o->halves.score : NAN);
    if (o->halves.known)
        json_put_unsigned(j, "split_half_alike", o->halves.alike);
    if (o->ridge > 0)
        json_put_number(j, "ridge", o->ridge);
    json_put_unsigned(j, "other_starts", (uint64_t)o->agreement.others);
    json_put_unsigned(j, "agreeing_starts", (uint64_t)o->agreement.agree);
    json_put_string(j, "stem", stem);
    put_files(j, order, s, stem);
    memory_free(stem);
}

static void put_outcome(struct json *j, int order, const struct cpd_settings *s,
                        const struct rank_outcome *o)
{
    json_put_object(j, NULL);
    json_put_unsigned(j, "rank", o->rank);
    if (o->failure.status == STATUS_OK)
        put_model(j, order, s, o);
    else
        json_put_string(j, "failure", o->failure.message);
    json_end(j);
}

static void put_all(struct json *j, const struct cpd_inputs *in, const struct cpd_results *r)
{
    const struct cpd_settings *s = &in->settings;
    char suggestion[RANK_CHOICE_TEXT];
    uint64_t rank = rank_suggestion(r->outcome, r->outcomes, suggestion);
    json_put_object(j, NULL);
    run_record_program(j, "ranks", in->line.argv);
    run_record_tensor(j, s->tensor, &r->tensor.shape, r->tensor.nnz, NULL, &r->names.modes);
    json_put_bool(j, "complete", r->outcomes == rank_range_count(&s->ranks));
    json_put_number(j, "suggested", rank > 0 ? (double)rank : NAN);
    json_put_string(j, "suggestion", suggestion);
    json_put_array(j, "ranks");
    for (int i = 0; i < r->outcomes; i++)
        put_outcome(j, r->tensor.shape.order, s, &r->outcome[i]);
    json_end(j);
    json_end(j);
}

static enum status write_file(const char *path, const struct json *j, struct error *error)
{
    struct outfile file = {.fd = -1};
    TRY_OR(done, outfile_open(&file, path, error));
    TRY_OR(done, outfile_write(&file, j->text, j->used, error));
    outfile_commit(&file, error);
done:
    outfile_discard(&file);
    return error->status;
}

enum status cpd_ranks_file_write(const struct cpd_inputs *in, const struct cpd_results *results,
                                 struct progress *progress, struct error *error)
{
    struct json j;
    if (!rank_any_model(results->outcome, results->outcomes))
        return STATUS_OK;
    char *path = cpd_ranks_file_name(&in->settings, error);
    if (!path)
        return error->status;
    json_begin(&j, error);
    put_all(&j, in, results);
    TRY_OR(done, error->status);
    TRY_OR(done, write_file(path, &j, error));
    progress_note(progress, "wrote %s", path);
done:
    json_free(&j);
    memory_free(path);
    return error->status;
}
