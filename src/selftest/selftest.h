/* The self-test: runs the checks where this machine can, and tells of each in one text line or JSON
 * object. */
#ifndef BLCO_SELFTEST_H
#define BLCO_SELFTEST_H

#include "base/json.h"
#include "selftest/selftest_checks.h"

struct selftest {
    FILE *out;          /* borrowed                                  */
    struct json *json;  /* an array is open in it, and takes each check; NULL: text; borrowed */
    bool quiet;         /* tell of checks that fail only             */
    bool verbose;       /* show each answer, too                     */
    const char *folder; /* for files; NULL: checks that need one are left out; borrowed */
    int passed, failed; /* checks so far; of several processes those of rank 0 */
    struct error lack;  /* the first error of a check for which memory was short */
};

/* Each of these runs the checks that fit, and counts and tells them; `where` names the place. */

/* What needs no backend. */
void selftest_run_files(struct selftest *t);

/* On one device, or on the host. */
void selftest_run_alone(struct selftest *t, const struct backend_kind *kind, int device,
                        const char *where);

/* On ranks that are threads of this process, rank k on device[k] (ranks) where there are devices.
 */
void selftest_run_team(struct selftest *t, const struct backend_kind *kind, int ranks,
                       const int *device, const char *where);

/* On the ranks of c, which are processes, each of which calls this; rank 0 tells. `devices` as of
 * struct rank_rows. A check that ends with an error ends the checks: STATUS and message are
 * those of the error. */
enum status selftest_run_processes(struct selftest *t, const struct backend_kind *kind,
                                   struct comm *c, int device, struct device_comm *devices,
                                   uint64_t host_memory, const char *where, struct error *error);

/* STATUS_INTERNAL where a check has failed, or where none was run; STATUS_MEMORY where a check
 * found no memory. */
enum status selftest_verdict(const struct selftest *t, struct error *error);

#endif
