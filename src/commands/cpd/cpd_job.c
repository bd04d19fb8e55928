#include "commands/cpd/cpd_job.h"

#include "base/memory.h"
#include "commands/cpd/cpd_signals.h"

struct cpals_options cpd_als_options(const struct cpd_inputs *in,
                                     const struct checkpoint_options *saving,
                                     struct fit_trace *trace)
{
    const struct cpd_settings *s = &in->settings;
    return (struct cpals_options){.max_iterations = s->iterations,
                                  .tolerance = s->tolerance,
                                  .check_every = s->check_every,
                                  .interrupted = &cpd_interrupted,
                                  .deadline = s->time_limit > 0 ? in->began + s->time_limit : 0,
                                  .saving = s->checkpoint ? saving : NULL,
                                  .resume = s->resume ? &in->resume : NULL,
                                  .trace = s->recorded ? trace : NULL,
                                  .early_stop = s->early_stop,
                                  .core_consistency = s->core_consistency || cpd_settings_range(s)};
}

void cpd_show_findings(struct cpd_results *results, struct progress *to)
{
    char text[FINDING_TEXT];
    for (; results->shown < results->findings.count; results->shown++)
        progress_note(to, "%s", finding_text(&results->findings.finding[results->shown], text));
}

static void free_inputs(struct cpd_inputs *in)
{
    ktensor_free(&in->start);
    checkpoint_close(&in->resume);
    cpd_settings_free(&in->settings);
}

static void free_run(struct cpd_run *run)
{
    backend_wake_end(&run->wake);
    rank_tensor_close(&run->tensor);
    comm_finalize(run->world);
}

static void free_results(struct cpd_results *results)
{
    ktensor_free(&results->model);
    fit_trace_free(&results->trace);
    ktensor_files_free(&results->files);
    memory_free(results->outcome);
    labels_free(&results->names);
}

void cpd_job_free(struct cpd_job *job)
{
    free_inputs(&job->inputs);
    free_results(&job->results);
    free_run(&job->run);
}
