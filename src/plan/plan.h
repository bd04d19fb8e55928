/* The memory plan: which orderings of the tensor are built and how each mode's conflicts are
 * resolved, decided before anything is built. One function serves every backend. */
#ifndef BLCO_PLAN_H
#define BLCO_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/mode_groups.h"
#include "tensor/coo.h"

enum conflict {
    CONFLICT_AUTO,
    CONFLICT_ORDERED,      /* mode n order: a row is summed by its owner                     */
    CONFLICT_HIERARCHICAL, /* alto: copies of the output, one merge                          */
    CONFLICT_REGISTER,     /* alto: segments summed in registers, one atomic per segment     */
    CONFLICT_ATOMIC        /* one atomic per nonzero: the baseline, never chosen             */
};

const char *conflict_name(enum conflict c);

/* The conflict of this name, or -1. */
int conflict_by_name(const char *name);

struct plan_request {
    struct shape shape;
    uint64_t nnz;
    uint64_t rank;
    uint64_t budget;        /* bytes that may be used, factors included        */
    uint64_t real_size;     /* bytes of a factor's entry: 8 or 4               */
    uint64_t copies;        /* of an M that `hierarchical` makes at the most   */
    uint64_t short_mode;    /* modes shorter than this are `hierarchical`      */
    enum conflict conflict; /* forced by the user, or CONFLICT_AUTO            */
    bool share;             /* partial products may be shared between modes    */
    bool no_replicas;       /* CONFLICT_AUTO: every mode is resolved on alto   */
    bool replicas_at_once;  /* of a streamed tensor, without asking whether they pay */
    uint64_t iterations;    /* at most; 0: not known                           */
    bool can_stream;        /* nonzeros may stay on the host and flow          */
    bool must_stream;       /* they must, for the host has no room to unpack them */
    uint64_t host_budget;   /* bytes of host memory that may be used then      */
    uint64_t batch_nnz;     /* nonzeros that flow at a time; 0: as many as pay */
    uint64_t alto_bytes;    /* of the packed alto ordering, where a file has it; 0: not known */
};

struct plan {
    struct plan_request request;
    enum conflict conflict[MAX_ORDER]; /* per mode                                          */
    bool alto;                         /* an alto tensor is built                           */
    int replicas;                      /* number of `mode n` tensors                        */
    uint64_t tensor_bytes;             /* of one ordering, at most                          */
    uint64_t factor_bytes;             /* factors, M, Grams                                 */
    uint64_t copy_bytes;               /* of the largest set of copies for `hierarchical`   */
    uint64_t total_bytes;
    struct mode_groups mode_groups; /* of modes that share partial products, once built  */
    bool fits; /* total_bytes <= budget; and on the host, where it is streamed */

    /* Where nothing else fits: orderings are packed in host memory (packed.h) and flow through
     * queues in device memory; total_bytes is then what the device holds. */
    bool streamed;
    bool sorted[MAX_ORDER];  /* the batches are sorted by this mode's rows on the device      */
    uint64_t batch_nnz;      /* nonzeros that a queue takes at a time                         */
    uint64_t queue_bytes;    /* of all PLAN_SLOTS queues: packed batch, what it decodes to, and
                              * what sorting it takes                                         */
    bool replicate;          /* once the first iteration is done, orderings of their own are built
                              * on the device for all modes, as far as there is room for them   */
    uint64_t resident_bytes; /* for packed segments that stay on the device, of all orderings, and
                              * for building these                                             */
    uint64_t host_bytes;     /* of packed orderings, at most                                   */
    uint64_t packing_bytes;  /* of the host beside these while they are built: the coordinates
                              * and the sort; 0 for alto alone, which a file may have ready   */
};

#define PLAN_SLOTS      3 /* packed batches on their way                */
#define PLAN_WORKSPACES 2 /* batches that are decoded and worked on     */
#define PLAN_SORT_BYTES                                                                            \
    17 /* of a nonzero of a batch: row and position, twice, and the sort's own */

/* Fills *plan. All replicas where they fit; otherwise alto, and replicas for as many modes as fit
 * beside it, longest first (short ones lose least without); where not even alto fits and the
 * request allows it, streamed: from alto, and, once that pays, from what the device has made of
 * that. A forced conflict is obeyed for all modes. What fits a budget
 * fits a larger one, and a budget just below a plan's total gives a plan that takes less. Never
 * fails: where nothing fits, `fits` is false and total_bytes says what would. */
void plan_make(struct plan *plan, const struct plan_request *request);

/* Nonzeros in a segment of the orderings of a streamed plan. */
uint64_t plan_segment_nnz(const struct plan *plan);

/* Whether what the plan asks for is built from the packed alto ordering that a file has in segments
 * of so many nonzeros: it is streamed alone, or decoded on the device. Otherwise the host unpacks
 * it. */
bool plan_takes_packed(const struct plan *plan, uint64_t segment_nnz);

/* Whether the host has room for the coordinates. For a backend that streams, what it has no room
 * for may stay packed; for others there is no choice, and this is true. */
bool plan_can_unpack(const struct plan_request *request);

/* One line for people per mode and one or two for the sums, into text[0..size). */
void plan_describe(const struct plan *plan, char *text, uint64_t size);

/* What does not fit where, of a plan that does not, into text[0..size): "factors of 12.3 GB do not
 * fit into the 8.00 GB of memory that may be used". */
void plan_obstacle(const struct plan *plan, char *text, uint64_t size);

#endif
