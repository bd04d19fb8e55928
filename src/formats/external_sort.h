/* Sorts entries into alto order, cleans them as coo_clean() does, and writes them to a .blco file.
 * Entries that memory does not hold are sorted piece by piece, spilled to a file on disk, and
 * merged (external merge sort). */
#pragma once

#include "base/outfile.h"
#include "base/progress.h"
#include "formats/blco/blco_writer.h"
#include "tensor/coo.h"

/* Bytes that sorting takes for an entry, in addition to the entry. */
#define EXTERNAL_SORT_OVERHEAD 32

/* A sorted piece in the spill file: its arrays of indices, one mode after the other, then its
 * values. */
struct spill {
    uint64_t offset; /* in the spill file, bytes         */
    uint64_t count;  /* entries                          */
    uint64_t read;   /* entries read so far, for merging */
};

struct external_sort {
    const char *path; /* of the .blco file; borrowed                                           */
    uint64_t memory;  /* bytes that writing it may take, and some for each thread besides      */
    enum coo_zeros zeros; /* COO_DROP_ZEROS until the caller sets it                           */
    struct progress *progress;      /* may be NULL */
    const struct mode_names *modes; /* their names, or NULL until the caller sets them; borrowed */
    struct coo_cleaning cleaned;    /* what was cleaned before the entries came here           */
    struct outfile file; /* of the spills, one after the other in input order; without a name; fd -1
                          * before the first one */
    uint64_t bytes;      /* in that file                                                       */
    struct spill *spill; /* (spills); owned                                                    */
    uint64_t spills;
};

/* Begins a sort without spills for the .blco file `path`, which outlives *s. */
void external_sort_init(struct external_sort *s, const char *path, uint64_t memory,
                        struct progress *progress);

/* Sorts the entries of *piece, which follow those of earlier pieces, and writes them to the spill
 * file, a file without a name in the folder of s->path. *piece stays as it is. STATUS_OUTPUT,
 * STATUS_MEMORY. */
enum status external_sort_spill(struct external_sort *s, const struct coo *piece,
                                struct error *error);

struct external_sort_report {
    struct coo_cleaning cleaning;
    uint64_t nnz, bytes; /* of the .blco file */
};

/* Writes the .blco file from the spills and *last, the entries that follow them in input order.
 * *last has the lengths of the tensor and is freed. Entries with the same coordinates are summed in
 * input order; zeros and sums that are zero are dropped unless s->zeros keeps them; duplicates and
 * dropped zeros are counted, the latter in the file too. The file does not depend on the cut into
 * pieces, the memory or the number of threads. STATUS_INPUT as from coo_overflow, STATUS_OUTPUT,
 * STATUS_MEMORY. */
enum status external_sort_write(struct external_sort *s, struct coo *last,
                                struct external_sort_report *report, struct error *error);

/* Deletes the spill file. Accepts an empty *s. */
void external_sort_free(struct external_sort *s);
