/* What `blco info` finds out of a tensor file, and how it is printed as JSON. Implemented in
 * info_json.c. */
#ifndef BLCO_INFO_FINDINGS_H
#define BLCO_INFO_FINDINGS_H

#include "commands/info_ranks.h"
#include "formats/names/labels.h"
#include "formats/tensor_file.h"
#include "tensor/coo_statistics.h"

struct info_findings {
    struct coo x; /* of a .blco file only order, lengths and nnz; owned */
    enum tensor_format format;
    struct tensor_report report; /* of text and of NumPy arrays                   */
    struct tensor_names names;   /* of CSV; owned                                 */
    struct labels labels;        /* names of modes, and the maps beside the file; owned          */
    struct coo_listed listed;    /* what is listed besides nonzeros               */
    uint64_t file_bytes;         /* of a .blco file, of NumPy arrays without headers */
    struct plan_tensor tensor;   /* what the plan needs to know                   */
    uint64_t entries;            /* of the file, duplicates and zeros included    */
    uint64_t memory;             /* bytes of host memory to use for the statistics */
    struct coo_statistics statistics;
    const struct backend_kind *kind;
    struct plan plan;         /* of the tensor, or of a rank's part of the tensor */
    struct cmd_ranks wanted;  /* wanted.ranks 0: nothing about ranks is wanted    */
    struct coo_census census; /* where ranks are wanted; owned                    */
    struct info_ranks ranks;  /* likewise                                         */
};

/* Zeros that the file lists: those that cleaning drops from text, those that a .blco file keeps. */
uint64_t info_zeros(const struct info_findings *f);

/* Entries that are left, without unknown entries and zeros. */
uint64_t info_nonzeros(const struct info_findings *f);

/* Prints it as one JSON object, which blco-info(1) describes; `path` names the tensor.
 * STATUS_MEMORY.
 */
enum status info_print_json(const struct info_findings *f, const char *path, struct error *error);

#endif
