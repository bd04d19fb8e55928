/* A presort: the nonzeros in one common ordering, from which every ordering `mode n` is made by
 * little more than a split by mode n's bits. For lines of at most 64 bits. */
#ifndef BLCO_BLCO_PRESORT_H
#define BLCO_BLCO_PRESORT_H

#include "tensor/coo.h"
#include "tensor/ordering.h"

struct blco_presort {
    struct shape shape;
    uint64_t nnz;
    struct ordering line_order; /* ordering_common                    */
    uint64_t *line;             /* (nnz), ascending; owned            */
    double *value;              /* (nnz); owned                       */
    double norm_sq;             /* ||X||^2                            */
};

/* Whether the lines of tensors of this shape have at most 64 bits. */
bool blco_presort_possible(const struct shape *shape);

/* Sorts the nonzeros of x, whose coordinates are distinct and lines at most 64 bits; faster where
 * the coordinates ascend, mode by mode. x is only read, unless it is also `spent`, which may be
 * NULL and means what it means in blco.h. By all OpenMP threads. The caller frees *s with
 * blco_presort_free. STATUS_MEMORY leaves *s empty. */
enum status blco_presort_create(struct blco_presort *s, const struct coo *x, struct coo *spent,
                                struct error *error);

/* Frees the arrays and empties *s; accepts an empty one. */
void blco_presort_free(struct blco_presort *s);

#endif
