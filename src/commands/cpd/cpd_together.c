#include "commands/cpd/cpd_together.h"

#include "base/machine.h"
#include "base/number.h"
#include "formats/ktensor/ktensor_io.h"
#include "ranks/model_write.h"

/* Bytes that rank 0 has for the whole model beside the parts of the ranks of its host, as if each
 * were as large as its own. The nonzeros, which take memory now, are freed by then. */
static uint64_t room_for_whole(const struct cpd_settings *s, const struct comm *c,
                               const struct rank_tensor *t)
{
    uint64_t rank = s->common.options.problem.rank, sharers = 1;
    const bool by_rows = cpd_settings_by_rows(s, t->listed.unknown);
    uint64_t part = ktensor_bytes(by_rows ? &t->shape : &t->part.here, rank),
             budget = s->common.options.host_memory;
    if (budget == 0) {
        uint64_t nonzeros = t->input.x.nnz * (4 * (uint64_t)t->shape.order + sizeof(double));
        sharers = (uint64_t)c->local_size;
        budget = machine_memory_budget(0);
        if (budget < UINT64_MAX / 2)
            budget += (uint64_t)(MACHINE_MEMORY_FRACTION * (double)(sharers * nonzeros));
    }
    return budget > sharers * part ? budget - sharers * part : 0;
}

/* Refuses what needs the whole model on one rank. */
static enum status check_settings(const struct cpd_settings *s, uint64_t bytes, uint64_t room,
                                  struct error *error)
{
    char model[NUMBER_SIZE_TEXT], memory[NUMBER_SIZE_TEXT];
    number_size(bytes, model);
    number_size(room, memory);
    if (s->init_stem)
        return error_set(
            error, STATUS_MEMORY,
            "the model of %s does not fit into the %s of host memory that rank 0 has besides its "
            "part: --init %s is impossible, since every rank needs the whole start",
            model, memory, s->init_stem);
    if (s->halves.mode > 0)
        return error_set(
            error, STATUS_MEMORY,
            "models of %s, of the tensor and of two halves (--split-half), do not fit into the %s "
            "of host memory that rank 0 has besides its part",
            model, memory);
    if (s->starts > 1)
        return error_set(
            error, STATUS_MEMORY,
            "%d models of %s, one for each of --starts, do not fit into the %s of host "
            "memory that rank 0 has besides its part",
            s->starts, model, memory);
    if (!s->nowrite && s->formats != KTENSOR_NPY)
        return error_set(
            error, STATUS_MEMORY,
            "the model of %s does not fit into the %s of host memory that rank 0 has besides its "
            "part: use --format npy, in which the ranks write the model together",
            model, memory);
    return STATUS_OK;
}

enum status cpd_choose_together(bool *together, const struct cpd_settings *s, struct comm *c,
                                const struct rank_tensor *t, struct error *error)
{
    if (c->shares_memory)
        return STATUS_OK;
    uint64_t bytes = ktensor_bytes(&t->shape, s->common.options.problem.rank);
    uint64_t room = room_for_whole(s, c, t);
    TRY(comm_bcast(c, 0, &room, sizeof room, error));
    *together = bytes * (uint64_t)s->starts * (s->halves.mode > 0 ? 3 : 1) > room;
    if (!*together)
        return STATUS_OK;
    TRY(check_settings(s, bytes, room, error));
    if (s->nowrite)
        return STATUS_OK;
    return model_writable_together(t->shape.order, s->stem, c, error);
}

enum status cpd_write_together(struct cpd_results *results, struct comm *c, const char *stem,
                               struct stem_lock *lock, struct error *error)
{
    const struct ktensor_rows all = ktensor_rows_all(&results->model);
    const struct model_rows rows = {&results->model, &all, &results->tensor.shape, &results->names};
    return model_write_together(&rows, c, stem, lock, &results->files, error);
}
