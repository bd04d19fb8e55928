#include "backend/cuda/runtime/device_factor_copy.h"

#include <string.h>

#include "base/least.h"
#include "base/memory.h"

#define PIECE 64 /* columns of a row that are brought into form at a time */

/* Whole rows that are copied. */
struct rows {
    const struct device_matrix *a;
    double *host; /* (rows x columns) */
    struct host_rows_form to;
};

static uint64_t row_bytes(const struct device_matrix *a)
{
    return a->ld * precision_bytes(a->precision);
}

static bool write_rows(const void *from, uint64_t first, uint64_t count, void *to)
{
    const struct rows *r = from;
    const uint64_t columns = r->a->columns,
                   padding = row_bytes(r->a) - columns * precision_bytes(r->a->precision);
    for (uint64_t i = 0; i < count; i++) {
        const double *row = r->host + (first + i) * columns;
        float *narrow = (float *)to + i * r->a->ld;
        double *wide = (double *)to + i * r->a->ld;
        if (r->a->precision == PRECISION_SINGLE) {
            for (uint64_t c = 0; c < columns; c++)
                narrow[c] = (float)row[c];
            memset(narrow + columns, 0, padding);
        } else {
            memcpy(wide, row, columns * sizeof *wide);
            memset(wide + columns, 0, padding);
        }
    }
    return true;
}

/* A row in its form. Rows that have numbers of their own lie between those of other GPUs. */
static void read_form(const struct rows *r, const char *entries, double *row)
{
    const uint64_t columns = r->a->columns;
    double piece[PIECE];
    if (!r->to.number) {
        column_form_row(r->to.form, entries, r->a->precision, 0, columns, row);
        return;
    }
    for (uint64_t c = 0; c < columns; c += PIECE) {
        const uint64_t count = least_of(PIECE, columns - c);
        column_form_row(r->to.form, entries, r->a->precision, c, count, piece);
        memory_copy_uncached(row + c, piece, count);
    }
}

static void read_rows(void *to, uint64_t first, uint64_t count, const void *from)
{
    const struct rows *r = to;
    const uint64_t columns = r->a->columns;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t number = r->to.number ? r->to.number[first + i] : first + i;
        double *row = r->host + number * columns;
        if (number == UINT64_MAX)
            continue;
        const char *entries = (const char *)from + i * row_bytes(r->a);
        if (r->to.form)
            read_form(r, entries, row);
        else if (r->a->precision == PRECISION_SINGLE)
            for (uint64_t c = 0; c < columns; c++)
                row[c] = ((const float *)(const void *)entries)[c];
        else
            memcpy(row, entries, columns * sizeof *row);
        for (uint64_t c = 0; r->to.scale && c < columns; c++)
            row[c] *= r->to.scale[c];
    }
    memory_uncached_end();
}

static struct device_elements elements_of(const struct device_matrix *a)
{
    return (struct device_elements){a->entries, a->rows, row_bytes(a)};
}

enum status device_factor_upload(struct device_staging *s, const double *host,
                                 const struct device_matrix *a, struct error *error)
{
    const struct device_elements rows = elements_of(a);
    const struct rows r = {.a = a, .host = (double *)host};
    return device_staging_send(s, &rows, write_rows, &r, error);
}

enum status device_factor_download(struct device_staging *s, const struct device_matrix *a,
                                   double *host, const struct host_rows_form *form,
                                   struct error *error)
{
    const struct device_elements rows = elements_of(a);
    struct rows r = {.a = a, .host = host, .to = *form};
    return device_staging_fetch(s, &rows, read_rows, &r, error);
}
