/* Reads and writes the files of a model, which appear all or not at all. Implemented in
 * ktensor_read.c and ktensor_write.c. */
#pragma once

#include <stdbool.h>

#include "base/outfile_set.h"
#include "formats/ktensor/ktensor_formats.h"
#include "formats/ktensor/model_facts.h"
#include "model/ktensor.h"

/* Writes the model, whose rows may have to be brought, in every format of the set `formats`, and
 * its names (NULL: none) to maps beside them (labels.h), and *facts, if they are known, to
 * STEM.model.json (NULL: none), as files of the stem that is locked
 * (outfile_set_lock). A map that is there with the same text stays as it is (ktensor_check_maps).
 * Text has the fewest digits that read back to the same number. The files replace all files of an
 * older model of the stem together (outfile_set.h): those of the same names, of other formats and
 * of more modes; on failure none is left, and older files are untouched. *files receives the names
 * in the order of writing; the caller frees *files with ktensor_files_free, after a failure too.
 * STATUS_OUTPUT, STATUS_MEMORY, and errors of bringing rows. */
enum status ktensor_write(const struct ktensor_source *model, const struct labels *names,
                          const struct model_facts *facts, struct stem_lock *lock, unsigned formats,
                          struct ktensor_files *files, struct error *error);

/* Checks that no maps of the stem have to be replaced but those of an older model, which has
 * STEM.modes.map: those of a tensor of the stem, STEM.blco, STEM.tns or STEM.tns.gz, stay, and must
 * have these names; those of the user stay, too. STATUS_OUTPUT, STATUS_MEMORY. */
enum status ktensor_check_maps(const char *stem, const struct labels *names, struct error *error);

/* Bytes that the text files among the formats will take, estimated from some of the numbers. */
uint64_t ktensor_text_bytes(const struct ktensor *k, unsigned formats);

/* Checks, before a long computation, that the files of a model can be written and those of an older
 * model be taken away, whatever their order: the folder exists, a file can be made there, and what
 * has one of the names is a file that may be written. STATUS_OUTPUT with the reason, STATUS_MEMORY.
 */
enum status ktensor_writable(const char *stem, unsigned formats, struct error *error);

/* Checks that all files of a model of this order can be open at the same time, as for writing.
 * STATUS_OUTPUT with the reason, STATUS_MEMORY. */
enum status ktensor_openable(const char *stem, int order, unsigned formats, struct error *error);

/* A model and what is beside it. */
struct named_model {
    const char *stem; /* as given, borrowed */
    struct ktensor k;
    struct labels names;
    struct model_facts facts;
};

/* Reads the model m->stem, whole: where a run was killed while it replaced the files, all old ones
 * or all new ones (outfile_set_find). Reads STEM.ktns, else STEM.mode1.npy ..., else STEM.mode1.mat
 * ...; files of several formats must agree in shape, weights and the first row of each mode, and
 * there may be none of further modes. A stem that names a file (ktensor_file_format) is read as
 * that file alone. lambda is all one if it has no file. With it reads what is beside it
 * (model_facts_read), all as one run has written it. m->names may have the files of --labels, and
 * says whether others are looked for. Where `needed` (MAX_ORDER) is not NULL and the matrices have
 * a file each, all but those of the modes `needed` may be missing: a missing mode has length 0 in
 * m->k, whose order is the number of the last mode with a file. The caller frees *m with
 * named_model_free, after a failure too. STATUS_INPUT, with file and text line in the message;
 * STATUS_MEMORY. */
enum status named_model_read(struct named_model *m, const bool *needed, struct error *error);

/* Leaves m->k the components that are no means (model_facts_means), for what looks at components;
 * values need all. To be called once. STATUS_MEMORY. */
enum status named_model_drop_means(struct named_model *m, struct error *error);

/* Accepts an empty one. */
void named_model_free(struct named_model *m);

/* text (size) = the stems of the models that a range of ranks has left, ascending: of x as "x.r2,
 * x.r3 and x.r5", the first eight of many; empty where there are none, or the folder cannot be
 * read. Returns text. */
const char *stem_ranks(const char *stem, char *text, size_t size);
