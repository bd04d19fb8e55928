#include "generate/generate.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/random_stream.h"
#include "model/ktensor.h"
#include "tensor/ordering.h"

/* Random streams: the first of the two numbers that name a stream. Those of the modes' factor
 * matrices count upwards from 0. */
#define STREAM_NOISE     UINT64_MAX
#define STREAM_SUPPORT   (UINT64_MAX - 1 - MAX_ORDER)
#define STREAM_COLLINEAR (STREAM_SUPPORT - MAX_ORDER)
#define STREAM_COUNTS    (STREAM_COLLINEAR - 1 - MAX_ORDER)
#define AT_ONCE          32  /* a mean of counts that is drawn at once; others are sums of such */
#define MOST_COUNTS      1e6 /* the largest mean of counts */
#define COLLINEAR_MOST   0.9999 /* columns of a larger cosine are the same but for rounding */

/* The fraction of the core's places that are nonzero. From random starts ALS seldom finds
 * components that hardly overlap; with this overlap it finds most of them. */
#define CORE_DENSITY 0.7

/* The supports of the components: the places where a component is not zero. Some indices of each
 * mode are the core; a component has side[n] of mode n's, and all combinations of them are its
 * support. */
struct supports {
    struct shape shape;
    uint64_t core[MAX_ORDER]; /* number of each mode's indices that are in the core   */
    uint64_t side[MAX_ORDER]; /* number of each mode's indices that one component has */
    uint64_t places;          /* of one support: the product of its sides             */
    uint64_t count;           /* of supports: one for each component, or one for all  */
};

static double product(const uint64_t *side, int order)
{
    double places = 1;
    for (int n = 0; n < order; n++)
        places *= (double)side[n];
    return places;
}

/* Sets whole sides of at least 1 in proportion to the lengths. Returns their product. */
static double proportional_sides(const uint64_t *dims, int order, double ratio, uint64_t *side)
{
    for (int n = 0; n < order; n++) {
        side[n] = (uint64_t)(ratio * (double)dims[n]);
        if (side[n] < 1)
            side[n] = 1;
    }
    return product(side, order);
}

/* Sets the sides of a box of at most `most` places (at least one): the largest proportional sides,
 * then each longer by single steps. */
static void fit_box(const uint64_t *dims, int order, double most, uint64_t *side)
{
    double least = 0, largest = 1;
    if (proportional_sides(dims, order, largest, side) > most) {
        for (int i = 0; i < 64; i++) {
            double middle = (least + largest) / 2;
            if (proportional_sides(dims, order, middle, side) > most)
                largest = middle;
            else
                least = middle;
        }
        proportional_sides(dims, order, least, side);
    }
    for (int n = 0; n < order; n++)
        while (side[n] < dims[n] &&
               product(side, order) / (double)side[n] * (double)(side[n] + 1) <= most)
            side[n]++;
}

static enum status check_plant(const struct generate_plant *plant, struct error *error)
{
    if (plant->rank < 1 || plant->nnz < plant->rank || plant->nnz > MAX_NNZ)
        return error_set(error, STATUS_INPUT, "%ju nonzeros of rank %ju, expected %ju to %ju",
                         (uintmax_t)plant->nnz, (uintmax_t)plant->rank, (uintmax_t)plant->rank,
                         (uintmax_t)MAX_NNZ);
    TRY(place_check(&plant->shape, plant->nnz, error));
    if (!(plant->noise >= 0 && isfinite(plant->noise)))
        return error_set(error, STATUS_INPUT, "noise %g, expected 0 or more", plant->noise);
    if (!(plant->collinearity >= 0 && plant->collinearity <= COLLINEAR_MOST))
        return error_set(error, STATUS_INPUT, "collinearity %g, expected 0 to %g",
                         plant->collinearity, COLLINEAR_MOST);
    if (!(plant->counts >= 0 && plant->counts <= MOST_COUNTS))
        return error_set(error, STATUS_INPUT, "counts of mean %g, expected %g at most",
                         plant->counts, MOST_COUNTS);
    return STATUS_OK;
}

static enum status plan_supports(struct supports *s, const struct generate_plant *plant,
                                 uint64_t memory, struct error *error)
{
    const int order = plant->shape.order;
    const double nnz = (double)plant->nnz, rounding = 1 + 1e-9;
    s->shape = plant->shape;
    TRY(check_plant(plant, error));
    if (plant->collinear) { /* all components have the whole core */
        fit_box(plant->shape.dims, order, nnz * rounding, s->core);
        memcpy(s->side, s->core, sizeof s->side);
        s->count = 1;
    } else {
        /* Supports overlap at random: if a place of the core is in one support with probability p,
         * it is in at least one of R supports with probability 1 - (1-p)^R. */
        fit_box(plant->shape.dims, order, nnz / CORE_DENSITY * rounding, s->core);
        const double core = product(s->core, order);
        const double p = nnz < core ? -expm1(log1p(-nnz / core) / (double)plant->rank) : 1;
        fit_box(s->core, order, p * core * rounding, s->side);
        s->count = plant->rank;
    }
    for (int n = 0; n < order && plant->collinear; n++)
        if (s->core[n] < plant->rank)
            return error_set(error, STATUS_INPUT,
                             "mode %d: a block of %ju nonzeros has %ju of its indices, expected "
                             "the rank, %ju, or more: ask for more nonzeros, or a longer mode",
                             n + 1, (uintmax_t)plant->nnz, (uintmax_t)s->core[n],
                             (uintmax_t)plant->rank);
    double places = product(s->side, order), listed = places * (double)s->count;
    if (listed > (double)MAX_NNZ)
        return error_set(error, STATUS_INPUT,
                         "%ju overlapping blocks of %.0f nonzeros are more than %ju",
                         (uintmax_t)s->count, places, (uintmax_t)MAX_NNZ);
    s->places = (uint64_t)places;
    double factors = 0, most = 0; /* entries of all factor matrices; of the columns of one */
    for (int n = 0; n < order; n++) {
        factors += (double)plant->shape.dims[n] * (double)plant->rank;
        most = fmax(most, plant->collinear ? (double)s->core[n] * (double)plant->rank : 0);
    }
    double needed = (factors + most) * sizeof(double) +
                    listed * ((double)coo_bytes(order, 1) + PLACE_SORT_BYTES);
    char takes[NUMBER_SIZE_TEXT], may[NUMBER_SIZE_TEXT];
    if (needed > (double)memory)
        return error_set(error, STATUS_MEMORY,
                         "%.0f nonzeros take %s of memory to make, %s may be used", listed,
                         number_size(number_whole(needed), takes), number_size(memory, may));
    return STATUS_OK;
}

/* The indices of a mode that a component has: the first side[n] of a permutation of the core. */
struct mode_support {
    struct permutation label;  /* from the core to indices; the same for all components */
    struct permutation member; /* of the core                                           */
};

static struct mode_support mode_support_create(const struct supports *s, int mode,
                                               uint64_t component, uint64_t seed)
{
    uint64_t stream = STREAM_SUPPORT + (uint64_t)mode;
    return (struct mode_support){
        permutation_create(s->shape.dims[mode], random_stream_at(seed, stream, UINT64_MAX)),
        permutation_create(s->core[mode], random_stream_at(seed, stream, component))};
}

static uint64_t support_index(const struct mode_support *m, uint64_t i)
{
    return permutation_apply(&m->label, permutation_apply(&m->member, i));
}

/* Sets entries that are exponentially distributed on each component's indices and zero elsewhere:
 * positive, and columns on the same indices still differ well (a cosine of 1/2). */
static void set_factor(struct ktensor *k, const struct supports *s, int mode, uint64_t seed)
{
    double *factor = k->factor[mode];
    memset(factor, 0, k->shape.dims[mode] * k->rank * sizeof *factor);
#pragma omp parallel for schedule(static)
    for (uint64_t r = 0; r < k->rank; r++) {
        struct mode_support m = mode_support_create(s, mode, r, seed);
        struct random_stream stream = random_stream_at(seed, (uint64_t)mode, r);
        for (uint64_t i = 0; i < s->side[mode]; i++)
            factor[support_index(&m, i) * k->rank + r] = -log(random_inner(random_next(&stream)));
    }
}

static double inner(const double *x, const double *y, uint64_t rows)
{
    double sum = 0;
    for (uint64_t i = 0; i < rows; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Subtracts from column r its projection on the columns before it, which are orthonormal. */
static void make_orthogonal(double *a, uint64_t rows, uint64_t r)
{
    double *x = a + r * rows;
    for (uint64_t s = 0; s < r; s++) {
        const double *q = a + s * rows;
        double part = inner(x, q, rows);
        for (uint64_t i = 0; i < rows; i++)
            x[i] -= part * q[i];
    }
}

/* a (count x rows) = columns of unit norm, one after the other, any two of which have this cosine;
 * rows >= count. A = Q G^(1/2), with the Gram G = (1 - cosine) I + cosine 1 1'. Its root is
 * own I + common 1 1'. */
static void collinear_columns(double *a, uint64_t rows, uint64_t count, double cosine,
                              uint64_t seed, uint64_t stream)
{
    double own = sqrt(1 - cosine), all = sqrt(1 - cosine + (double)count * cosine);
    double common = (all - own) / (double)count;
    /* Random orthonormal columns (Gram and Schmidt, twice: L. Giraud, J. Langou, M. Rozloznik, On
     * the loss of orthogonality in the Gram-Schmidt orthogonalization process, 2005). */
    for (uint64_t r = 0; r < count; r++) {
        double *x = a + r * rows;
        for (uint64_t i = 0; i < rows; i++)
            x[i] = random_normal(seed, stream, r * rows + i);
        make_orthogonal(a, rows, r);
        make_orthogonal(a, rows, r);
        double norm = sqrt(inner(x, x, rows));
        for (uint64_t i = 0; i < rows; i++)
            x[i] /= norm;
    }
    for (uint64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (uint64_t r = 0; r < count; r++)
            sum += a[r * rows + i];
        for (uint64_t r = 0; r < count; r++)
            a[r * rows + i] = own * a[r * rows + i] + common * sum;
    }
}

/* As set_factor, with columns of which any two have this cosine. STATUS_MEMORY. */
static enum status set_collinear_factor(struct ktensor *k, const struct supports *s, int mode,
                                        double cosine, uint64_t seed, struct error *error)
{
    uint64_t rows = s->core[mode];
    const struct mode_support m = mode_support_create(s, mode, 0, seed);
    double *column = memory_array(rows * k->rank, sizeof *column, error);
    TRY(error->status);
    collinear_columns(column, rows, k->rank, cosine, seed, STREAM_COLLINEAR + (uint64_t)mode);
    memset(k->factor[mode], 0, k->shape.dims[mode] * k->rank * sizeof *column);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < k->rank; r++)
            k->factor[mode][support_index(&m, i) * k->rank + r] = column[r * rows + i];
    memory_free(column);
    return STATUS_OK;
}

/* *x = the places of all supports, in lexicographic order. STATUS_MEMORY. */
static enum status find_places(struct coo *x, const struct supports *s, uint64_t seed,
                               struct error *error)
{
    struct ordering natural;
    ordering_natural(&natural, &s->shape);
    TRY(coo_create(x, &s->shape, s->count * s->places, error));
    for (uint64_t r = 0; r < s->count; r++) { /* places of several supports come several times */
        struct mode_support m[MAX_ORDER];
        for (int n = 0; n < s->shape.order; n++)
            m[n] = mode_support_create(s, n, r, seed);
#pragma omp parallel for schedule(static)
        for (uint64_t j = 0; j < s->places; j++) {
            uint64_t rest = j;
            for (int n = 0; n < s->shape.order; n++) {
                x->index[n][r * s->places + j] = (uint32_t)support_index(&m[n], rest % s->side[n]);
                rest /= s->side[n];
            }
        }
    }
    TRY(place_sort(x, &natural, error));
    return coo_resize(x, x->nnz, error);
}

/* x(i) = sum_r prod_n A_n(i_n, r) */
static void set_values(const struct ktensor *k, struct coo *x)
{
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < x->nnz; i++) {
        double value = 0;
        for (uint64_t r = 0; r < k->rank; r++) {
            double product = 1;
            for (int n = 0; n < k->shape.order; n++)
                product *= k->factor[n][x->index[n][i] * k->rank + r];
            value += product;
        }
        x->value[i] = value;
    }
}

/* The least k at which the sum of the probabilities of 0 to k is above a uniform number
 * (inversion). Rounding may leave that sum below the number for ever; then the probabilities have
 * vanished. */
static double draw_small(struct random_stream *stream, double mean)
{
    const double uniform = random_uniform(random_next(stream));
    double k = 0, probability = exp(-mean), sum = probability;
    while (sum <= uniform && sum + probability > sum) {
        k++;
        probability *= mean / k;
        sum += probability;
    }
    return k;
}

/* Replaces the values of x by counts (struct generate_plant), and drops those that are 0.
 * STATUS_INPUT where all are. */
static enum status draw_counts(struct coo *x, const struct generate_plant *plant, uint64_t seed,
                               struct error *error)
{
    const double mean = plant->counts;
    double sum = 0;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < x->nnz; i++)
        sum += x->value[i];
    const double scale = mean * (double)x->nnz / sum;
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < x->nnz; i++) {
        struct random_stream stream = random_stream_at(seed, STREAM_COUNTS, i);
        double left = scale * x->value[i];
        x->value[i] = 0;
        for (; left > AT_ONCE; left -= AT_ONCE)
            x->value[i] += draw_small(&stream, AT_ONCE);
        x->value[i] += draw_small(&stream, left);
    }
    for (uint64_t i = 0; i < x->nnz; i++) {
        if (x->value[i] == 0)
            continue;
        x->value[i] = plant->clipped ? 1 : x->value[i];
        coo_put(x, kept++, x, i);
    }
    if (kept == 0)
        return error_set(error, STATUS_INPUT, "all counts of mean %g are 0: expected a larger mean",
                         mean);
    return coo_resize(x, kept, error);
}

enum status generate_planted(struct coo *x, const struct generate_plant *plant, uint64_t seed,
                             uint64_t memory, struct progress *progress, struct error *error)
{
    struct supports supports;
    struct ktensor model = {0};
    *x = (struct coo){0};
    TRY(plan_supports(&supports, plant, memory, error));
    progress_stage(progress, "planting a model of rank %ju", (uintmax_t)plant->rank);
    TRY_OR(done, find_places(x, &supports, seed, error));
    TRY_OR(done, ktensor_create(&model, &plant->shape, plant->rank, error));
    for (int n = 0; n < model.shape.order; n++)
        if (!plant->collinear)
            set_factor(&model, &supports, n, seed);
        else
            TRY_OR(done,
                   set_collinear_factor(&model, &supports, n, plant->collinearity, seed, error));
    set_values(&model, x);
    if (plant->noise > 0) {
        const double scale = plant->noise * sqrt(coo_norm_sq(x) / (double)x->nnz);
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < x->nnz; i++)
            x->value[i] += scale * random_normal(seed, STREAM_NOISE, i);
    }
    if (plant->counts > 0)
        draw_counts(x, plant, seed, error);
done:
    if (error->status != STATUS_OK)
        coo_free(x);
    ktensor_free(&model);
    return error->status;
}
