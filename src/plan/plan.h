/* The memory plan: which orderings of the tensor are built, where they stay, and the conflict
 * resolution of each mode, all decided before anything is built. plan_make serves every backend. A
 * request says what the user wants and what the machine has; a plan is the decision and never
 * changes; struct backend_built says what was built after all. Implemented in plan.c
 * and plan_describe.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "numerics/precision.h"
#include "plan/conflict.h"
#include "plan/mode_groups.h"
#include "tensor/shape.h"

/* What a plan needs to know of a tensor. */
struct plan_tensor {
    struct shape shape;
    uint64_t nnz;
    uint64_t unknown; /* entries of the whole tensor whose value nobody knows; in nnz too     */
    uint64_t holdout_entries; /* held-out ones beside these (struct holdout_set)              */
    uint64_t alto_bytes;  /* bytes of all segments of its .blco file; 0: not known                */
    uint64_t segment_nnz; /* nonzeros in a segment of that file; 0: there is no file              */
    bool is_part;         /* the part of one of several ranks, which exchange rows of the factors */
};

/* What benchmarks and tests decide in place of the plan; all zero for others. */
struct plan_forced {
    bool one_copy;         /* conflict resolution auto: alto alone, no orderings `mode n`     */
    bool replicas_at_once; /* streamed: orderings `mode n` are built when a mode is asked for
                            * the second time, whether they pay or not                        */
    uint64_t batch_nnz;    /* streamed: nonzeros of a batch; 0: as many as pay                */
    bool streamed;         /* the tensor is streamed even where memory has room for it        */
    int tiles;             /* on a GPU: so many modes in tiles of four rows (tile_choice.h) even if
                            * they do not pay                                                 */
    int cache_tiles;       /* on a GPU: the mode, from 1, of which the other modes' orderings have
                            * tiles of the L2 cache (tile_choice.h) even if they do not pay;
                            * -1: none have; 0: where they pay                                */
    uint64_t cache_bytes;  /* of the L2 cache, in place of the GPU's                          */
};

struct plan_request {
    struct plan_tensor tensor;

    /* What the user wants. */
    uint64_t rank;
    enum precision precision;
    enum conflict conflict;   /* of all modes, or auto                         */
    bool group;               /* modes may be grouped (mode_groups.h)          */
    uint64_t iterations;      /* of ALS, at most; 0: not known                 */
    bool momentum;            /* sweeps may be extrapolated                    */
    bool previous[MAX_ORDER]; /* [n]: momentum keeps the previous factor matrix of mode n */

    /* What the machine has. */
    uint64_t row_bytes;   /* bytes of a factor matrix's row, padding included                    */
    uint64_t sent_bytes;  /* bytes of a row in the array, as long as the longest mode, from which
                           * rows go to other ranks; 0: they go from the factor matrices         */
    uint64_t slice_bytes; /* bytes of an ordering `mode n` that is kept as slices; 0: orderings are
                           * kept as indices and values                                          */
    bool narrow; /* slices may have 16-bit coordinates and floats as values, where they are exact */
    uint64_t nonzero_bytes; /* bytes of the nonzeros' own arrays, which stay beside the orderings
                             * until all are built; 0: they are not where MTTKRP runs            */
    bool spends;           /* the nonzeros are freed as soon as the orderings can do without them */
    uint64_t model_bytes;  /* bytes of models that the caller keeps where MTTKRP runs             */
    uint64_t system_bytes; /* bytes of the systems of rows that are worked on at a time           */
    uint64_t flow_system_bytes;  /* the same where the tensor is streamed, with tables ...       */
    uint64_t batch_system_bytes; /* ... and in addition for each batch of an ordering            */
    uint64_t budget;       /* bytes that may be used where MTTKRP runs, factors included          */
    uint64_t copies;       /* number of copies of M for `hierarchical`, at most                   */
    uint64_t waiting_rows; /* rows of sums that wait to be added to M, for `register`            */
    uint64_t short_mode;   /* modes shorter than this are `hierarchical` on alto; in memory, only
                            * those for whose copies there is room                               */
    bool tiles;            /* a GPU's shared memory holds a tile (tile_choice.h)                  */
    uint64_t cache_bytes;  /* of a GPU's L2 cache (tile_choice.h); 0: it is not counted     */
    bool can_stream;       /* the backend has memory of its own, to which batches can flow        */
    bool must_stream;      /* there is no room to build orderings on the device, or to unpack a file
                            * on the host                                                         */
    uint64_t host_budget;  /* bytes of host memory that may be used; counts where can_stream      */

    struct plan_forced forced;
};

/* Fields whose names end in _bytes count bytes. */
struct plan {
    struct plan_request request;
    enum conflict conflict[MAX_ORDER]; /* [n]: of mode n                                    */
    bool alto;                         /* an alto ordering is built                         */
    int replicas;                      /* number of orderings `mode n` that are built       */
    uint64_t tensor_bytes;             /* of one ordering, not packed, at most              */
    uint64_t factor_bytes;             /* factors, previous ones, M, rows to send, Grams     */
    uint64_t copy_bytes;               /* of the largest set of copies for `hierarchical`, or of
                                        * what waits for `register`                         */
    uint64_t system_bytes;             /* of systems of rows                                */
    uint64_t building_bytes;           /* of the nonzeros, the orderings and the sorts while the
                                        * orderings are built, at their peak; 0: not counted   */
    uint64_t total_bytes;              /* of all that takes from request.budget, at its peak */
    bool fits;                         /* both budgets have room                            */

    /* Where nothing else fits: orderings are packed in host memory (packed_tensor.h), and batches
     * of them flow through slots in device memory. */
    bool streamed;
    bool sorted[MAX_ORDER];  /* [n]: batches are sorted by the rows of mode n first          */
    uint64_t batch_nnz;      /* nonzeros of a batch                                          */
    uint64_t flow_bytes;     /* of the PLAN_SLOTS slots and the PLAN_WORKSPACES workspaces   */
    bool replicate;          /* once that pays, the device builds an ordering `mode n` of every
                              * mode for which there is room                                 */
    uint64_t resident_bytes; /* for packed segments that stay on the device, and for building
                              * orderings there                                              */
    uint64_t host_bytes;     /* of the packed orderings, in host memory, at most; with
                              * `replicas`, of alto and of these, which are built from it    */
};

#define PLAN_SLOTS      3 /* of packed batches on their way to the device                         */
#define PLAN_WORKSPACES 2 /* where batches are decoded and worked on */
#define PLAN_SORT_BYTES                                                                            \
    17 /* of a nonzero of a sorted batch: row and position, twice, and 1 of the sort's own */

/* Fills *plan with the first of these that fits:
 *   orderings `mode n` of all modes;
 *   alto, and orderings `mode n` of as many modes as fit beside alto, longest modes first (short
 *   modes lose least without one);
 *   where request->can_stream: packed alto, streamed; once that pays, the device builds orderings
 *   `mode n` from it.
 * A conflict resolution that the user asked for holds for all modes; for `ordered`, the device
 * builds the orderings `mode n` of all modes from packed alto at once. If some plan fits a budget,
 * some plan fits every larger budget. Where the budget is one byte below the total_bytes of a plan,
 * the next plan takes less or does not fit. Never fails: where nothing fits, `fits` is false, and
 * the plan is the smallest one in memory, or, where request->can_stream, the streamed one. */
void plan_make(struct plan *plan, const struct plan_request *request);

/* *smaller = a plan with a smaller total_bytes, for the case that memory had no room for *plan
 * after all. `available` is the bytes that are free now; only a streamed plan keeps within them.
 * False where no smaller plan fits; *smaller is then undefined. */
bool plan_make_smaller(struct plan *smaller, const struct plan *plan, uint64_t available);

/* Nonzeros in a segment of the packed orderings of a streamed plan. */
uint64_t plan_segment_nnz(const struct plan *plan);

/* Whether the backend takes the segments of the .blco file as they are: it streams them and no
 * other ordering, or decodes them on the device. False where the host unpacks them, or there is no
 * file. */
bool plan_takes_packed(const struct plan *plan);

/* Whether host_budget has room for the unpacked nonzeros (coordinates and values). Always true
 * where the backend cannot stream: then there is no other way. */
bool plan_can_unpack(const struct plan_request *request);

/* Bytes of a plan in memory while ALS runs: orderings, factors and copies. */
uint64_t plan_running_bytes(const struct plan *plan);

/* Whether, while ALS runs in memory, the budget has room for so many bytes more. */
bool plan_has_room(const struct plan *plan, uint64_t bytes);

/* The number of orderings that are built before the first iteration. */
int plan_orderings(const struct plan *plan);

/* Describes the plan for the user in text[0..size): a text line for each mode, one for each mode
 * group of several modes where `groups` is not NULL, some for the sums, and, where the plan does
 * not fit, one with plan_obstacle. Text that does not fit is cut off. */
void plan_describe(const struct plan *plan, const struct mode_groups *groups, char *text,
                   uint64_t size);

/* Says in text[0..size) what does not fit where, for a plan that does not fit: "factors of 12.3 GB
 * do not fit into the 8.00 GB of memory that may be used". */
void plan_obstacle(const struct plan *plan, char *text, uint64_t size);
