#include "report/residuals.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "formats/ktensor/npy.h"
#include "numerics/poisson_term.h"
#include "numerics/random_counter.h"

#define PART       4096 /* entries that are passed over together where none of them is strange */
#define FEW_PARTS  256  /* parts that are looked at by all threads at a time                   */
#define LEAST_ROOM 64   /* strange entries */

#define KEPT        (UINT64_C(1) << 20) /* p-values of listed entries, at least */
#define KEPT_ABSENT (UINT64_C(1) << 16) /* absent cells, at least */
#define SEARCHED    UINT64_C(300000000) /* rates that a search for these computes, at most */

#define PLACE_SEED 6 /* of random numbers */

#define ALARM 0.05 /* an adjusted p-value of at most so much is counted */

enum status residuals_begin(struct residuals *r, const struct shape *shape, const struct loss *loss,
                            uint64_t strangest, bool zeros, struct error *error)
{
    *r = (struct residuals){.loss = loss,
                            .shape = *shape,
                            .strangest = strangest,
                            .weakest = -1,
                            .zeros = zeros,
                            .added = {.shape = *shape, .most = SEARCHED}};
    p_values_begin(&r->p, strangest > KEPT ? strangest : KEPT);
    for (int n = 0; n < shape->order; n++) {
        struct slice_residuals *s = &r->slice[n];
        s->squares = memory_zeros(shape->dims[n], sizeof *s->squares, error);
        s->known = memory_zeros(shape->dims[n], sizeof *s->known, error);
        if (error->status != STATUS_OK) {
            residuals_free(r);
            return error->status;
        }
    }
    return STATUS_OK;
}

/* Adds the residuals to the sums of the slices of mode n, or of all entries for n = -1, each in the
 * order of the entries. */
static void add_squares(struct residuals *r, int n, const struct coo *x, const double *model)
{
    for (uint64_t i = 0; i < x->nnz; i++) {
        const double residual = loss_residual(r->loss, x->value[i], model[i]);
        if (isnan(residual))
            continue;
        if (n >= 0) {
            r->slice[n].squares[x->index[n][i]] += residual * residual;
            r->slice[n].known[x->index[n][i]]++;
        } else {
            r->squares += residual * residual;
            r->absolutes += fabs(residual);
            r->known++;
            r->raised += r->loss->rates && model[i] <= 0;
        }
    }
}

/* --- strange entries --- */

static int compare_entries(const void *a, const void *b)
{
    const struct strange_entry *x = a, *y = b;
    if (x->strangeness != y->strangeness)
        return x->strangeness > y->strangeness ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Threads look at some parts at a time; the entries of those that have strange ones are looked at
 * once more, in their order. */
static enum status find_strange(struct residuals *r, const struct coo *x, const double *model,
                                struct error *error)
{
    const uint64_t step = (uint64_t)PART * FEW_PARTS;
    for (uint64_t begin = 0; begin < x->nnz; begin += step) {
        const uint64_t end = least_of(begin + step, x->nnz);
        bool strange[FEW_PARTS] = {false};
#pragma omp parallel for schedule(dynamic)
        for (uint64_t first = begin; first < end; first += PART) {
            int any = 0;
            for (uint64_t i = first; i < least_of(first + PART, end); i++) {
                const double value = x->value[i];
                r->strangeness[i - begin] = r->loss->log_p
                                                ? -r->loss->log_p(value, model[i])
                                                : fabs(loss_residual(r->loss, value, model[i]));
                any |= r->strangeness[i - begin] > r->weakest;
            }
            strange[(first - begin) / PART] = any;
        }
        for (uint64_t i = begin; i < end; i++) {
            if (!strange[(i - begin) / PART]) { /* to the last entry of the part */
                i += least_of(PART, end - i) - 1;
                continue;
            }
            struct strange_entry e = {.number = r->entries + i,
                                      .value = x->value[i],
                                      .model = model[i],
                                      .strangeness = r->strangeness[i - begin]};
            if (!(e.strangeness > r->weakest))
                continue;
            if (r->count == r->room && r->room < r->strangest) {
                const uint64_t room = least_of(r->strangest, 2 * r->room + LEAST_ROOM);
                TRY(memory_resize(&r->entry, room, sizeof *r->entry, error));
                r->room = room;
            }
            coo_coordinates(x, i, e.index);
            best_keep(r->entry, &r->count, r->strangest, sizeof e, compare_entries, &e);
            if (r->count == r->strangest)
                r->weakest = r->entry[0].strangeness;
        }
        if (!r->loss->log_p)
            continue;
        for (uint64_t i = 0; i < end - begin; i++)
            r->strangeness[i] *= -1;
        TRY(p_values_add(&r->p, r->strangeness, end - begin, error));
    }
    return STATUS_OK;
}

/* --- cells that are not added --- */

static enum status find_absent(struct residuals *r, const struct ktensor *k,
                               struct progress *progress, struct error *error)
{
    const uint64_t wanted = r->strangest > KEPT_ABSENT ? r->strangest : KEPT_ABSENT;
    progress_stage(progress, "searching unlisted entries");
    r->searched =
        unlisted_best_find(&r->absent, k, &r->added, wanted, progress, error) == STATUS_OK;
    if (error->status == STATUS_INPUT) { /* too many rates are alike */
        *error = (struct error){0};
        p_values_leave(&r->p, -INFINITY);
        return STATUS_OK;
    }
    TRY(error->status);
    for (uint64_t i = 0; i < r->absent.count; i++) {
        const double log_p = r->loss->log_p(0, r->absent.entry[i].value);
        TRY(p_values_add(&r->p, &log_p, 1, error));
        if (i == wanted - 1) /* other cells have smaller rates, and larger p-values */
            p_values_leave(&r->p, log_p);
    }
    return STATUS_OK;
}

enum status residuals_rank(struct residuals *r, const struct ktensor *k, struct progress *progress,
                           struct error *error)
{
    if (r->count > 0)
        qsort(r->entry, r->count, sizeof *r->entry, compare_entries);
    for (int n = 0; n < r->shape.order; n++)
        TRY(top_entries_find(&r->top[n], r->slice[n].squares, r->shape.dims[n], 1, r->strangest,
                             error));
    if (r->strangest == 0 || !r->loss->log_p)
        return STATUS_OK;
    r->cells = (double)r->known;
    if (r->zeros) {
        double all = 1;
        for (int n = 0; n < r->shape.order; n++)
            all *= (double)r->shape.dims[n];
        r->cells = fmax(r->cells, all - (double)(r->entries - r->known));
        TRY(find_absent(r, k, progress, error));
    }
    return p_values_adjust(&r->p, r->cells, error);
}

/* --- all entries --- */

/* The random part of an entry's own probability is a function of its number. */
static void count_places(struct residuals *r, const struct coo *x, const double *model)
{
    uint64_t place[PLACES] = {0};
#pragma omp parallel for schedule(dynamic, PART) reduction(+ : place[:PLACES])
    for (uint64_t i = 0; i < x->nnz; i++) {
        const double value = x->value[i], least = r->zeros ? 1 : 0;
        uint64_t word[2];
        if (isnan(model[i]) || !(value >= least) || value != floor(value))
            continue;
        random_words(PLACE_SEED, 0, r->entries + i, word);
        const double part = random_uniform(word[0]);
        const double at = r->loss->place(value, model[i], least, part);
        place[least_of((uint64_t)(at * PLACES), PLACES - 1)]++;
    }
    for (int k = 0; k < PLACES; k++) {
        r->place[k] += place[k];
        r->placed += place[k];
    }
}

/* A thread adds to the slices of one mode at a time, so that each sum has its order. */
enum status residuals_add(struct residuals *r, const struct coo *x, const double *model,
                          struct error *error)
{
#pragma omp parallel for schedule(dynamic)
    for (int n = -1; n < r->shape.order; n++)
        add_squares(r, n, x, model);
    if (r->places && r->loss->place)
        count_places(r, x, model);
    if (r->strangest > 0) {
        if (!r->strangeness)
            r->strangeness = memory_array((size_t)PART * FEW_PARTS, sizeof *r->strangeness, error);
        TRY(error->status);
        TRY(find_strange(r, x, model, error));
    }
    if (r->strangest > 0 && r->loss->log_p && r->zeros)
        TRY(unlisted_slice_note(&r->added, x, error));
    r->entries += x->nnz;
    return STATUS_OK;
}

double residuals_rmse(const struct residuals *r)
{
    return sqrt(r->squares / (double)r->known);
}

double residuals_mae(const struct residuals *r)
{
    return r->absolutes / (double)r->known;
}

void residuals_free(struct residuals *r)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        memory_free(r->slice[n].squares, r->slice[n].known);
        top_entries_free(&r->top[n]);
    }
    memory_free(r->entry, r->strangeness);
    p_values_free(&r->p);
    unlisted_slice_free(&r->added);
    unlisted_best_free(&r->absent);
    *r = (struct residuals){0};
}

#define DIGITS   5 /* of the largest number of a column                */
#define P_DIGITS 3 /* of the largest p-value                           */

#define TABLE_HEADING 16 /* bytes of the longest heading of these tables */

const char *residual_text(const struct residuals *r, char text[RESIDUAL_TEXT])
{
    const uint64_t unknown = r->entries - r->known;
    snprintf(text, RESIDUAL_TEXT, "no residuals");
    if (r->known > 0)
        snprintf(text, RESIDUAL_TEXT, "RMSE %.6g, MAE %.6g of %ju residual%s", residuals_rmse(r),
                 residuals_mae(r), (uintmax_t)r->known, r->known == 1 ? "" : "s");
    if (unknown > 0)
        words_append(text, RESIDUAL_TEXT, "; %ju without a value", (uintmax_t)unknown);
    if (r->raised > 0)
        words_append(text, RESIDUAL_TEXT, "; %ju rate%s of 0 or less count%s as %g",
                     (uintmax_t)r->raised, r->raised == 1 ? "" : "s", r->raised == 1 ? "s" : "",
                     POISSON_LEAST_RATE);
    return text;
}

const char *residual_alarms(const struct residuals *r, char text[RESIDUAL_TEXT])
{
    text[0] = '\0';
    if (!r->loss->log_p || r->known == 0)
        return text;
    const uint64_t alarms = p_values_alarms(&r->p, ALARM);
    const bool exact = log(ALARM) <= r->p.exact, one = alarms == 1;
    snprintf(text, RESIDUAL_TEXT, "%s%ju of %.0f cells ha%s an adjusted p of at most %g",
             exact ? "" : "at least ", (uintmax_t)alarms, r->cells, one ? "s" : "ve", ALARM);
    if (r->zeros && !r->searched)
        words_append(text, RESIDUAL_TEXT,
                     "; unlisted entries are not shown: too many have nearly the largest rate");
    else if (!exact)
        words_append(text, RESIDUAL_TEXT, "; those above %.3g are upper bounds", exp(r->p.exact));
    return text;
}

/* --- tables --- */

static const struct table_column entry_columns[] = {
    {"value", DIGITS, false},   {"model", DIGITS, false}, {"residual", DIGITS, false},
    {"pearson", DIGITS, false}, {"p", P_DIGITS, true},    {"adjusted", P_DIGITS, true}};
static const struct table_column absent_columns[] = {
    {"model", DIGITS, false}, {"p", P_DIGITS, true}, {"adjusted", P_DIGITS, true}};
static const struct table_column slice_columns[] = {
    {"residuals", 0, false}, {"squares", DIGITS, false}, {"RMSE", DIGITS, false}};

static void entry_row(const struct text_table *t, uint64_t row, uint64_t *index, double *number)
{
    const struct residuals *r = t->context;
    const struct strange_entry *e = &r->entry[row];
    for (int n = 0; n < t->modes; n++)
        index[n] = e->index[n];
    number[0] = e->value;
    number[1] = loss_expected(r->loss, e->model);
    loss_residual_numbers(r->loss, e->value, e->model, number + 2);
    if (r->loss->log_p) {
        number[4] = -e->strangeness;
        number[5] = p_values_adjusted(&r->p, -e->strangeness);
    }
}

static void absent_row(const struct text_table *t, uint64_t row, uint64_t *index, double *number)
{
    const struct residuals *r = t->context;
    const struct best_entry *e = &r->absent.entry[row];
    for (int n = 0; n < t->modes; n++)
        index[n] = e->cell.index[n];
    number[0] = loss_expected(r->loss, e->value);
    number[1] = r->loss->log_p(0, e->value);
    number[2] = p_values_adjusted(&r->p, number[1]);
}

static void slice_row(const struct text_table *t, uint64_t row, uint64_t *index, double *number)
{
    const struct residuals *r = t->context;
    const int n = t->mode[0];
    const uint64_t i = r->top[n].entry[row].index;
    index[0] = i;
    number[0] = (double)r->slice[n].known[i];
    number[1] = r->slice[n].squares[i];
    number[2] = sqrt(number[1] / number[0]);
}

/* A table without rows, of all modes. */
static struct text_table begin_table(const struct residuals *r, int numbers,
                                     const struct table_column *column)
{
    struct text_table t = {.modes = r->shape.order,
                           .numbers = numbers,
                           .column = column,
                           .labels = r->labels,
                           .index_base = r->index_base,
                           .context = r};
    for (int n = 0; n < t.modes; n++)
        t.mode[n] = n;
    return t;
}

struct text_table residual_entries_table(const struct residuals *r)
{
    struct text_table t = begin_table(r, r->loss->log_p ? 6 : 3, entry_columns);
    t.row = entry_row;
    while (t.rows < r->count && r->entry[t.rows].strangeness != 0)
        t.rows++;
    return t;
}

struct text_table residual_absent_table(const struct residuals *r)
{
    struct text_table t = begin_table(r, 3, absent_columns);
    t.row = absent_row;
    while (t.rows < least_of(r->absent.count, r->strangest) &&
           r->loss->log_p(0, r->absent.entry[t.rows].value) != 0)
        t.rows++;
    return t;
}

struct text_table residual_slices_table(const struct residuals *r, int n)
{
    const struct top_entries *top = &r->top[n];
    struct text_table t = begin_table(r, 3, slice_columns);
    t.modes = 1;
    t.mode[0] = n;
    t.row = slice_row;
    while (t.rows < top->count && top->entry[t.rows].value != 0)
        t.rows++;
    return t;
}

static void print_table(FILE *stream, const struct text_table *t, const char *heading,
                        const char *mode)
{
    if (t->rows == 0)
        return;
    fprintf(stream, "\n%s%s\n", heading, mode);
    text_table_print(stream, t);
}

void residual_print(FILE *stream, const struct residuals *r)
{
    const struct text_table entries = residual_entries_table(r), absent = residual_absent_table(r);
    char text[RESIDUAL_TEXT], name[MODE_NAME_ROOM];
    fprintf(stream, "%s\n", residual_text(r, text));
    if (*residual_alarms(r, text))
        fprintf(stream, "%s\n", text);
    print_table(stream, &entries, "strangest entries", "");
    print_table(stream, &absent, "strangest unlisted entries", "");
    for (int n = 0; n < r->shape.order; n++) {
        const struct text_table slices = residual_slices_table(r, n);
        print_table(stream, &slices, "strangest slices of ", mode_name(r->labels, n, name));
    }
}

/* --- JSON --- */

/* The rows of a table, with all digits: of p-values also the logarithm. A row of `slices` is that
 * of an index, another one of an entry. */
static void put_rows(struct json *j, const char *name, const struct text_table *t, bool slices)
{
    uint64_t index[MAX_ORDER];
    double number[TABLE_NUMBERS];
    json_put_array(j, name);
    for (uint64_t row = 0; row < t->rows; row++) {
        uint32_t place[MAX_ORDER];
        t->row(t, row, index, number);
        for (int n = 0; n < t->modes; n++)
            place[n] = (uint32_t)index[n];
        json_put_object(j, NULL);
        if (slices)
            index_put(j, t->labels, t->mode[0], index[0], t->index_base);
        else
            indices_put(j, t->labels, t->modes, place, t->index_base);
        for (int k = 0; k < t->numbers; k++) {
            char key[TABLE_HEADING] = "";
            for (size_t c = 0; t->column[k].heading[c] && c < sizeof key - 1; c++)
                key[c] = (char)tolower(t->column[k].heading[c]);
            if (t->column[k].digits == 0)
                json_put_unsigned(j, key, (uint64_t)number[k]);
            else
                json_put_number(j, key, t->column[k].logarithms ? exp(number[k]) : number[k]);
            if (strcmp(key, "p") == 0)
                json_put_number(j, "log_p", number[k]);
        }
        json_end(j);
    }
    json_end(j);
}

void residual_put_json(struct json *j, const struct residuals *r)
{
    const struct text_table entries = residual_entries_table(r), absent = residual_absent_table(r);
    json_put_unsigned(j, "entries", r->entries);
    json_put_unsigned(j, "residuals", r->known);
    json_put_number(j, "rmse", residuals_rmse(r));
    json_put_number(j, "mae", residuals_mae(r));
    put_rows(j, "strangest_entries", &entries, false);
    if (r->loss->log_p) {
        json_put_number(j, "cells", r->cells);
        json_put_unsigned(j, "alarms", p_values_alarms(&r->p, ALARM));
        json_put_number(j, "adjusted_exact_to", fmin(1, exp(r->p.exact)));
    }
    if (r->loss->log_p && r->zeros && r->searched)
        put_rows(j, "strangest_unlisted", &absent, false);
    json_put_array(j, "modes");
    for (int n = 0; n < r->shape.order; n++) {
        const struct text_table slices = residual_slices_table(r, n);
        mode_begin(j, NULL, r->labels, n);
        put_rows(j, "strangest_slices", &slices, true);
        json_end(j);
    }
    json_end(j);
}

#define SECTION_LINES 32768
#define SECTION_BYTES ((size_t)8 << 20) /* fewer text lines where labels are long */
#define NO_LABEL      "index "          /* before the number of an index without a label */

bool prediction_file_is_array(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".npy") == 0;
}

static char *format_index(const struct prediction_form *form, int n, uint32_t index, char *text)
{
    const char *label = labels_get(form->labels, n, index);
    if (label) {
        printable(label, text, PRINTABLE_ROOM(strlen(label)));
        return text + strlen(text);
    }
    if (form->labels->mode[n].names.count > 0)
        text = stpcpy(text, NO_LABEL);
    return number_format_unsigned((uint64_t)index + (uint64_t)form->index_base, text);
}

static char *format_lines(const void *file, uint64_t begin, uint64_t end, char *text)
{
    const struct prediction_file *f = file;
    const struct prediction_form *form = &f->form;
    char between = ' ';
    for (int n = 0; n < form->order; n++)
        if (form->labels->mode[n].names.count > 0)
            between = '\t';
    double number[RESIDUAL_NUMBERS];
    for (uint64_t i = begin; i < end; i++) {
        for (int n = 0; n < form->order; n++) {
            text = format_index(form, n, f->x->index[n][i], text);
            *text++ = between;
        }
        text = number_format(loss_expected(form->loss, f->model[i]), text);
        if (form->residuals)
            loss_residual_numbers(form->loss, f->x->value[i], f->model[i], number);
        for (int k = 0; form->residuals && k < loss_residuals(form->loss); k++) {
            *text++ = between;
            text = number_format(number[k], text);
        }
        *text++ = '\n';
    }
    return text;
}

/* The number of columns of the array that is written; 0: it has one dimension. */
static uint64_t columns_of(const struct prediction_form *form)
{
    const int columns =
        (form->coordinates ? form->order : 0) + (form->residuals ? loss_residuals(form->loss) : 0);
    return columns > 0 ? 1 + (uint64_t)columns : 0;
}

enum status prediction_file_open(struct prediction_file *f, const char *path,
                                 const struct prediction_form *form, struct error *error)
{
    *f = (struct prediction_file){.form = *form, .array = {.fd = -1}};
    if (prediction_file_is_array(path))
        return outfile_open(&f->array, path, error);
    size_t room = (1 + RESIDUAL_NUMBERS) * (NUMBER_MAX_TEXT + 1); /* of the longest text line */
    for (int n = 0; n < form->order; n++)
        room += sizeof NO_LABEL + NUMBER_MAX_TEXT + PRINTABLE_ROOM(labels_longest(form->labels, n));
    const uint64_t lines = least_of(SECTION_LINES, SECTION_BYTES / room + 1);
    const struct line_sections sections = {.lines = lines, .bytes = lines * room};
    return line_writer_open(&f->lines, path, &sections, error);
}

enum status prediction_file_append(struct prediction_file *f, const struct coo *x,
                                   const double *model, struct error *error)
{
    const struct prediction_form *form = &f->form;
    const struct line_piece piece = {.lines = x->nnz, .context = f, .format = format_lines};
    f->x = x;
    f->model = model;
    if (f->lines)
        return line_writer_append(f->lines, &piece, error);
    const uint64_t columns = columns_of(form), width = columns > 0 ? columns : 1;
    if (x->nnz > f->room) {
        TRY(memory_resize(&f->row, x->nnz, width * sizeof *f->row, error));
        f->room = x->nnz;
    }
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < x->nnz; i++) {
        double *row = f->row + i * width;
        for (int n = 0; form->coordinates && n < form->order; n++)
            *row++ = (double)x->index[n][i] + form->index_base;
        *row++ = loss_expected(form->loss, model[i]);
        if (form->residuals)
            loss_residual_numbers(form->loss, x->value[i], model[i], row);
    }
    const struct outfile_extent extent = npy_extent(&f->array, columns, f->row, f->count, x->nnz);
    f->count += x->nnz;
    return outfile_write_extents(&extent, 1, error);
}

enum status prediction_file_commit(struct prediction_file *f, struct error *error)
{
    if (f->lines)
        return line_writer_commit(f->lines, NULL, error);
    TRY(npy_write_header(&f->array, f->count, columns_of(&f->form), error));
    return outfile_commit(&f->array, error);
}

void prediction_file_free(struct prediction_file *f)
{
    line_writer_free(f->lines);
    outfile_discard(&f->array);
    memory_free(f->row);
    *f = (struct prediction_file){.array = {.fd = -1}};
}
