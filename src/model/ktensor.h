/* The CP model (Kruskal tensor): X ~ sum over r of lambda[r] A_1(:,r) o A_2(:,r) o ... o A_N(:,r),
 * o being the outer product. Implemented in ktensor.c and ktensor_arrange.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "numerics/precision.h"
#include "tensor/coo.h"

struct ktensor {
    struct shape shape;        /* the rows of each mode that are here: I_n = shape.dims[n]     */
    uint64_t first[MAX_ORDER]; /* as of struct part: row i of factor[n] is row first[n] + i    */
    const uint64_t *row[MAX_ORDER]; /* of the whole matrix, or row row[n][i]; 0 and NULL where all
                                     * rows are here; borrowed                               */
    bool nonneg[MAX_ORDER]; /* ktensor_arrange flips no sign of these modes                       */
    bool fixed[MAX_ORDER]; /* ktensor_arrange leaves the columns of these modes as they are       */
    bool mixture;  /* columns that are not fixed have the 1-norm 1, and ktensor_arrange leaves their
                    * lengths: the model is of counts                                             */
    uint64_t rank; /* R                                                          */
    double *lambda;            /* (R); owned                                                 */
    double *explained, *lost;  /* (R): what each component has to do with the tensor that the
                                * model is of (backend_components); NaN where that is not known;
                                * lambda's array has room for them after its R numbers; NULL in a
                                * model that ktensor_create has not made */
    double *factor[MAX_ORDER]; /* (I_n x R), row-major, for n < order; owned                 */
};

/* The number, in the whole matrix n, of row i of those that are here; or NO_ROW. */
static inline uint64_t ktensor_row(const struct ktensor *k, int n, uint64_t i)
{
    return k->row[n] ? k->row[n][i] : k->first[n] + i;
}

/* Allocates a model: factor matrices uninitialised, lambda all one, shares NaN. The caller frees *k
 * with ktensor_free; *k is empty on failure. STATUS_INPUT if order or rank is out of range,
 * STATUS_MEMORY. */
enum status ktensor_create(struct ktensor *k, const struct shape *shape, uint64_t rank,
                           struct error *error);

/* The same for the rows of a model that are here; part->row outlives *k. */
enum status ktensor_create_part(struct ktensor *k, const struct part *part, uint64_t rank,
                                struct error *error);

/* Changes R, and keeps the columns that the model then has; new ones are uninitialised, with the
 * weight 1 and shares NaN. STATUS_MEMORY, which leaves the model as it was. */
enum status ktensor_set_rank(struct ktensor *k, uint64_t rank, struct error *error);

/* Accepts an empty model. */
void ktensor_free(struct ktensor *k);

enum ktensor_init { KTENSOR_RANDOM, KTENSOR_NORMAL };

/* Fills the factor matrices with random numbers, uniform on [0, 1) or standard normal, and sets
 * lambda to one. Entry (n, i, r) of the whole model is a function of (seed, n, i, r) alone, so that
 * neither the number of threads, nor the backend, nor which rows are here changes the start. Rows
 * that are NO_ROW become zero. */
void ktensor_randomise(struct ktensor *k, enum ktensor_init init, uint64_t seed);

/* The same for one mode: a (part->here.dims[n] x R) receives the rows of factor matrix n that are
 * here. */
void ktensor_random_rows(double *a, const struct part *part, int n, uint64_t rank,
                         enum ktensor_init init, uint64_t seed);

/* Brings the model into its standard form, of the same tensor: columns of unit 2-norm
 * (a zero column stays zero and makes its lambda zero), lambda >= 0 in descending order, and signs
 * flipped in pairs so that every column's entry of largest magnitude is positive in as many modes
 * as an even number of flips allows (the last mode whose signs may be flipped takes the odd sign).
 * Where some mode is fixed, its columns and the order of the components stay as they are. On
 * failure *k is unchanged. STATUS_MEMORY. */
enum status ktensor_arrange(struct ktensor *k, struct error *error);

/* Bytes of the numbers of a model, lambda included, in double precision. */
uint64_t ktensor_bytes(const struct shape *shape, uint64_t rank);

/* value[i] = the model's value, the sum over r of lambda[r] times the product of A_n(i_n, r), at
 * the coordinates (i_1, ..., i_N) of entry i of x (value has x->nnz entries). x has the model's
 * order and coordinates below the model's lengths, in any order, and its values are not read; all
 * rows of the model are here. By all OpenMP threads, whose number does not change the bits. Each
 * entry gathers N rows of R doubles, which bounds the speed where the factor matrices exceed the
 * caches.
 */
void ktensor_at(double *value, const struct ktensor *k, const struct coo *x);

/* The same bits at the coordinates index[0..N). */
double ktensor_value(const struct ktensor *k, const uint32_t *index);

/* A model whose rows a writer takes in order: all at once where they are here, or piece by piece
 * where they have to be brought. */

struct ktensor_source {
    const struct ktensor *k; /* R and lambda; the shape of the whole model; where `bring` is NULL,
                              * the rows, all or some; borrowed */
    /* rows (count x R) = the rows first to first + count - 1 of factor matrix n. */
    enum status (*bring)(void *context, int n, uint64_t first, uint64_t count, double *rows,
                         struct error *error);
    void *context; /* of `bring`; borrowed */
};

/* Takes the rows that *piece has: first[n] and shape.dims[n] of each mode, perhaps 0. */
typedef enum status ktensor_take(void *context, const struct ktensor *piece, struct error *error);

/* The rows, one at least, that take so many bytes or less. */
uint64_t ktensor_rows_of_bytes(uint64_t bytes, uint64_t rank);

/* Calls take(context) with k itself, or with pieces of at most `most` rows of one mode, in the
 * order of the modes and of their rows. STATUS_MEMORY, and errors of `bring` and `take`. */
enum status ktensor_pieces(const struct ktensor_source *from, uint64_t most, ktensor_take *take,
                           void *context, struct error *error);

/* The state that one iteration of ALS leaves to the next besides lambda and the factor matrices:
 * the column scales, which are not multiplied into the rows, and the Grams. */

/* It belongs to a ktensor whose factor matrices lack the scales: A_n = factor[n] diag(scale n). */
struct carried {
    double *scale;            /* (order x R)                        */
    double *gram;             /* (order x R x R), of A_n: symmetric */
    enum precision precision; /* that the factor matrices have in the backend */
};

/* The arrays are uninitialised. The caller frees *c with carried_free; *c is empty on failure.
 * STATUS_MEMORY. */
enum status carried_create(struct carried *c, int order, uint64_t rank, struct error *error);

/* *to, which carried_create made for this order and rank, becomes a copy of *from. */
void carried_copy(struct carried *to, const struct carried *from, int order, uint64_t rank);

/* Accepts an empty one. */
void carried_free(struct carried *c);
