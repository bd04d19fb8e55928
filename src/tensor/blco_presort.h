/* The nonzeros in one common order, from which every ordering `mode n` is made by little more than
 * a split by mode n's bits. For lines of at most 64 bits. */
#ifndef BLCO_BLCO_PRESORT_H
#define BLCO_BLCO_PRESORT_H

#include "tensor/coo.h"
#include "tensor/ordering.h"

struct blco_presort {
    struct shape shape;
    uint64_t nnz;
    struct ordering line_order; /* of the lines                       */
    uint64_t *line;             /* (nnz), ascending; owned            */
    double *value;              /* (nnz); owned                       */
    double norm_sq;             /* sum of squared values              */
};

/* Whether the lines of such a tensor have at most 64 bits. */
int blco_presort_possible(const struct shape *shape);

/* From x, whose coordinates are distinct; faster where they ascend, mode by mode. x is only read.
 * Parallel. On failure *s is empty. */
enum status blco_presort_create(struct blco_presort *s, const struct coo *x, struct error *error);

/* Accepts an empty one. */
void blco_presort_free(struct blco_presort *s);

#endif
