#include "selftest/selftest.h"

#include "base/clock.h"
#include "base/machine.h"
#include "comm/comm.h"

/* What a check needs, or where it runs. */
#define NO_BACKEND 1u /* once, whatever the backends are */
#define ALONE      2u /* on one device, or on the host   */
#define DEVICE     4u /* on one device                   */
#define TOGETHER   8u /* on several ranks                */
#define FILES      16u

static const struct {
    const char *name;
    selftest_function *run;
    int which;
    unsigned where;
} checks[] = {
    {"orderings (BLCO paper, figure 6)", check_ordering, 0, NO_BACKEND},
    {"tensor files: text, gzip, .blco", check_tensor_files, 0, NO_BACKEND | FILES},
    {"model files: text, npy, ktns", check_model_files, 0, NO_BACKEND | FILES},
    {"MTTKRP, double precision", check_mttkrp, MTTKRP_DOUBLE, ALONE},
    {"MTTKRP, single precision", check_mttkrp, MTTKRP_SINGLE, ALONE},
    {"MTTKRP of a streamed tensor", check_mttkrp, MTTKRP_STREAMED, DEVICE},
    {"2x2 matrix multiplication, rank 1", check_runs, RUNS_MULTIPLICATION, ALONE | TOGETHER},
    {"2x2 matrix multiplication, rank 7", check_runs, RUNS_STRASSEN, ALONE | TOGETHER},
    {"superdiagonal, ranks 1 to 4", check_runs, RUNS_SUPERDIAGONAL, ALONE | TOGETHER},
    {"planted models, dense", check_runs, RUNS_DENSE, ALONE | TOGETHER},
    {"planted model, sparse", check_runs, RUNS_SPARSE, ALONE | TOGETHER},
    {"counts, Poisson loss", check_runs, RUNS_COUNTS, ALONE | TOGETHER},
    {"resumed from a checkpoint", check_resume, 0, ALONE | TOGETHER | FILES},
};

#define CHECKS ((int)(sizeof checks / sizeof *checks))

enum outcome { FAILED, PASSED, NOT_TESTED };

/* Counts a check and tells of it: one text line, or one object. `why`: the reason, or empty. */
static void tell(struct selftest *t, const char *check, const char *where, enum outcome outcome,
                 double seconds, const char *why)
{
    static const char *const names[] = {"failed", "passed", "not tested"};
    t->failed += outcome == FAILED;
    t->passed += outcome == PASSED;
    if (t->json) {
        json_put_object(t->json, NULL);
        json_put_string(t->json, "check", check);
        json_put_string(t->json, "where", where);
        json_put_string(t->json, "outcome", names[outcome]);
        if (*why)
            json_put_string(t->json, "why", why);
        if (outcome != NOT_TESTED)
            json_put_number(t->json, "seconds", seconds);
        json_end(t->json);
    } else if (outcome == FAILED || !t->quiet) {
        if (outcome == NOT_TESTED)
            fprintf(t->stream, "not tested: %s, %s: %s\n", check, where, why);
        else
            fprintf(t->stream, "%s  %-34s %-18s %7.3f s%s%s\n", outcome == PASSED ? "PASS" : "FAIL",
                    check, where, seconds, *why ? ": " : "", why);
        fflush(t->stream);
    }
}

/* Runs the checks that are `wanted`, and tells of them on the rank that compares. An error ends
 * them on ranks that work together; otherwise the next check follows, and *error is that of the
 * last one. */
static enum status run_checks(struct selftest *t, const struct selftest_place *p, unsigned wanted,
                              const char *where, struct error *error)
{
    for (int i = 0; i < CHECKS; i++) {
        const double start = clock_now();
        struct verdict f = {.shown = t->verbose ? t->stream : NULL};
        const char *wrong = f.wrong, *left_out = f.left_out;
        if (!(checks[i].where & wanted))
            continue;
        *error = (struct error){0};
        if (!p->folder && (checks[i].where & FILES))
            left_out = "the hosts share no temporary folder; TMPDIR can name one";
        else
            checks[i].run(p, checks[i].which, &f, error);
        if (error->status != STATUS_OK)
            wrong = error->message[0] ? error->message : "another rank has failed";
        else if (f.compared == 0)
            wrong = "nothing was compared";
        if (place_compares(p) && error->status == STATUS_OK && *left_out)
            tell(t, checks[i].name, where, NOT_TESTED, 0, left_out);
        else if (place_compares(p))
            tell(t, checks[i].name, where, *wrong ? FAILED : PASSED, clock_now() - start, wrong);
        if (place_compares(p) && error->status == STATUS_MEMORY)
            error_set(&t->lack, error->status, "%s", error->message);
        if (error->status != STATUS_OK && p->comm && p->comm->size > 1)
            return error->status;
    }
    return error->status;
}

void selftest_run_files(struct selftest *t)
{
    struct error error = {0};
    run_checks(t, &(struct selftest_place){.folder = t->folder}, NO_BACKEND, "host", &error);
}

void selftest_run_alone(struct selftest *t, const struct backend_kind *kind, int device,
                        const char *where)
{
    struct error error = {0};
    struct selftest_place place = {
        .kind = kind, .device = device, .comm = comm_self(&error), .folder = t->folder};
    if (!place.comm) {
        error_set(&t->lack, error.status, "%s", error.message);
        return;
    }
    run_checks(t, &place, kind->devices ? ALONE | DEVICE : ALONE, where, &error);
    comm_finalize(place.comm);
}

enum status selftest_run_rank(struct selftest *t, const struct selftest_place *p, const char *where,
                              struct error *error)
{
    return run_checks(t, p, TOGETHER, where, error);
}

/* What the ranks of a team share. */
struct team {
    struct selftest *t;
    const struct backend_kind *kind;
    const int *device;
    const char *where;
    uint64_t host_memory; /* of each rank */
    struct ktensor model;
};

static enum status run_rank(struct comm *c, void *context, struct error *error)
{
    struct team *team = context;
    struct selftest_place place = {.kind = team->kind,
                                   .device = team->kind->devices ? team->device[c->rank] : 0,
                                   .host_memory = team->host_memory,
                                   .comm = c,
                                   .shared = &team->model,
                                   .folder = team->t->folder};
    if (team->kind->meet)
        TRY_OR(done, team->kind->meet(&place.devices, c, place.device, error));
    selftest_run_rank(team->t, &place, team->where, error);
done:
    if (place.devices)
        team->kind->leave(place.devices);
    return error->status;
}

void selftest_run_team(struct selftest *t, const struct backend_kind *kind, int ranks,
                       const int *device, const char *where)
{
    const int failed = t->failed;
    struct error error = {0};
    struct team team = {.t = t,
                        .kind = kind,
                        .device = device,
                        .where = where,
                        .host_memory = machine_memory_budget(0) / (uint64_t)ranks};
    const double start = clock_now();
    if (comm_run_team(ranks, run_rank, &team, &error) != STATUS_OK && t->failed == failed)
        tell(t, "ranks meet", where, FAILED, clock_now() - start, error.message);
    ktensor_free(&team.model);
}

enum status selftest_verdict(const struct selftest *t, struct error *error)
{
    const int run = t->passed + t->failed;
    if (run == 0)
        return error_set(error, STATUS_INTERNAL, "no check was run");
    if (t->lack.status != STATUS_OK)
        return error_set(error, t->lack.status, "%d of %d checks failed; %s", t->failed, run,
                         t->lack.message);
    if (t->failed > 0)
        return error_set(error, STATUS_INTERNAL, "%d of %d checks failed", t->failed, run);
    return STATUS_OK;
}
