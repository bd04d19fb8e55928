#include "model/ktensor_match.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "model/factor_columns.h"

/* Between these norms, products of columns neither overflow nor lose digits by underflow. */
#define LEAST_NORM   1e-140
#define LARGEST_NORM 1e140

/* One of the two models. */
struct side {
    const struct ktensor *model;
    struct column *column; /* (R) the columns of the present mode                             */
    double *norm;          /* (R) their norms                                                 */
    double *weight;        /* (R) lambda times the norms of the modes so far                  */
    const double *factor;  /* (I_n x R) the factor matrix of the present mode, or `scaled`     */
    double *scaled;        /* (I_n x R) with columns of norm 1 or 0; NULL where norms are usual */
};

static enum status side_create(struct side *s, const struct ktensor *k, struct error *error)
{
    *s = (struct side){.model = k};
    s->column = memory_array(k->rank, sizeof *s->column, error);
    s->norm = memory_array(k->rank, sizeof *s->norm, error);
    s->weight = memory_array(k->rank, sizeof *s->weight, error);
    TRY(error->status);
    memcpy(s->weight, k->lambda, k->rank * sizeof *s->weight);
    return STATUS_OK;
}

static void side_free(struct side *s)
{
    memory_free(s->column, s->norm, s->weight, s->scaled);
}

/* s->factor = a copy of the factor matrix, with columns of norm 1 or 0. */
static enum status scale_columns(struct side *s, int n, struct error *error)
{
    const struct ktensor *k = s->model;
    uint64_t rank = k->rank, threads = (uint64_t)omp_get_max_threads();
    uint64_t *same = memory_array(rank, sizeof *same, error);
    double *divisor = memory_array(rank, sizeof *divisor, error);
    double *buffer = memory_array(threads, rank * sizeof *buffer, error);
    s->scaled = memory_array(k->shape.dims[n], rank * sizeof *s->scaled, error);
    TRY_OR(done, error->status);
    for (uint64_t r = 0; r < rank; r++) {
        same[r] = r;
        divisor[r] = s->norm[r] > 0 ? s->norm[r] : 1;
        s->norm[r] = s->norm[r] > 0;
    }
    memory_copy(s->scaled, k->factor[n], k->shape.dims[n] * rank * sizeof *s->scaled);
    factor_columns_rearrange(s->scaled, k->shape.dims[n], rank, same, divisor, buffer);
    s->factor = s->scaled;
done:
    memory_free(same, divisor, buffer);
    return error->status;
}

static enum status side_take_mode(struct side *s, int n, struct error *error)
{
    const struct ktensor *k = s->model;
    bool usual = true;
    memory_free(s->scaled);
    s->scaled = NULL;
    s->factor = k->factor[n];
    const struct factor_rows rows = {.a = s->factor, .rows = k->shape.dims[n], .rank = k->rank};
    TRY(factor_columns_measure(&rows, s->column, error));
    for (uint64_t r = 0; r < k->rank; r++) {
        double norm = column_norm(&s->column[r]);
        s->norm[r] = norm;
        s->weight[r] = norm == 0 || s->weight[r] == 0 ? 0 : s->weight[r] * norm;
        usual = usual && (norm == 0 || (norm >= LEAST_NORM && norm <= LARGEST_NORM));
    }
    return usual ? STATUS_OK : scale_columns(s, n, error);
}

static enum status match_create(struct ktensor_match *m, const struct ktensor *a,
                                const struct ktensor *b, const bool *modes, struct error *error)
{
    if (a->shape.order != b->shape.order)
        return error_set(error, STATUS_INPUT,
                         "a model of %d modes and one of %d cannot be compared", a->shape.order,
                         b->shape.order);
    for (int n = 0; n < a->shape.order; n++)
        if ((!modes || modes[n]) && a->shape.dims[n] != b->shape.dims[n])
            return error_set(
                error, STATUS_INPUT, "mode %d: a length of %llu and one of %llu cannot be compared",
                n + 1, (unsigned long long)a->shape.dims[n], (unsigned long long)b->shape.dims[n]);
    *m = (struct ktensor_match){
        .pairs = a->rank < b->rank ? a->rank : b->rank, .rank_a = a->rank, .rank_b = b->rank};
    for (int n = 0; n < a->shape.order; n++)
        if (!modes || modes[n])
            m->mode[m->order++] = n;
    m->pair = memory_array(m->pairs, sizeof *m->pair, error);
    m->cosine = memory_array(m->pairs, (size_t)m->order * sizeof *m->cosine, error);
    m->partner_a = memory_array(m->rank_a, sizeof *m->partner_a, error);
    m->partner_b = memory_array(m->rank_b, sizeof *m->partner_b, error);
    TRY(error->status);
    for (uint64_t r = 0; r < m->rank_a; r++)
        m->partner_a[r] = NO_PARTNER;
    for (uint64_t s = 0; s < m->rank_b; s++)
        m->partner_b[s] = NO_PARTNER;
    return STATUS_OK;
}

/* Sets the partners; score (Ra x Rb). The assignment takes no more rows than columns. */
static enum status choose_partners(struct ktensor_match *m, const double *score,
                                   struct error *error)
{
    const bool turned = m->rank_a > m->rank_b;
    const uint64_t rows = turned ? m->rank_b : m->rank_a, columns = turned ? m->rank_a : m->rank_b;
    uint64_t *partner = turned ? m->partner_b : m->partner_a;
    uint64_t *back = turned ? m->partner_a : m->partner_b;
    double *cell = memory_array(rows, columns * sizeof *cell, error);
    TRY(error->status);
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t s = 0; s < columns; s++)
            cell[r * columns + s] = turned ? score[s * rows + r] : score[r * columns + s];
    assignment_solve(cell, rows, columns, partner, error);
    for (uint64_t r = 0; r < rows && error->status == STATUS_OK; r++)
        back[partner[r]] = r;
    memory_free(cell);
    return error->status;
}

/* Fills m->pair and its sums from the scores and cosines of all pairs. */
static void fill_pairs(struct ktensor_match *m, const double *score, const double *cosine)
{
    uint64_t size = m->rank_a * m->rank_b, order = (uint64_t)m->order, p = 0;
    for (uint64_t r = 0; r < m->rank_a; r++) {
        if (m->partner_a[r] == NO_PARTNER)
            continue;
        struct ktensor_pair pair = {.a = r, .b = m->partner_a[r]};
        uint64_t at = r * m->rank_b + pair.b;
        pair.score = score[at];
        pair.congruence = (m->weight_a[r] < 0) == (m->weight_b[pair.b] < 0) ? 1 : -1;
        for (uint64_t n = 0; n < order; n++) {
            m->cosine[p * order + n] = cosine[n * size + at];
            pair.congruence *= cosine[n * size + at];
        }
        m->score += pair.score / (double)m->pairs;
        m->congruence += fabs(pair.congruence) / (double)m->pairs;
        m->pair[p++] = pair;
    }
}

/* cosine (N x Ra x Rb) = those of the modes that are compared; all modes count in the weights. */
static enum status take_cosines(struct side *a, struct side *b, const struct ktensor_match *m,
                                double *cosine, struct error *error)
{
    const uint64_t rank_a = m->rank_a, rank_b = m->rank_b;
    for (int n = 0, k = 0; n < a->model->shape.order; n++) {
        TRY(side_take_mode(a, n, error));
        TRY(side_take_mode(b, n, error));
        if (k == m->order || m->mode[k] != n)
            continue;
        double *c = cosine + (uint64_t)k++ * rank_a * rank_b;
        const uint64_t length = a->model->shape.dims[n];
        const struct factor_rows rows_a = {.a = a->factor, .rows = length, .rank = rank_a};
        const struct factor_rows rows_b = {.a = b->factor, .rows = length, .rank = rank_b};
        TRY(factor_columns_products(&rows_a, &rows_b, c, error));
        for (uint64_t i = 0; i < rank_a * rank_b; i++) {
            const double norms = a->norm[i / rank_b] * b->norm[i % rank_b];
            c[i] = norms > 0 ? fmax(-1, fmin(c[i] / norms, 1)) : 0;
        }
    }
    return STATUS_OK;
}

enum status ktensor_match(struct ktensor_match *match, const struct ktensor *a,
                          const struct ktensor *b, bool with_weights, const bool *modes,
                          struct error *error)
{
    struct side sa = {0}, sb = {0};
    double *cosine = NULL, *score = NULL;
    *match = (struct ktensor_match){0};
    TRY_OR(done, match_create(match, a, b, modes, error));
    match->with_weights = with_weights;
    TRY_OR(done, side_create(&sa, a, error));
    TRY_OR(done, side_create(&sb, b, error));
    score = memory_array(a->rank, b->rank * sizeof *score, error);
    cosine = memory_array(a->rank * b->rank, (size_t)match->order * sizeof *cosine, error);
    TRY_OR(done, error->status);
    TRY_OR(done, take_cosines(&sa, &sb, match, cosine, error));
    const uint64_t size = a->rank * b->rank;
    for (uint64_t i = 0; i < size; i++) {
        const double x = fabs(sa.weight[i / b->rank]), y = fabs(sb.weight[i % b->rank]);
        score[i] = !with_weights || x == y ? 1 : fmin(x, y) / fmax(x, y); /* equal, even infinite */
        for (int n = 0; n < match->order; n++)
            score[i] *= fabs(cosine[(uint64_t)n * size + i]);
    }
    TRY_OR(done, choose_partners(match, score, error));
    match->weight_a = sa.weight;
    match->weight_b = sb.weight;
    sa.weight = sb.weight = NULL;
    fill_pairs(match, score, cosine);
done:
    side_free(&sa);
    side_free(&sb);
    memory_free(score, cosine);
    if (error->status != STATUS_OK)
        ktensor_match_free(match);
    return error->status;
}

void ktensor_match_free(struct ktensor_match *match)
{
    memory_free(match->pair, match->cosine, match->weight_a, match->weight_b, match->partner_a,
                match->partner_b);
    *match = (struct ktensor_match){0};
}

enum status ktensor_score(const struct ktensor *a, const struct ktensor *b, int with_lambda,
                          double *score, double *component, struct error *error)
{
    struct ktensor_match match;
    TRY(ktensor_match(&match, a, b, with_lambda, NULL, error));
    *score = match.score * (double)match.pairs / (double)b->rank;
    for (uint64_t s = 0; component && s < b->rank; s++)
        component[s] = 0;
    for (uint64_t p = 0; component && p < match.pairs; p++)
        component[match.pair[p].b] = match.pair[p].score;
    ktensor_match_free(&match);
    return STATUS_OK;
}

#define NOBODY UINT64_MAX

/* The cost of a pair is row_price + column_price - score. Prices are such that no cost is negative
 * and the cost of each assigned pair is 0: the assignment is then the best one. Rows are assigned
 * one after the other. The search for a row's column begins at an additional column, number
 * `columns`, which this row has meanwhile. */
struct search {
    const double *score; /* (rows x columns); borrowed                                       */
    uint64_t rows, columns;
    double *row_price;    /* (rows)                                                           */
    double *column_price; /* (columns + 1)                                                    */
    uint64_t *row;        /* (columns + 1) the row that has the column, or NOBODY             */
    double *distance;     /* (columns) the least cost of a path to the column                 */
    uint64_t *previous;   /* (columns) the column before it on that path                      */
    bool *reached;        /* (columns + 1) whether the path is known to be the shortest       */
};

/* Continues the paths by the row that has column `from`. Returns the nearest column that is not yet
 * reached. */
static uint64_t extend(struct search *s, uint64_t from)
{
    uint64_t row = s->row[from], nearest = NOBODY;
    const double *score = s->score + row * s->columns;
    for (uint64_t c = 0; c < s->columns; c++) {
        if (s->reached[c])
            continue;
        double cost = s->row_price[row] + s->column_price[c] - score[c];
        if (cost < s->distance[c]) {
            s->distance[c] = cost;
            s->previous[c] = from;
        }
        if (nearest == NOBODY || s->distance[c] < s->distance[nearest])
            nearest = c;
    }
    return nearest;
}

/* Gives the row a column; rows that have columns already may change them. */
static void assign(struct search *s, uint64_t row)
{
    uint64_t start = s->columns, at = start;
    for (uint64_t c = 0; c <= s->columns; c++)
        s->reached[c] = false;
    for (uint64_t c = 0; c < s->columns; c++)
        s->distance[c] = INFINITY;
    s->row[start] = row;
    while (s->row[at] != NOBODY) {
        s->reached[at] = true;
        uint64_t nearest = extend(s, at);
        /* The prices change so that the path to the nearest column costs 0. */
        const double step = s->distance[nearest];
        for (uint64_t c = 0; c <= s->columns; c++)
            if (s->reached[c]) {
                s->row_price[s->row[c]] -= step;
                s->column_price[c] += step;
            } else if (c < s->columns) {
                s->distance[c] -= step;
            }
        at = nearest;
    }
    while (at != start) {
        s->row[at] = s->row[s->previous[at]];
        at = s->previous[at];
    }
}

enum status assignment_solve(const double *score, uint64_t rows, uint64_t columns, uint64_t *column,
                             struct error *error)
{
    struct search s = {.score = score, .rows = rows, .columns = columns};
    s.row_price = memory_zeros(rows, sizeof *s.row_price, error);
    s.column_price = memory_zeros(columns + 1, sizeof *s.column_price, error);
    s.row = memory_array(columns + 1, sizeof *s.row, error);
    s.distance = memory_array(columns, sizeof *s.distance, error);
    s.previous = memory_array(columns, sizeof *s.previous, error);
    s.reached = memory_array(columns + 1, sizeof *s.reached, error);
    TRY_OR(done, error->status);
    for (uint64_t c = 0; c <= columns; c++)
        s.row[c] = NOBODY;
    for (uint64_t r = 0; r < rows; r++)
        assign(&s, r);
    for (uint64_t c = 0; c < columns; c++)
        if (s.row[c] != NOBODY)
            column[s.row[c]] = c;
done:
    memory_free(s.row_price, s.column_price, s.row, s.distance, s.previous, s.reached);
    return error->status;
}
