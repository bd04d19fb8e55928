/* The self-test: runs the checks that this machine can run, and writes a text line or a JSON object
 * for each. */
#pragma once

#include "base/json.h"
#include "selftest/selftest_checks.h"

struct selftest {
    FILE *stream;       /* borrowed                                  */
    struct json *json;  /* an array is open in it, and takes each check; NULL: text; borrowed */
    bool quiet;         /* tell only of checks that fail             */
    bool verbose;       /* show each answer, too                     */
    const char *folder; /* for files; NULL: checks that need one are left out; borrowed */
    int passed, failed; /* checks so far, as rank 0 counts them */
    struct error lack;  /* the first error of a check for which memory was short */
};

/* Each of these runs, counts and tells the checks of one place, which `where` names. */

/* The checks that need no backend. */
void selftest_run_files(struct selftest *t);

/* On one device, or on the host. */
void selftest_run_alone(struct selftest *t, const struct backend_kind *kind, int device,
                        const char *where);

/* On ranks that are threads of this process, rank k on device[k] (ranks) where there are devices.
 */
void selftest_run_team(struct selftest *t, const struct backend_kind *kind, int ranks,
                       const int *device, const char *where);

/* On the ranks of p->comm, each of which calls this; rank 0 tells. A check that ends with an error
 * ends the checks, and *error is its error. */
enum status selftest_run_rank(struct selftest *t, const struct selftest_place *p, const char *where,
                              struct error *error);

/* STATUS_INTERNAL where a check has failed, or where none was run; STATUS_MEMORY where a check
 * found no memory. */
enum status selftest_verdict(const struct selftest *t, struct error *error);
