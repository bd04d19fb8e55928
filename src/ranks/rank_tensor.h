/* The tensor that ranks decompose: each rank has the nonzeros of its part of the grid, or its share
 * of a file whose rows will be dealt. A rank alone has the whole tensor; among several, no rank
 * ever has it. */
#pragma once

#include "comm/comm.h"
#include "formats/blco/blco_file.h"
#include "formats/csv/csv_options.h"
#include "formats/names/name_table.h"
#include "formats/tns/tns_options.h"
#include "plan/plan.h"
#include "plan/rank_rates.h"
#include "ranks/holdout_places.h"
#include "ranks/rank_rows.h"
#include "tensor/fingerprint.h"
#include "tensor/value_change.h"

/* Where the tensor is, and how it is to be split. */
struct rank_request {
    const char *path;              /* "-": text from standard input; outlives the tensor     */
    const struct tns_options *tns; /* borrowed                                               */
    const struct csv_options *csv; /* borrowed; NULL: no CSV is read                         */
    struct value_rule values;      /* what becomes of the values, once they are cleaned      */
    int modes;            /* how many numbers of `parts` the user gives; 0: a grid is chosen */
    int parts[MAX_ORDER]; /* (modes) the number of ranges of each mode                       */
    uint64_t row_bytes;   /* of a factor matrix's row                                        */
    struct rank_machine machine;
    bool by_rows; /* the problem gives each row a system of its own; unknown entries do so, too */
    bool cells;   /* each cell must be in one rank's part, as held-out entries are drawn      */
    bool packed;  /* the nonzeros of a .blco file stay unread, for a backend that takes its part
                   * from the file                                                            */
    bool hashed;  /* rank_tensor_fingerprint will be called */
};

/* The nonzeros that a rank works on: text is read and cleaned when the tensor is opened, the
 * nonzeros of a .blco file when they are needed. */
struct tensor_input {
    struct coo x;              /* shape and nnz; the arrays once the nonzeros are read */
    struct blco_file file;     /* open until the nonzeros are read from it             */
    bool unread;               /* the nonzeros are still in the file                   */
    struct tensor_names names; /* of CSV; of a .blco file those of the modes; owned    */
    double read_seconds, clean_seconds;
};

/* Entries that a run holds out: in the tensor that it decomposes they are unknown. Those of this
 * rank: held-out entries of the file, then as many entries that it does not list and
 * that are unknown in the tensor too. Indices are rows that the rank has. All zero: none. */
struct holdout_set {
    struct coo x;    /* with the values of the file, 0 for an entry that it does not list; owned */
    uint64_t listed; /* how many of x are listed                                                 */
    uint64_t all_listed, all_unlisted; /* of all ranks                                           */
    int exponent; /* all values are below 2^exponent in magnitude                              */
    struct holdout_places places; /* where entries that are not listed are held out, too */
};

struct rank_tensor {
    struct comm *comm;  /* of the ranks; borrowed                                               */
    struct shape shape; /* of the whole tensor                                                  */
    uint64_t nnz;       /* of all ranks, after cleaning                                         */
    struct coo_listed listed; /* what all ranks list besides nonzeros                           */
    struct process_grid grid; /* the same on all ranks; owned                                   */
    struct grid_cost cost;
    uint64_t row_bytes;    /* of the request                                                    */
    struct part part;      /* this rank's ranges                                                */
    bool has_share;        /* the rank keeps its share, because it is alone or because rows will be
                            * dealt: `part` is the whole, and the grid cuts no mode                     */
    struct rank_rows rows; /* the rows that it has                                              */
    struct tensor_input input; /* this rank's nonzeros, distinct and without zeros, perhaps none;
                                * indices count from the first row of the part, a mode without
                                * rows has length 1. While it is unread, the file has the whole
                                * tensor                                                        */
    struct holdout_set holdout_set; /* the entries that are held out; owned */
    bool estimated; /* input.x.nnz is an estimate                                              */
    bool borrowed;  /* the arrays of input.x are the caller's                                   */
    bool hashed;    /* rank_tensor_fingerprint needs `hash`, which is not computed yet        */
    uint64_t hash;  /* of this rank's nonzeros                                         */
    double exchange_seconds; /* counting, choosing the grid, sending the nonzeros, dividing the
                              * rows                                                           */
};

/* Every rank of c, whose number is at most MAX_RANKS, reads a share of the tensor at request->path,
 * the ranks choose a grid after *request, and each gets the nonzeros of its part, cleaned, unless
 * they stay unread, as those of a .blco file do for a rank alone; the sums of duplicates have the
 * same bits for any number of ranks. By all OpenMP threads of each rank. Rank 0 shows the progress,
 * and how many duplicates were summed and zeros dropped; the other ranks give NULL for progress.
 * The caller closes *t, which is empty on failure. If one rank fails, all do, with the same status
 * and message, or "rank 3: ..." before the message where memory ran out within an operation of c.
 * STATUS_INPUT, also if no nonzero is left; STATUS_MEMORY.
 */
enum status rank_tensor_open(struct rank_tensor *t, struct comm *c,
                             const struct rank_request *request, struct progress *progress,
                             struct error *error);

/* Reads and exchanges the nonzeros of a tensor that is unread, on the grid that it has. Every rank
 * calls this. Errors as rank_tensor_open, after which *t is empty. */
enum status rank_tensor_read(struct rank_tensor *t, struct progress *progress, struct error *error);

/* rank_tensor_open for ranks that are threads of one process, from a clean tensor in its memory,
 * which is only read. For a rank alone, the arrays of x must outlive *t, and request may be NULL.
 */
enum status rank_tensor_share(struct rank_tensor *t, struct comm *c, const struct coo *x,
                              const struct rank_request *request, struct error *error);

/* Divides the rows among the ranks, or deals them where each row has a system of its own
 * (`by_rows`), and renumbers the nonzeros, which must have been read. Does nothing the second time;
 * a tensor serves either kind of problem. Every rank calls it. Errors as rank_rows_divide. */
enum status rank_tensor_divide_rows(struct rank_tensor *t, bool by_rows, struct error *error);

/* The arrays of a tensor in the caller's memory become the rank's own, which may be changed.
 * STATUS_MEMORY. */
enum status rank_tensor_own_arrays(struct rank_tensor *t, struct error *error);

/* Computes t->hash while the nonzeros are as they were read, if that is still to be done. */
void rank_tensor_take_hash(struct rank_tensor *t);

/* The tensor of this rank as a plan sees it; `by_rows`: its rows will be dealt, if they are not
 * yet.
 */
struct plan_tensor rank_tensor_for_plan(const struct rank_tensor *t, bool by_rows);

/* The tensor of an open .blco file as a plan for one rank sees it. */
struct plan_tensor file_for_plan(const struct blco_file *file);

/* Frees the nonzeros, or closes their file; grid, part and rows stay. */
void rank_tensor_free_nonzeros(struct rank_tensor *t);

/* Accepts an empty one. */
void rank_tensor_close(struct rank_tensor *t);

/* *f = the fingerprint of the whole tensor, read or unread, which was opened with `hashed`. It is
 * the same on all ranks and for any number of ranks. Every rank calls this. STATUS_MEMORY, and
 * failures of other ranks. */
enum status rank_tensor_fingerprint(struct fingerprint *f, const struct rank_tensor *t,
                                    struct error *error);

/* How many entries of a tensor are known, and in how many slices, of all ranks. */
struct known_rows {
    uint64_t entries;         /* listed ones whose value is known                             */
    uint64_t rows[MAX_ORDER]; /* of each mode: slices, or rows of its factor matrix, that have such
                               * an entry                                                     */
    uint64_t unknown[MAX_ORDER]; /* slices that list entries, none of them known              */
    uint64_t first[MAX_ORDER];   /* (from 0) the first of `unknown`, or, where `all` slices without
                                  * a known entry are looked for, the first of these; NO_ROW where
                                  * there is none                                             */
};

/* Counts them in a tensor that has been read and whose rows are divided. Every rank calls it.
 * STATUS_MEMORY; failures of other ranks. */
enum status rank_tensor_count_known(struct known_rows *k, const struct rank_tensor *t, bool all,
                                    struct error *error);

/* Bytes of so many held-out entries, with room for the values of a model. */
uint64_t holdout_set_bytes(int order, uint64_t count);

/* Accepts an empty one. */
void holdout_set_free(struct holdout_set *set);
