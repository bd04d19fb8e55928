/* The memory plan: which orderings of the tensor are built and how each mode's conflicts are
 * resolved, decided before anything is built. One plan_make serves every backend. A request says
 * what the user wants and what the machine has; a plan is the decision, which nobody changes
 * afterwards. What was built in the end is a third thing (struct backend_built).
 * Implemented in plan_make.c, plan_in_memory.c, plan_streamed.c and plan_describe.c. */
#ifndef BLCO_PLAN_H
#define BLCO_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/shared/precision.h"
#include "plan/conflict.h"
#include "plan/mode_groups.h"
#include "tensor/shape.h"

/* A tensor, as far as a plan depends on it. */
struct plan_tensor {
    struct shape shape;
    uint64_t nnz;
    uint64_t alto_bytes;  /* of its packed alto ordering, where a .blco file has it; 0: not known */
    uint64_t segment_nnz; /* nonzeros in a segment of that file; 0: there is no file              */
};

/* What benchmarks and tests force upon a plan; all zero for everybody else. */
struct plan_forced {
    bool one_copy;         /* CONFLICT_AUTO: one alto ordering, no ordering of a mode's own   */
    bool replicas_at_once; /* streamed: orderings of the modes' own are built before the first
                            * MTTKRP, whether they pay or not                                 */
    uint64_t batch_nnz;    /* streamed: nonzeros that flow at a time; 0: as many as pay       */
    bool streamed;         /* streamed, even where memory has room for the tensor             */
};

struct plan_request {
    struct plan_tensor tensor;

    /* What the user wants. */
    uint64_t rank;
    enum precision precision;
    enum conflict conflict; /* of all modes, or CONFLICT_AUTO                */
    bool share;             /* modes may share partial products              */
    uint64_t iterations;    /* at most; 0: not known                         */

    /* What the machine has. Bytes, where nothing else is said. */
    uint64_t row_bytes;   /* of a factor matrix's row, padding included                       */
    uint64_t budget;      /* that may be used where MTTKRP runs, factors included             */
    uint64_t copies;      /* of M that `hierarchical` makes, at the most                      */
    uint64_t short_mode;  /* modes shorter than this are `hierarchical` on alto               */
    bool can_stream;      /* nonzeros may stay in host memory and flow                        */
    bool must_stream;     /* they must: there is no room to build from them, or to unpack them */
    uint64_t host_budget; /* of host memory, where the backend has memory of its own          */

    struct plan_forced forced;
};

struct plan {
    struct plan_request request;
    enum conflict conflict[MAX_ORDER]; /* per mode                                          */
    bool alto;                         /* an alto ordering is built                         */
    int replicas;                      /* orderings `mode n` that are built                 */
    uint64_t tensor_bytes;             /* of one ordering, at most                          */
    uint64_t factor_bytes;             /* factors, M, Grams                                 */
    uint64_t copy_bytes;               /* of the largest set of copies for `hierarchical`   */
    uint64_t total_bytes;
    bool fits; /* total_bytes <= budget; and on the host, where the tensor is streamed */

    /* Where nothing else fits: orderings are packed in host memory (packed_tensor.h) and flow
     * through slots in device memory; total_bytes is then what the device holds. */
    bool streamed;
    bool sorted[MAX_ORDER];  /* the device sorts batches by this mode's rows                  */
    uint64_t batch_nnz;      /* nonzeros that flow at a time                                  */
    uint64_t flow_bytes;     /* of the PLAN_SLOTS packed batches and the PLAN_WORKSPACES      */
    bool replicate;          /* once that pays, the device builds orderings `mode n` of all
                              * modes, as far as there is room for them                       */
    uint64_t resident_bytes; /* for packed segments that stay on the device, of all orderings,
                              * and for building these                                        */
    uint64_t host_bytes;     /* of packed orderings, at most                                  */
    uint64_t packing_bytes;  /* of host memory beside these while they are built: coordinates
                              * and the sort; 0 for alto alone, which a file may have ready   */
};

#define PLAN_SLOTS      3 /* packed batches on their way                                          */
#define PLAN_WORKSPACES 2 /* batches that are decoded and worked on */
#define PLAN_SORT_BYTES                                                                            \
    17 /* of a nonzero of a batch: row and position, twice, and the sort's own */

/* Fills *plan. All replicas where they fit; otherwise alto, and replicas for as many modes as fit
 * beside it, longest first (short ones lose least without); where not even alto fits and the
 * request allows it, streamed: from alto, and, once that pays, from what the device has made of
 * that. A forced conflict is obeyed for all modes. What fits a budget
 * fits a larger one, and a budget just below a plan's total gives a plan that takes less. Never
 * fails: where nothing fits, `fits` is false and total_bytes says what would. */
void plan_make(struct plan *plan, const struct plan_request *request);

/* The plan for less memory than *plan takes: *plan did not find the bytes that it counted on.
 * `available` is what can be had now, which only a streamed plan heeds. False where nothing less
 * fits; *smaller is then undefined. */
bool plan_make_smaller(struct plan *smaller, const struct plan *plan, uint64_t available);

/* Nonzeros in a segment of the orderings of a streamed plan. */
uint64_t plan_segment_nnz(const struct plan *plan);

/* Whether what the plan asks for is built from the packed alto ordering of a file that has
 * segments of tensor.segment_nnz nonzeros: it is streamed alone, or decoded on the device. False
 * where the host unpacks it, or there is no file. */
bool plan_takes_packed(const struct plan *plan);

/* Whether the host has room for the coordinates. A backend that streams can leave packed what the
 * host has no room for; other backends have no choice, and this is true. */
bool plan_can_unpack(const struct plan_request *request);

/* Orderings that are built before the first iteration. */
int plan_orderings(const struct plan *plan);

/* One line for people per mode and one or two for the sums, into text[0..size); a line for each of
 * the mode groups that share partial products, where `groups` is not NULL. */
void plan_describe(const struct plan *plan, const struct mode_groups *groups, char *text,
                   uint64_t size);

/* What does not fit where, of a plan that does not, into text[0..size): "factors of 12.3 GB do not
 * fit into the 8.00 GB of memory that may be used". */
void plan_obstacle(const struct plan *plan, char *text, uint64_t size);

#endif
