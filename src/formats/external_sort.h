/* Sorts entries into alto order, cleans them as coo_clean does, and passes them to a .blco file:
 * more of them than memory holds are sorted in runs on disk, which are then merged. */
#ifndef BLCO_EXTERNAL_SORT_H
#define BLCO_EXTERNAL_SORT_H

#include "base/outfile.h"
#include "base/progress.h"
#include "formats/blco/blco_writer.h"
#include "tensor/coo.h"

/* Bytes that sorting takes for an entry, beside the entry itself. */
#define EXTERNAL_SORT_OVERHEAD 32

struct external_sort_spill_file {
    uint64_t offset; /* in the file                             */
    uint64_t count;
    uint64_t read; /* of them, while runs are merged          */
};

struct external_sort {
    struct outfile file;                  /* without a name; fd -1 before the first run  */
    uint64_t bytes;                       /* in it                                       */
    struct external_sort_spill_file *run; /* (count); owned                              */
    uint64_t count;
};

/* Nothing yet. */
void external_sort_init(struct external_sort *r);

/* Writes the entries of *part, which follow on those before, as a run, to a file without a name in
 * the folder of `path`. The part is left as it was. STATUS_OUTPUT, STATUS_MEMORY. */
enum status external_sort_spill(struct external_sort *r, const char *path, const struct coo *part,
                                struct error *error);

struct external_sort_report {
    struct coo_cleaning cleaning;
    uint64_t nnz, bytes; /* of the file */
};

/* Writes the .blco file `path` from the runs and `last`, which follows on them in file order, whose
 * lengths are the tensor's, and which is freed. Entries with the same coordinates are summed in
 * file order, zeros and sums that are zero dropped, and both are counted. Takes `memory` bytes (and
 * some for each thread), more only where more entries with equal coordinates are to be summed. The
 * file does not depend on how the entries are spread over runs, nor on memory and threads. */
enum status external_sort_write(struct external_sort *r, struct coo *last, const char *path,
                                uint64_t memory, struct external_sort_report *report,
                                struct progress *progress, struct error *error);

/* Accepts an empty one. */
void external_sort_free(struct external_sort *r);

#endif
