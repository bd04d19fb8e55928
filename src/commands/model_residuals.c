#include "commands/model_residuals.h"

#include <math.h>

#include "base/memory.h"

enum status model_residuals_begin(struct model_residuals *m, struct cmd_common *common,
                                  struct error *error)
{
    const struct model_facts *facts = &m->model->facts;
    if (!m->loss_given && facts->known)
        m->loss = loss_of_word(facts->loss);
    if (m->unlisted_given && !m->loss->log_p)
        return error_set(error, STATUS_INPUT, "%s: only with another --loss than squares",
                         m->unlisted_given);
    if (!m->unlisted_given)
        m->unlisted = facts->unlisted == 1 && loss_takes_zeros(m->loss);
    else if (m->unlisted && !loss_takes_zeros(m->loss))
        return error_set(error, STATUS_INPUT, "%s zero and %s: no value is 0", m->unlisted_given,
                         m->loss->option);
    m->entries = (struct model_entries){.reader = {.path = m->path},
                                        .model = m->model,
                                        .match = m->match,
                                        .values_optional = !m->wanted};
    TRY(model_entries_find(&m->entries, common, error));
    TRY(model_entries_open(&m->entries, error));
    if (m->wanted)
        TRY(residuals_begin(&m->sums, &m->model->k.shape, m->loss, m->strangest, m->unlisted,
                            error));
    m->sums.labels = &m->model->names;
    m->sums.index_base = m->entries.options.index_base;
    return STATUS_OK;
}

/* Refuses a value that the loss does not take. */
static enum status check_values(const struct model_residuals *m, const struct coo *piece,
                                struct error *error)
{
    const struct loss *loss = m->loss;
    uint64_t i = 0;
    while (i < piece->nnz && (isnan(piece->value[i]) || loss->values.takes(piece->value[i])))
        i++;
    if (i == piece->nnz)
        return STATUS_OK;
    error_set(error, STATUS_INPUT, "%s: the value %g is %s; %s (at coordinates", m->path,
              piece->value[i], loss->values.refused, loss->values.reason);
    for (int n = 0; n < piece->shape.order; n++)
        error_append(error, " %ju",
                     (uintmax_t)piece->index[n][i] + (uintmax_t)m->entries.options.index_base);
    return error_append(error, ")");
}

enum status model_residuals_take(void *residuals, const struct coo *piece, const struct coo *at,
                                 const uint64_t *from, struct error *error)
{
    struct model_residuals *m = residuals;
    (void)from;
    if (piece->nnz > m->room) {
        TRY(memory_resize(&m->value, piece->nnz, sizeof *m->value, error));
        m->room = piece->nnz;
    }
    if (m->loss->rates)
        TRY(check_values(m, piece, error));
    ktensor_at(m->value, &m->model->k, at);
    return m->wanted ? residuals_add(&m->sums, at, m->value, error) : STATUS_OK;
}

enum status model_residuals_end(struct model_residuals *m, struct error *error)
{
    const struct model_facts *facts = &m->model->facts;
    struct progress *progress = m->entries.reader.progress;
    const uint64_t alone = m->entries.alone;
    if (alone > 0)
        progress_note(progress, "%ju entr%s a name that the model lacks: nan", (uintmax_t)alone,
                      alone == 1 ? "y has" : "ies have");
    if (m->strangest == 0)
        return STATUS_OK;
    TRY(residuals_rank(&m->sums, &m->model->k, progress, error));
    if (m->loss->log_p && m->sums.zeros && !m->unlisted_given && facts->known &&
        m->sums.entries < facts->nnz)
        progress_note(progress,
                      "%s has %ju entries, the model's tensor %ju: those that are not listed count "
                      "as zeros; --unlisted unknown leaves them out",
                      m->path, (uintmax_t)m->sums.entries, (uintmax_t)facts->nnz);
    return STATUS_OK;
}

void model_residuals_free(struct model_residuals *m)
{
    residuals_free(&m->sums);
    model_entries_close(&m->entries);
    memory_free(m->value);
    m->value = NULL;
    m->room = 0;
}
