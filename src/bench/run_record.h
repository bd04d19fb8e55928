/* Writes what a JSON record says about the program, the machine and the environment, so that
 * numbers of different invocations can be told apart. Of the environment it says only the variables
 * that change how fast blco is. */
#ifndef BLCO_RUN_RECORD_H
#define BLCO_RUN_RECORD_H

#include "backend/backend.h"
#include "base/json.h"

/* Adds to the object that is open in j: date, command (argv), version, commit, compiler, backend,
 * device (the one of this number, where the backend has devices), processor, threads, environment.
 * Returns an error of j or of kind->device. */
enum status run_record_machine(struct json *j, int argc, char *const *argv,
                               const struct backend_kind *kind, int device, int threads,
                               struct error *error);

/* The model name of the machine's processors into name[0..size); "unknown" where /proc/cpuinfo does
 * not say it. */
void run_record_processor(char *name, size_t size);

#endif
