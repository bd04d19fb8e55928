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

/* `outcome`: passed, failed or not tested. `why`: the reason, or empty. */
static void put(struct json *j, const char *check, const char *where, const char *outcome,
                const char *why)
{
    json_put_object(j, NULL);
    json_put_string(j, "check", check);
    json_put_string(j, "where", where);
    json_put_string(j, "outcome", outcome);
    if (*why)
        json_put_string(j, "why", why);
}

/* One text line, or one object. `wrong` is empty where the check has passed. */
static void tell(struct selftest *t, const char *check, const char *where, double seconds,
                 const char *wrong)
{
    *(*wrong ? &t->failed : &t->passed) += 1;
    if (t->json) {
        put(t->json, check, where, *wrong ? "failed" : "passed", wrong);
        json_put_number(t->json, "seconds", seconds);
        json_end(t->json);
        return;
    }
    if (t->quiet && !*wrong)
        return;
    fprintf(t->out, "%s  %-34s %-18s %7.3f s%s%s\n", *wrong ? "FAIL" : "PASS", check, where,
            seconds, *wrong ? ": " : "", wrong);
    fflush(t->out);
}

static void tell_left_out(const struct selftest *t, int number, const char *where, const char *why)
{
    if (t->json) {
        put(t->json, checks[number].name, where, "not tested", why);
        json_end(t->json);
    } else if (!t->quiet) {
        fprintf(t->out, "not tested: %s, %s: %s\n", checks[number].name, where, why);
    }
}

/* Runs one check, and tells of it on the rank that compares. Errors of the check. */
static enum status run_check(struct selftest *t, int number, const struct selftest_place *p,
                             const char *where, struct error *error)
{
    const double start = clock_now();
    struct verdict f = {.shown = t->verbose ? t->out : NULL};
    const char *wrong = f.wrong;
    checks[number].run(p, checks[number].which, &f, error);
    if (error->status == STATUS_OK && f.left_out[0]) {
        if (place_compares(p))
            tell_left_out(t, number, where, f.left_out);
        return STATUS_OK;
    }
    if (error->status != STATUS_OK)
        wrong = error->message[0] ? error->message : "another rank has failed";
    else if (f.compared == 0)
        wrong = "nothing was compared";
    if (place_compares(p)) {
        tell(t, checks[number].name, where, clock_now() - start, wrong);
        if (error->status == STATUS_MEMORY)
            error_set(&t->lack, error->status, "%s", error->message);
    }
    return error->status;
}

/* Runs the checks that are `wanted`. An error ends them on ranks that work together; otherwise the
 * next check follows, and *error is that of the last one. */
static enum status run_checks(struct selftest *t, const struct selftest_place *p, unsigned wanted,
                              const char *where, struct error *error)
{
    for (int i = 0; i < CHECKS; i++) {
        if (!(checks[i].where & wanted))
            continue;
        if (!p->folder && (checks[i].where & FILES)) {
            if (place_compares(p))
                tell_left_out(t, i, where,
                              "the hosts share no temporary folder; TMPDIR can name one");
            continue;
        }
        *error = (struct error){0};
        if (run_check(t, i, p, where, error) != STATUS_OK && p->comm && p->comm->size > 1)
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
        tell(t, "ranks meet", where, clock_now() - start, error.message);
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
