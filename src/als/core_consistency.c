#include "als/core_consistency.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "lapack/symmetric_eigen.h"
#include "model/factor_columns.h"

/* Columns of unit length are dependent where the smallest eigenvalue of their Gram is below this
 * part of the largest: their inverse would be rounding. */
#define DEPENDENT 1e-12

/* What is computed of a model. */
struct core {
    struct backend *b;
    uint64_t rank;
    struct ktensor inverse; /* the matrices B, of the rows that are here; lambda one */
    int output;             /* the mode of the MTTKRPs: the shortest                 */
    int fixed;              /* whose columns stay: the longest of the others         */
    double *m;              /* (rows here of `output` x R)                           */
    double *product;        /* (R x R and one): entries of G; ranks that are to end  */
    double squares;         /* of the entries of G so far, their sum                 */
    double diagonal;        /* the sum of G's superdiagonal                          */
};

uint64_t core_consistency_passes(int order, uint64_t rank)
{
    uint64_t passes = 1;
    for (int n = 2; n < order && passes <= CORE_PASSES; n++)
        passes = rank > CORE_PASSES ? CORE_PASSES + 1 : passes * rank;
    return passes <= CORE_PASSES ? passes : CORE_PASSES + 1;
}

/* The shortest mode's M has the fewest rows to fetch; the longest of the other modes stays. */
static void choose_modes(struct core *c)
{
    const uint64_t *length = c->b->ranks->part.whole.dims;
    c->output = c->fixed = 0;
    for (int n = 1; n < c->b->order; n++)
        if (length[n] < length[c->output])
            c->output = n;
    c->fixed = c->output == 0 ? 1 : 0;
    for (int n = 0; n < c->b->order; n++)
        if (n != c->output && length[n] > length[c->fixed])
            c->fixed = n;
}

/* weights (R x R) = G_n^+ diag(lambda^(-1/N)); false where the columns are dependent. */
static bool invert_gram(double *weights, double *gram, const double *lambda, double *w,
                        const struct core *c, struct error *error)
{
    uint64_t rank = c->rank;
    if (symmetric_eigen(gram, rank, w, error) != STATUS_OK || !(w[0] > DEPENDENT * w[rank - 1]))
        return false;
    memset(weights, 0, rank * rank * sizeof *weights);
    for (uint64_t e = 0; e < rank; e++)
        for (uint64_t i = 0; i < rank; i++)
            for (uint64_t j = 0; j < rank; j++)
                weights[i * rank + j] += gram[e * rank + i] / w[e] * gram[e * rank + j];
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < rank; j++)
            weights[i * rank + j] *= pow(lambda[j], -1.0 / c->b->order);
    return true;
}

/* The matrices B_n = A_n weights from k; *core tells where there are none. */
static enum status invert(struct core *c, const struct ktensor *k, struct core_consistency *core,
                          struct error *error)
{
    uint64_t square = c->rank * c->rank;
    double *gram = memory_array(2 * square + c->rank, sizeof *gram, error);
    for (uint64_t r = 0; gram && r < c->rank; r++)
        if (!(k->lambda[r] > 0))
            core->state = CORE_ZERO;
    for (int n = 0; gram && n < c->b->order && core->state == CORE_KNOWN; n++) {
        double *weights = gram + square, *w = weights + square;
        if (backend_gram(c->b, n, gram, error) != STATUS_OK)
            break;
        bool inverted = invert_gram(weights, gram, k->lambda, w, c, error);
        if (error->status != STATUS_OK)
            break;
        if (inverted)
            factor_columns_multiply(k->factor[n], k->shape.dims[n], c->rank, weights,
                                    c->inverse.factor[n]);
        else
            *core = (struct core_consistency){.state = CORE_DEPENDENT, .mode = n};
    }
    memory_free(gram);
    return error->status;
}

/* Adds the R^2 entries of G that the matrices B give as they stand; those on the superdiagonal are
 * the first ones. *stop: some rank is to end. */
static enum status add_entries(struct core *c, bool first, bool ends, bool *stop,
                               struct error *error)
{
    const struct ktensor *k = &c->inverse;
    uint64_t rank = c->rank, square = rank * rank;
    if (backend_mttkrp(c->b, c->output, error) != STATUS_OK ||
        backend_fetch(c->b, c->output, c->m, error) != STATUS_OK ||
        factor_columns_products(k->factor[c->output], rank, c->m, rank, k->shape.dims[c->output],
                                c->product, error) != STATUS_OK)
        return error->status;
    c->product[square] = ends;
    if (comm_sum(c->b->ranks->all, c->product, square + 1, error) != STATUS_OK)
        return error->status;
    for (uint64_t i = 0; i < square; i++)
        c->squares += c->product[i] * c->product[i];
    for (uint64_t r = 0; first && r < rank; r++)
        c->diagonal += c->product[r * rank + r];
    *stop = c->product[square] > 0;
    return STATUS_OK;
}

/* From rotation `pass` to the next: one mode's columns move on by one, and where they have come
 * round, those of the next mode, too. */
static enum status rotate(struct core *c, uint64_t pass, struct error *error)
{
    for (int n = 0; n < c->b->order && error->status == STATUS_OK; n++) {
        if (n == c->output || n == c->fixed)
            continue;
        backend_rotate(c->b, n, error);
        if ((pass + 1) % c->rank != 0)
            break;
        pass = (pass + 1) / c->rank - 1;
    }
    return error->status;
}

static enum status sum_entries(struct core *c, struct core_consistency *core,
                               const volatile sig_atomic_t *interrupted, double deadline,
                               struct progress *progress, struct error *error)
{
    uint64_t passes = core_consistency_passes(c->b->order, c->rank);
    bool stop = false;
    for (uint64_t pass = 0; pass < passes && !stop; pass++) {
        bool ends = (interrupted && *interrupted) || (deadline > 0 && clock_now() >= deadline);
        if (add_entries(c, pass == 0, ends, &stop, error) != STATUS_OK ||
            rotate(c, pass, error) != STATUS_OK)
            return error->status;
        progress_update(progress, (double)(pass + 1) / (double)passes, "MTTKRP %ju of %ju",
                        (uintmax_t)pass + 1, (uintmax_t)passes);
    }
    double rank = (double)c->rank;
    if (stop)
        core->state = CORE_ENDED;
    else
        core->percent = 100 * (1 - (c->squares - 2 * c->diagonal + rank) / rank);
    return STATUS_OK;
}

/* Room for the matrices B and for what one MTTKRP gives. */
static enum status create(struct core *c, const struct ktensor *k, struct error *error)
{
    choose_modes(c);
    if (ktensor_create(&c->inverse, &k->shape, c->rank, error) != STATUS_OK)
        return error->status;
    c->m = memory_array(k->shape.dims[c->output], c->rank * sizeof *c->m, error);
    c->product = memory_array(c->rank * c->rank + 1, sizeof *c->product, error);
    return error->status;
}

enum status core_consistency(struct core_consistency *core, struct backend *b,
                             const struct ktensor *k, const volatile sig_atomic_t *interrupted,
                             double deadline, struct progress *progress, struct error *error)
{
    struct core c = {.b = b, .rank = k->rank};
    *core = (struct core_consistency){.state = CORE_KNOWN};
    if (b->order < 3)
        core->state = CORE_FEW_MODES;
    else if (core_consistency_passes(b->order, k->rank) > CORE_PASSES)
        core->state = CORE_TOO_LARGE;
    if (core->state != CORE_KNOWN)
        return STATUS_OK;
    progress_stage(progress, "core consistency");
    if (create(&c, k, error) == STATUS_OK && invert(&c, k, core, error) == STATUS_OK &&
        core->state == CORE_KNOWN && backend_load(b, &c.inverse, error) == STATUS_OK)
        sum_entries(&c, core, interrupted, deadline, progress, error);
    if (error->status == STATUS_OK && core->state == CORE_KNOWN)
        progress_done(progress, "%.4g", core->percent);
    else if (error->status == STATUS_OK)
        progress_done(progress, "not known");
    ktensor_free(&c.inverse);
    memory_free(c.m);
    memory_free(c.product);
    return error->status;
}
