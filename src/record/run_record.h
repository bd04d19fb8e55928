/* Writes the parts that the JSON records of all commands have in common: program, machine,
 * environment, tensor, options, and what was built. They tell apart the numbers of different
 * invocations. Only those variables of the environment are recorded that change how fast blco is.
 * Failures stay in the struct json. */
#pragma once

#include "backend/backend.h"
#include "base/json.h"
#include "base/outfile.h"
#include "tensor/mode_names.h"

/* Adds to the object that is open in j: record (what it is a record of), date, command ("blco"
 * and argv, which NULL ends), version and commit. */
void run_record_program(struct json *j, const char *writer, char *const *argv);

/* Adds what run_record_program adds, and compiler, backend, device (number `device`, if the backend
 * has devices), processor, threads, environment. Returns an error of j or of kind->device. */
enum status run_record_machine(struct json *j, const char *writer, char *const *argv,
                               const struct backend_kind *kind, int device, int threads);

/* Adds the object tensor: name, order, lengths, nonzeros; where `hash` (fingerprint_hash) is not
 * NULL, fingerprint: the hash as 16 hexadecimal digits; where `modes` is not NULL and has names,
 * modes. */
void run_record_tensor(struct json *j, const char *name, const struct shape *shape, uint64_t nnz,
                       const uint64_t *hash, const struct mode_names *modes);

/* Adds to the object that is open in j: rank, precision, conflict, sharing, memory, host_memory. */
void run_record_options(struct json *j, const struct backend_options *options);

/* Adds an array of texts. */
void run_record_texts(struct json *j, const char *name, char *const *text, int count);

/* Adds an array: the modes n + 1, n < order, for which flag[n] is true. */
void run_record_modes(struct json *j, const char *name, const bool *flag, int order);

/* Adds to the object that is open in j how the tensor was stored: conflict, groups (the first mode,
 * from 1, of each mode group), streamed, and of a streamed tensor batch_nonzeros, host_bytes and
 * resident_bytes. */
void run_record_built(struct json *j, const struct backend_built *built);

/* Writes the document to *file, which is open, and gives the file its name; frees the document.
 * STATUS_OUTPUT, and errors of j. */
enum status run_record_write(struct json *j, struct outfile *file, struct error *error);

/* name[0..size) = the model name of the machine's processors, from /proc/cpuinfo, or "unknown". */
void run_record_processor(char *name, size_t size);
