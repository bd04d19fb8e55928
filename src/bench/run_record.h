/* What a JSON record of a run says about the program, the machine and the surroundings, so that its
 * numbers can be told apart from those of other runs. Of the environment only what changes how fast
 * a run is. */
#ifndef BLCO_RUN_RECORD_H
#define BLCO_RUN_RECORD_H

#include "backend/backend.h"
#include "base/json.h"

/* Members of the present object: date, command line, version, commit, compiler, backend, the device
 * of this number, processor, threads, environment. */
enum status run_record_machine(struct json *j, int argc, char *const *argv,
                               const struct backend_kind *kind, int device, int threads,
                               struct error *error);

/* The model name of the machine's processors into name[0..size); "unknown" where it is not told. */
void run_record_processor(char *name, size_t size);

#endif
