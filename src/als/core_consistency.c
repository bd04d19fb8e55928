#include "als/core_consistency.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "lapack/symmetric_eigen.h"
#include "model/factor_columns.h"
#include "numerics/column_scale.h"
#include "numerics/random_counter.h"

/* Columns of about unit length are dependent where the smallest eigenvalue of their Gram is below
 * this part of the largest: their inverse would be rounding. */
#define DEPENDENT 1e-12

#define MOST_IMPUTED 0.5 /* of a tensor whose core tells something */

#define SEED   UINT64_C(0x636F7265) /* no seed of a start matters here */
#define A_PAIR 128                  /* bits of random_words            */

/* One computation. */
struct core {
    struct backend *b;
    const struct core_limits *limits;
    struct progress *progress;
    struct core_consistency *answer;
    uint64_t rank;
    struct ktensor inverse;   /* the matrices B, of the rows that are here; lambda one   */
    double unlisted;          /* the weight of unlisted entries: where terms take the place of
                               * values, the products are those of G - (1 - unlisted) T    */
    int output;               /* the mode of the MTTKRPs: the shortest                   */
    int fixed;                /* the mode that is never rotated: the longest of the rest */
    double *m;                /* (rows here of `output` x R)                             */
    double *product;          /* (R x R and one): entries of G; ranks that want to stop  */
    double *whole[MAX_ORDER]; /* for an estimate: the matrices B of the probed modes; `inverse` has
                               * them multiplied by signs. Else NULL */
    double *signs;            /* likewise (R x R): signs of one mode                     */
    double *expected;         /* likewise (R): the superdiagonal of the product if G is T */
};

uint64_t core_consistency_passes(int order, uint64_t rank)
{
    uint64_t passes = 1;
    for (int n = 2; n < order && passes <= CORE_PASSES; n++)
        passes = rank > CORE_PASSES ? CORE_PASSES + 1 : passes * rank;
    return passes <= CORE_PASSES ? passes : CORE_PASSES + 1;
}

void core_probes_signs(double *s, uint64_t rank, int n, uint64_t probe)
{
    uint64_t word[2] = {0};
    for (uint64_t e = 0; e < rank * rank; e++) {
        if (e % A_PAIR == 0)
            random_words(SEED, probe * MAX_ORDER + (uint64_t)n, e / A_PAIR, word);
        s[e] = word[e / 64 % 2] >> e % 64 & 1 ? 1 : -1;
    }
}

/* As B. P. Welford: Note on a method for calculating corrected sums of squares and products,
 * Technometrics 4, 1962. */
void core_mean_add(struct core_mean *m, double x)
{
    double before = x - m->mean;
    m->count++;
    m->mean += before / (double)m->count;
    m->spread += before * (x - m->mean);
}

double core_mean_error(const struct core_mean *m)
{
    double count = (double)m->count;
    return sqrt(m->spread / (count * (count - 1)));
}

/* weights (R x R) = G_n^+ diag(lambda^(-1/N)); false after an error, and if the columns, scaled to
 * about unit length, are dependent. w (2 R): scratch. */
static bool invert_gram(double *weights, double *gram, const double *lambda, double *w,
                        const struct core *c, struct error *error)
{
    uint64_t rank = c->rank;
    double *d = w + rank;
    for (uint64_t r = 0; r < rank; r++)
        d[r] = column_unit_scale(gram[r * rank + r]);
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < rank; j++)
            gram[i * rank + j] *= d[i] * d[j];
    if (symmetric_eigen(gram, rank, w, error) != STATUS_OK)
        return false;
    if (!(w[0] > DEPENDENT * w[rank - 1]))
        return false;
    memset(weights, 0, rank * rank * sizeof *weights);
    for (uint64_t e = 0; e < rank; e++)
        for (uint64_t i = 0; i < rank; i++)
            for (uint64_t j = 0; j < rank; j++)
                weights[i * rank + j] += gram[e * rank + i] / w[e] * gram[e * rank + j];
    for (uint64_t i = 0; i < rank; i++)
        for (uint64_t j = 0; j < rank; j++)
            weights[i * rank + j] *= d[i] * d[j] * pow(lambda[j], -1.0 / c->b->order);
    return true;
}

/* The matrices B_n = A_n weights from k, or, in the answer, why there are none. */
static enum status invert(struct core *c, const struct ktensor *k, struct error *error)
{
    uint64_t square = c->rank * c->rank;
    for (uint64_t r = 0; r < c->rank; r++)
        if (!(k->lambda[r] > 0)) {
            c->answer->state = CORE_ZERO;
            return STATUS_OK;
        }
    double *gram = memory_array(2 * square + 2 * c->rank, sizeof *gram, error);
    TRY(error->status);
    for (int n = 0; n < c->b->order; n++) {
        double *weights = gram + square, *w = weights + square;
        TRY_OR(done, backend_gram(c->b, n, gram, error));
        bool inverted = invert_gram(weights, gram, k->lambda, w, c, error);
        TRY_OR(done, error->status);
        if (!inverted) {
            *c->answer = (struct core_consistency){.state = CORE_DEPENDENT, .mode = n};
            goto done;
        }
        factor_columns_multiply(k->factor[n], k->shape.dims[n], c->rank, weights,
                                c->inverse.factor[n]);
    }
done:
    memory_free(gram);
    return error->status;
}

/* product (R x R) = B' M of the output mode, with the model that the backend has. Where M
 * overflows, the product is NaN on every rank. *stop: some rank wants to stop. */
static enum status multiply(struct core *c, bool *stop, struct error *error)
{
    const struct ktensor *k = &c->inverse;
    const struct core_limits *limits = c->limits;
    const bool stops = (limits->interrupted && *limits->interrupted) ||
                       (limits->deadline > 0 && clock_now() >= limits->deadline);
    uint64_t rank = c->rank, square = rank * rank, rows = k->shape.dims[c->output];
    TRY(backend_mttkrp(c->b, c->output, error));
    if (backend_fetch(c->b, c->output, c->m, error) == STATUS_NUMERICAL) {
        *error = (struct error){0};
        for (uint64_t e = 0; e < rows * rank; e++)
            c->m[e] = NAN;
    }
    TRY(error->status);
    const struct factor_rows inverse = {.a = k->factor[c->output], .rows = rows, .rank = rank};
    const struct factor_rows m = {.a = c->m, .rows = rows, .rank = rank};
    TRY(factor_columns_products(&inverse, &m, c->product, error));
    c->product[square] = stops;
    TRY(comm_allreduce_sum(c->b->ranks->all, c->product, square + 1, error));
    *stop = c->product[square] > 0;
    return STATUS_OK;
}

/* Whether a mode is rotated, or multiplied by signs. */
static bool is_probed(const struct core *c, int n)
{
    return n != c->output && n != c->fixed;
}

/* From rotation `pass` to the next, like the digits of a counter: the first mode's columns move on
 * by one, and after R moves those of the next mode, too. */
static enum status rotate(struct core *c, uint64_t pass, struct error *error)
{
    for (int n = 0; n < c->b->order; n++) {
        if (!is_probed(c, n))
            continue;
        TRY(backend_rotate(c->b, n, error));
        if ((pass + 1) % c->rank != 0)
            return STATUS_OK;
        pass = (pass + 1) / c->rank - 1;
    }
    return STATUS_OK;
}

/* misfit = ||G - T||^2 / R, and its standard error. */
static void take_misfit(struct core_consistency *core, double misfit, double error)
{
    core->percent = 100 * (1 - misfit);
    core->error = 100 * error;
    if (!isfinite(core->percent) || !isfinite(core->error))
        *core = (struct core_consistency){.state = CORE_OVERFLOW};
}

/* ||G - T||^2 = ||P - h T||^2 from all entries of P = G - (1 - h) T, with h = c->unlisted:
 * ||P||^2 - 2 h sum of the superdiagonal + h^2 R. The entries on the superdiagonal come with the
 * first product. */
static enum status sum_entries(struct core *c, struct error *error)
{
    uint64_t passes = core_consistency_passes(c->b->order, c->rank);
    double squares = 0, diagonal = 0, rank = (double)c->rank, h = c->unlisted;
    bool stop = false;
    TRY(backend_load(c->b, &c->inverse, error));
    for (uint64_t pass = 0; pass < passes && !stop; pass++) {
        TRY(multiply(c, &stop, error));
        TRY(rotate(c, pass, error));
        for (uint64_t i = 0; i < c->rank * c->rank; i++)
            squares += c->product[i] * c->product[i];
        for (uint64_t r = 0; pass == 0 && r < c->rank; r++)
            diagonal += c->product[r * c->rank + r];
        progress_update(c->progress, (double)(pass + 1) / (double)passes, "MTTKRP %ju of %ju",
                        (uintmax_t)pass + 1, (uintmax_t)passes);
    }
    if (stop)
        c->answer->state = CORE_ENDED;
    else
        take_misfit(c->answer, (squares - 2 * h * diagonal + h * h * rank) / rank, 0);
    return STATUS_OK;
}

/* ||G - T||^2 as the mean of probes. */
static enum status estimate(struct core *c, struct error *error)
{
    struct core_mean misfit = {0};
    double rank = (double)c->rank;
    bool stop = false;
    c->signs = memory_array(c->rank, c->rank * sizeof *c->signs, error);
    c->expected = memory_array(c->rank, sizeof *c->expected, error);
    for (int n = 0; n < c->b->order; n++) {
        if (!is_probed(c, n))
            continue;
        c->whole[n] = c->inverse.factor[n];
        c->inverse.factor[n] =
            memory_array(c->inverse.shape.dims[n], c->rank * sizeof *c->m, error);
    }
    TRY(error->status);
    for (uint64_t probe = 0; probe < CORE_PROBES && !stop; probe++) {
        double squares = 0;
        /* Column r of each probed mode becomes B times signs of its own. What is left of T has
         * c->unlisted where all indices are r, which the probe multiplies by its modes' signs. */
        for (uint64_t r = 0; r < c->rank; r++)
            c->expected[r] = c->unlisted;
        for (int n = 0; n < c->b->order; n++) {
            if (!is_probed(c, n))
                continue;
            core_probes_signs(c->signs, c->rank, n, probe);
            factor_columns_multiply(c->whole[n], c->inverse.shape.dims[n], c->rank, c->signs,
                                    c->inverse.factor[n]);
            for (uint64_t r = 0; r < c->rank; r++)
                c->expected[r] *= c->signs[r * c->rank + r];
        }
        TRY(backend_load(c->b, &c->inverse, error));
        TRY(multiply(c, &stop, error));
        for (uint64_t r = 0; r < c->rank; r++)
            c->product[r * c->rank + r] -= c->expected[r];
        for (uint64_t i = 0; i < c->rank * c->rank; i++)
            squares += c->product[i] * c->product[i];
        core_mean_add(&misfit, squares);
        progress_update(c->progress, (double)(probe + 1) / CORE_PROBES, "probe %ju of %d",
                        (uintmax_t)probe + 1, CORE_PROBES);
    }
    c->answer->estimated = true;
    if (stop)
        c->answer->state = CORE_ENDED;
    else
        take_misfit(c->answer, misfit.mean / rank, core_mean_error(&misfit) / rank);
    return STATUS_OK;
}

bool core_consistency_tells(const struct core_consistency *core)
{
    return core->state == CORE_KNOWN && core->imputed <= MOST_IMPUTED;
}

void core_consistency_text(const struct core_consistency *core, char *text, size_t size)
{
    if (!core->estimated)
        snprintf(text, size, core->percent > -1000 ? "%.1f" : "%.1e", core->percent);
    else if (core->percent > -1000 && core->error < 1000)
        snprintf(text, size, core->error < 1 ? "%.1f +- %.1f" : "%.0f +- %.0f", core->percent,
                 core->error);
    else
        snprintf(text, size, "%.1e +- %.0e", core->percent, core->error);
}

enum status core_consistency(struct core_consistency *core, struct backend *b,
                             const struct ktensor *k, const struct core_limits *limits,
                             struct progress *progress, struct error *error)
{
    const struct problem *problem = &b->options.problem;
    struct core c = {.b = b,
                     .limits = limits,
                     .progress = progress,
                     .answer = core,
                     .rank = k->rank,
                     .unlisted = problem_count(problem, -1).weight};
    const uint64_t most = limits->passes ? limits->passes : CORE_PASSES;
    const bool exact = core_consistency_passes(b->order, k->rank) <= most;
    char text[CORE_TEXT] = "not known";
    *core = (struct core_consistency){.state = CORE_KNOWN};
    if (b->order < 3)
        core->state = CORE_FEW_MODES;
    else if (!exact && k->rank > CORE_PASSES)
        core->state = CORE_TOO_LARGE;
    if (core->state != CORE_KNOWN)
        return STATUS_OK;
    progress_stage(progress, "core consistency");
    const uint64_t *length = b->ranks->part.whole.dims;
    /* The shortest mode's M has the fewest rows to fetch; the longest of the other modes would take
     * longest to rotate. */
    for (int n = 1; n < b->order; n++)
        if (length[n] < length[c.output])
            c.output = n;
    c.fixed = c.output == 0 ? 1 : 0;
    for (int n = 0; n < b->order; n++)
        if (n != c.output && length[n] > length[c.fixed])
            c.fixed = n;
    TRY_OR(done, ktensor_create(&c.inverse, &k->shape, c.rank, error));
    c.m = memory_array(k->shape.dims[c.output], c.rank * sizeof *c.m, error);
    c.product = memory_array(c.rank * c.rank + 1, sizeof *c.product, error);
    TRY_OR(done, error->status);
    TRY_OR(done, invert(&c, k, error));
    if (core->state == CORE_KNOWN && problem_by_rows(problem)) { /* MTTKRPs are then of terms */
        bool held;
        TRY_OR(done, backend_hold_terms(b, c.output, &held, error));
        core->imputed = backend_unknown(b);
        core->state = held ? CORE_KNOWN : CORE_NO_ROOM;
    }
    if (core->state == CORE_KNOWN)
        TRY_OR(done, exact ? sum_entries(&c, error) : estimate(&c, error));
    TRY_OR(done, backend_drop_terms(b, error));
    if (core->state == CORE_KNOWN)
        core_consistency_text(core, text, sizeof text);
    progress_done(progress, "%s", text);
done:
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(c.whole[n]);
    memory_free(c.signs, c.expected);
    ktensor_free(&c.inverse);
    memory_free(c.m, c.product);
    return error->status;
}
