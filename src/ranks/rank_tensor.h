/* The tensor that several ranks work on: each rank has the nonzeros of its part of the grid, and
 * none ever has the whole. */
#ifndef BLCO_RANK_TENSOR_H
#define BLCO_RANK_TENSOR_H

#include "base/progress.h"
#include "comm/comm.h"
#include "formats/blco/blco_file.h"
#include "formats/tns/tns_options.h"
#include "plan/rank_rates.h"

/* How the tensor is to be split. */
struct rank_request {
    int modes;            /* how many numbers of `parts` the user gives; 0: a grid is chosen */
    int parts[MAX_ORDER]; /* (modes) the number of ranges of each mode                       */
    uint64_t row_bytes;   /* of a factor matrix's row                                        */
    struct rank_machine machine;
    bool packed; /* the nonzeros of a .blco file stay unread, for a backend that takes its part
                  * from the file                                                               */
};

struct rank_tensor {
    struct shape shape; /* of the whole tensor                                                   */
    uint64_t nnz;       /* of all ranks, after cleaning                                          */
    struct process_grid grid; /* the same on all ranks; owned                                    */
    struct grid_cost cost;
    struct part part; /* this rank's                                                             */
    struct coo x;     /* its nonzeros, distinct and without zeros, perhaps none; indices count from
                       * the first row of the part, a mode without rows has length 1; owned      */
    bool unread;      /* x has only the shape and about the number of its nonzeros; they are in
                       * the file                                                                */
    struct blco_file file;   /* the whole tensor; open while `unread`; owned                     */
    double read_seconds;     /* until every rank had its share of the file                       */
    double exchange_seconds; /* counting, choosing the grid, sending the nonzeros                */
    double clean_seconds;
};

/* Every rank of c, whose number is at most MAX_RANKS, reads a share of the tensor at `path`, the
 * ranks choose a grid after *request, and each gets the nonzeros of its part, cleaned, unless they
 * stay unread; the sums of duplicates have the bits that tensor_input gives them. By all OpenMP
 * threads of each rank. Rank 0 tells the user what tensor_input_open and tensor_input_read tell;
 * progress of the others is NULL. The caller closes *t, which is empty on failure. Every rank fails
 * where one does, with the same status and message, or "rank 3: ..." before the message where
 * memory ran out within an operation of c. STATUS_INPUT, also if no nonzero is left; STATUS_MEMORY.
 */
enum status rank_tensor_open(struct rank_tensor *t, struct comm *c, const char *path,
                             const struct tns_options *options, const struct rank_request *request,
                             struct progress *progress, struct error *error);

/* Reads and exchanges the nonzeros of a tensor that is unread, on the grid that it has. Every rank
 * of c calls this. Errors as rank_tensor_open, after which *t is empty. */
enum status rank_tensor_read(struct rank_tensor *t, struct comm *c, struct progress *progress,
                             struct error *error);

/* rank_tensor_open for ranks that are threads of one process, from a clean tensor in its memory,
 * which is only read; not needed afterwards. */
enum status rank_tensor_share(struct rank_tensor *t, struct comm *c, const struct coo *x,
                              const struct rank_request *request, struct error *error);

/* Frees the nonzeros, or closes their file; grid and part stay. */
void rank_tensor_free_nonzeros(struct rank_tensor *t);

/* Accepts an empty one. */
void rank_tensor_close(struct rank_tensor *t);

#endif
