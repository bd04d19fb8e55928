#include "checkpoint/checkpoint.h"

#include <isa-l/crc64.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static enum status damaged(const struct checkpoint *c, const char *what, struct error *error)
{
    return error_set(error, STATUS_INPUT, "%s: damaged: %s", c->name, what);
}

/* A copy of piece i of the directory, which lies within the file. */
static struct checkpoint_piece piece_at(const struct checkpoint *c, uint64_t i)
{
    struct checkpoint_piece p;
    memcpy(&p, c->map.bytes + c->page.header.directory_offset + i * sizeof p, sizeof p);
    return p;
}

static enum status check_version(const struct checkpoint *c, struct error *error)
{
    const struct checkpoint_header *h = &c->page.header;
    if (h->byte_order == __builtin_bswap32(CHECKPOINT_BYTE_ORDER))
        return error_set(error, STATUS_INPUT,
                         "%s: written by a machine with another byte order than this one", c->name);
    if (h->byte_order == CHECKPOINT_BYTE_ORDER && h->version != CHECKPOINT_VERSION)
        return error_set(error, STATUS_INPUT,
                         "%s: version %u of the format, but this blco reads version %d only",
                         c->name, h->version, CHECKPOINT_VERSION);
    if (h->byte_order != CHECKPOINT_BYTE_ORDER || h->header_crc != checkpoint_page_crc(h))
        return damaged(c, "the header's checksum is wrong", error);
    if (h->file_bytes > c->map.size)
        return error_set(error, STATUS_INPUT, "%s: cut off: %zu bytes, expected %ju", c->name,
                         c->map.size, (uintmax_t)h->file_bytes);
    return STATUS_OK;
}

#define CHECK_MODES(member, field)                                                                 \
    if (!(h->field[n] >= 0) || !isfinite(h->field[n]) || (n >= h->order && h->field[n] != 0))      \
        return false;

/* Whether a header with a good checksum has possible values that do not contradict each other. */
static bool is_consistent(const struct checkpoint *c, struct checkpoint_layout *l)
{
    const struct checkpoint_header *h = &c->page.header;
    uint64_t size = c->map.size;
    if (h->order < 1 || h->order > MAX_ORDER || h->nnz < 1 || h->nnz > MAX_NNZ || h->rank < 1 ||
        h->iterations < 1 || h->iterations > INT_MAX || h->small_changes > h->iterations ||
        h->init > GUESS_NVECS || !isfinite(h->fit) || !isfinite(h->change) ||
        h->nonneg >> h->order || h->fixed >> h->order || h->ridge_chosen > (h->holdout > 0))
        return false;
    const bool is_auto =
        h->precision == CHECKPOINT_AUTO_SINGLE || h->precision == CHECKPOINT_AUTO_DOUBLE;
    const bool precision = is_auto ? h->single_iterations <= h->iterations &&
                                         (h->precision == CHECKPOINT_AUTO_DOUBLE ||
                                          h->single_iterations == h->iterations)
                                   : h->precision <= CHECKPOINT_SINGLE && h->single_iterations == 0;
    const uint32_t all = CHECKPOINT_MOMENTUM | CHECKPOINT_EXTRAPOLATED | CHECKPOINT_REJECTED;
    const bool momentum = h->momentum & CHECKPOINT_MOMENTUM
                              ? !(h->momentum & ~all) && h->momentum != all && h->momentum_t >= 1 &&
                                    isfinite(h->momentum_t) && isfinite(h->momentum_objective) &&
                                    h->momentum_noise >= 0 && isfinite(h->momentum_noise) &&
                                    h->restarts <= h->iterations
                              : h->momentum == 0;
    const bool best = h->best_iteration <= h->iterations && isfinite(h->best_fit) &&
                      h->best_precision <= PRECISION_SINGLE && h->best_noise >= 0 &&
                      (h->best_iteration > 0 || (h->best_fit == 0 && h->best_precision == 0));
    const bool unlisted = h->weighed == 1 ? h->unlisted >= 0 && h->unlisted <= 1 && h->fade >= 0 &&
                                                h->fade < 1 && h->ridge_scale <= RIDGE_COUNTED
                                          : h->weighed == 0 && h->unlisted == 0 && h->fade == 0 &&
                                                h->ridge_scale == 0;
    const bool holdout =
        h->holdout > 0 ? h->holdout < 1 && h->holdout_error >= 0 && h->best_holdout_error >= 0 &&
                             h->least_holdout_error >= 0 && h->least_iteration <= h->iterations
                       : h->holdout == 0 && h->holdout_seed == 0 && h->holdout_error == 0 &&
                             h->best_holdout_error == 0 && h->least_holdout_error == 0 &&
                             h->least_iteration == 0;
    const bool loss = loss_is_known(h->loss) &&
                      h->solver <= (loss_of(h->loss)->rates ? SOLVER_MU : 0u) &&
                      h->inner <= (h->solver == SOLVER_MU ? PROBLEM_MOST_INNER : 1u);
    if (!precision || !momentum || !best || !unlisted || !holdout || !loss)
        return false;
    for (uint32_t n = 0; n < MAX_ORDER; n++) {
        CHECKPOINT_MODE_FIELDS(CHECK_MODES)
    }
    for (uint32_t n = 0; n < h->order; n++)
        if (h->dims[n] < 1 || h->dims[n] > MAX_LENGTH)
            return false;
    bool previous = h->momentum & CHECKPOINT_EXTRAPOLATED;
    return checkpoint_layout(l, SHAPE((int)h->order, h->dims), h->rank, previous,
                             h->best_iteration > 0 && h->best_iteration < h->iterations) &&
           h->file_bytes == size && h->directory_offset >= l->end && h->directory_offset <= size &&
           h->directory_offset % 8 == 0 &&
           (size - h->directory_offset) / sizeof(struct checkpoint_piece) == h->pieces &&
           (size - h->directory_offset) % sizeof(struct checkpoint_piece) == 0;
}

/* Whether the pieces from *next on are the rows of the matrix, without a gap; *next = the piece
 * after them. */
static bool has_rows(const struct checkpoint *c, const struct checkpoint_layout *l,
                     const struct checkpoint_matrix *m, uint64_t *next)
{
    uint64_t rows = 0;
    while (rows < m->rows) {
        if (*next == c->page.header.pieces)
            return false;
        const struct checkpoint_piece p = piece_at(c, (*next)++);
        if (p.kind != m->kind || p.version != 1 || p.mode != (uint32_t)(m->mode + 1) ||
            p.first != rows || p.rows < 1 || p.rows > m->rows - rows ||
            p.offset != m->offset + rows * l->row_bytes || p.bytes != p.rows * l->row_bytes)
            return false;
        rows += p.rows;
    }
    return true;
}

static enum status check_directory(const struct checkpoint *c, const struct checkpoint_layout *l,
                                   struct error *error)
{
    const struct checkpoint_header *h = &c->page.header;
    uint64_t bytes = h->pieces * sizeof(struct checkpoint_piece), next = 0, end = l->end;
    const uint8_t *directory = (const uint8_t *)c->map.bytes + h->directory_offset;
    if (h->directory_crc != crc64_ecma_refl(0, directory, bytes))
        return damaged(c, "the directory's checksum is wrong", error);
    for (int i = 0; i < l->count; i++)
        if (!has_rows(c, l, &l->matrix[i], &next))
            return damaged(c, "its pieces do not fit together", error);
    for (; next < h->pieces; next++) { /* without a gap, and of kinds that may be skipped */
        const struct checkpoint_piece p = piece_at(c, next);
        if (p.offset != end || p.bytes > h->directory_offset - end)
            return damaged(c, "its pieces do not fit together", error);
        if (!(p.flags & CHECKPOINT_MAY_SKIP))
            return error_set(error, STATUS_INPUT,
                             "%s: has a section of kind %u, which this blco does not know", c->name,
                             p.kind);
        end += p.bytes;
    }
    if (end != h->directory_offset)
        return damaged(c, "its pieces do not fit together", error);
    return STATUS_OK;
}

static enum status check_pieces(const struct checkpoint *c, int share, int shares,
                                struct error *error)
{
    uint64_t pieces = c->page.header.pieces, bad = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : bad)
    for (uint64_t i = (uint64_t)share; i < pieces; i += (uint64_t)shares) {
        const struct checkpoint_piece p = piece_at(c, i);
        bad += p.offset > c->map.size || p.bytes > c->map.size - p.offset ||
               p.crc != crc64_ecma_refl(0, (const uint8_t *)c->map.bytes + p.offset, p.bytes);
        filemap_let_go(&c->map, p.offset, p.offset + p.bytes);
    }
    return bad ? damaged(c, "a checksum is wrong", error) : STATUS_OK;
}

#define READ(member, field)       a->member = (__typeof__(a->member))h->field;
#define READ_MODES(member, field) memcpy(a->member, h->field, sizeof h->field);

static void fill_about(struct checkpoint *c)
{
    const struct checkpoint_header *h = &c->page.header;
    struct checkpoint_about *a = &c->about;
    c->crc = h->header_crc;
    *a = (struct checkpoint_about){
        .tensor.shape = shape_of((int)h->order, h->dims),
        .problem.precision = h->precision == CHECKPOINT_DOUBLE   ? POLICY_DOUBLE
                             : h->precision == CHECKPOINT_SINGLE ? POLICY_SINGLE
                                                                 : POLICY_AUTO,
        .factors = h->precision == CHECKPOINT_SINGLE || h->precision == CHECKPOINT_AUTO_SINGLE
                       ? PRECISION_SINGLE
                       : PRECISION_DOUBLE};
    CHECKPOINT_FIELDS(READ)
    CHECKPOINT_MODE_FIELDS(READ_MODES)
    mode_rules_flags(a->problem.rules.nonneg, h->nonneg);
    mode_rules_flags(a->problem.rules.fixed, h->fixed);
    a->has_momentum = h->momentum & CHECKPOINT_MOMENTUM;
    if (a->has_momentum) {
        a->momentum =
            (struct momentum){.precision = a->factors,
                              .sweeps = a->iterations,
                              .extrapolated = (h->momentum & CHECKPOINT_EXTRAPOLATED) != 0,
                              .rejected = (h->momentum & CHECKPOINT_REJECTED) != 0};
        CHECKPOINT_MOMENTUM_FIELDS(READ)
    }
    for (int m = 0; m < CHECKPOINT_MODELS; m++) {
        c->model[m].rows.shape = a->tensor.shape;
        c->model[m].rows.rank = a->problem.rank;
        c->model[m].carried.precision = m == CHECKPOINT_BEST ? a->best_factors : a->factors;
    }
}

/* Matrices of one kind follow each other, so that the first is where all of them begin. */
static void find_arrays(struct checkpoint *c, const struct checkpoint_layout *l)
{
    for (int i = l->count - 1; i >= 0; i--) {
        const struct checkpoint_matrix *m = &l->matrix[i];
        struct checkpoint_rows *model = &c->model[m->model];
        double *rows =
            (double *)(uintptr_t)(c->map.bytes + m->offset); /* only read, whatever the type says */
        if (m->array == CHECKPOINT_LAMBDA)
            model->rows.lambda = rows;
        else if (m->array == CHECKPOINT_SCALE)
            model->carried.scale = rows;
        else if (m->array == CHECKPOINT_GRAM)
            model->carried.gram = rows;
        else
            model->rows.factor[m->mode] = rows;
    }
    c->model[CHECKPOINT_PREVIOUS].rows.lambda = c->model[CHECKPOINT_STATE].rows.lambda;
}

enum status checkpoint_open(struct checkpoint *c, const char *path, int share, int shares,
                            struct error *error)
{
    struct checkpoint_layout l;
    *c = (struct checkpoint){.name = path};
    TRY_OR(failed, filemap_open(&c->map, path, error));
    const size_t size = c->map.size;
    memcpy(c->page.bytes, c->map.bytes, size < CHECKPOINT_PAGE ? size : CHECKPOINT_PAGE);
    if (memcmp(c->page.bytes, CHECKPOINT_MAGIC, CHECKPOINT_MAGIC_BYTES) != 0)
        error_set(error, STATUS_INPUT, "%s: not a checkpoint of blco", path);
    else if (size < CHECKPOINT_PAGE)
        error_set(error, STATUS_INPUT, "%s: cut off: %zu bytes, expected at least %d", path, size,
                  CHECKPOINT_PAGE);
    TRY_OR(failed, error->status);
    TRY_OR(failed, check_version(c, error));
    if (!is_consistent(c, &l))
        TRY_OR(failed, damaged(c, "its header contradicts itself", error));
    TRY_OR(failed, check_directory(c, &l, error));
    TRY_OR(failed, check_pieces(c, share, shares, error));
    fill_about(c);
    find_arrays(c, &l);
    return STATUS_OK;
failed:
    checkpoint_close(c);
    return error->status;
}

void checkpoint_close(struct checkpoint *c)
{
    filemap_close(&c->map);
    *c = (struct checkpoint){0};
}

/* --- whether a run can go on from it --- */

/* "1,3", or "none". */
static const char *name_modes(char text[64], unsigned bits)
{
    int used = snprintf(text, 64, "%s", bits ? "" : "none");
    for (int n = 0; bits >> n; n++)
        if (bits >> n & 1)
            used += snprintf(text + used, 64 - (size_t)used, "%s%d",
                             bits & ((1u << n) - 1) ? "," : "", n + 1);
    return text;
}

static enum status check_modes(const struct checkpoint *c, const char *option, const bool *then,
                               const bool *now, struct error *error)
{
    char before[64], after[64];
    unsigned modes = (1u << c->about.tensor.shape.order) - 1;
    unsigned had = mode_rules_bits(then) & modes, has = mode_rules_bits(now) & modes;
    if (had == has)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT,
                     "%s: a checkpoint of a run with other modes in %s: %s, but this run has %s",
                     c->name, option, name_modes(before, had), name_modes(after, has));
}

static const char *holdout_text(const struct holdout *h, char text[64])
{
    if (h->share > 0)
        snprintf(text, 64, "with --holdout %g:%ju", h->share, (uintmax_t)h->seed);
    else
        snprintf(text, 64, "without --holdout");
    return text;
}

enum status checkpoint_check_run(const struct checkpoint *c, const struct problem *now,
                                 struct error *error)
{
    const struct problem *then = &c->about.problem;
    const struct unlisted *u = &then->unlisted;
    char before[64], after[64];
    if (then->rank != now->rank)
        return error_set(error, STATUS_INPUT, "%s: a checkpoint of rank %ju, but -r is %ju",
                         c->name, (uintmax_t)then->rank, (uintmax_t)now->rank);
    if (u->weighed != now->unlisted.weighed || u->weight != now->unlisted.weight)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint with --unlisted %s, but this run has %s", c->name,
                         unlisted_text(u, before), unlisted_text(&now->unlisted, after));
    if (u->fade != now->unlisted.fade)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint with --fade %g, but this run has %g", c->name, u->fade,
                         now->unlisted.fade);
    for (const struct problem_choice *choice = problem_choices; choice->name; choice++) {
        const char *had = problem_word(then, choice), *has = problem_word(now, choice);
        if (strcmp(had, has) != 0)
            return error_set(error, STATUS_INPUT,
                             "%s: a checkpoint with --%s %s, but this run has %s", c->name,
                             choice->name, had, has);
    }
    if (problem_inner(then) != problem_inner(now))
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint with --inner %d, but this run has %d", c->name,
                         problem_inner(then), problem_inner(now));
    if (then->holdout.share != now->holdout.share || then->holdout.seed != now->holdout.seed)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint of a run %s, but this run is one %s", c->name,
                         holdout_text(&then->holdout, before), holdout_text(&now->holdout, after));
    TRY(check_modes(c, "--nonneg", then->rules.nonneg, now->rules.nonneg, error));
    return check_modes(c, "--fix", then->rules.fixed, now->rules.fixed, error);
}

enum status checkpoint_check_shape(const struct checkpoint *c, const struct shape *shape,
                                   uint64_t nnz, struct error *error)
{
    const struct fingerprint *t = &c->about.tensor;
    if (t->shape.order != shape->order)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint of another tensor: it has %d modes, this one %d",
                         c->name, t->shape.order, shape->order);
    for (int n = 0; n < shape->order; n++)
        if (t->shape.dims[n] != shape->dims[n])
            return error_set(error, STATUS_INPUT,
                             "%s: a checkpoint of another tensor: its mode %d has length %ju, that "
                             "of this one %ju",
                             c->name, n + 1, (uintmax_t)t->shape.dims[n],
                             (uintmax_t)shape->dims[n]);
    if (t->nnz != nnz)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint of another tensor: it has %ju nonzeros, this one %ju",
                         c->name, (uintmax_t)t->nnz, (uintmax_t)nnz);
    return STATUS_OK;
}

enum status checkpoint_check_hash(const struct checkpoint *c, uint64_t hash, struct error *error)
{
    if (c->about.tensor.hash != hash)
        return error_set(error, STATUS_INPUT,
                         "%s: a checkpoint of another tensor, of the same lengths and number of "
                         "nonzeros: their coordinates or values differ",
                         c->name);
    return STATUS_OK;
}
