#include "backend/cuda/runtime/device_factor_copy.h"

#include <string.h>

/* A matrix that is copied, as entries of the device's matrix, so that rows of any length can be cut
 * into parts. */
struct rows {
    double *host;        /* (rows x columns) */
    const double *scale; /* (columns) or NULL */
    uint64_t columns, ld;
    enum precision precision;
};

/* Consecutive entries of one row of the device's matrix. */
struct range {
    uint64_t host;   /* where the row begins on the host      */
    uint64_t column; /* of the first entry                    */
    uint64_t data;   /* its entries that the host has     */
    uint64_t all;    /* all its entries; the others are 0 */
};

static void limit(struct range *s, const struct rows *r, uint64_t count)
{
    uint64_t left = s->column < r->columns ? r->columns - s->column : 0;
    s->all = r->ld - s->column < count ? r->ld - s->column : count;
    s->data = left < s->all ? left : s->all;
}

/* The first range from `entry` on, of at most `count` entries. */
static struct range first_range(const struct rows *r, uint64_t entry, uint64_t count)
{
    struct range s = {.host = entry / r->ld * r->columns, .column = entry % r->ld};
    limit(&s, r, count);
    return s;
}

/* The range at the beginning of the next row, of at most `count` entries. */
static void next_range(struct range *s, const struct rows *r, uint64_t count)
{
    s->host += r->columns;
    s->column = 0;
    limit(s, r, count);
}

static bool write_entries(const void *from, uint64_t first, uint64_t count, void *to)
{
    const struct rows *r = from;
    struct range s = first_range(r, first, count);
    for (uint64_t done = 0; done < count; next_range(&s, r, count - done)) {
        const double *row = r->host + s.host + s.column;
        if (r->precision == PRECISION_SINGLE) {
            float *narrow = (float *)to + done;
            for (uint64_t i = 0; i < s.data; i++)
                narrow[i] = (float)row[i];
            memset(narrow + s.data, 0, (s.all - s.data) * sizeof *narrow);
        } else {
            double *wide = (double *)to + done;
            memcpy(wide, row, s.data * sizeof *wide);
            memset(wide + s.data, 0, (s.all - s.data) * sizeof *wide);
        }
        done += s.all;
    }
    return true;
}

static void read_entries(void *to, uint64_t first, uint64_t count, const void *from)
{
    const struct rows *r = to;
    struct range s = first_range(r, first, count);
    for (uint64_t done = 0; done < count; next_range(&s, r, count - done)) {
        double *row = r->host + s.host + s.column;
        const float *narrow = (const float *)from + done;
        if (r->precision == PRECISION_SINGLE)
            for (uint64_t i = 0; i < s.data; i++)
                row[i] = narrow[i];
        else
            memcpy(row, (const double *)from + done, s.data * sizeof *row);
        for (uint64_t i = 0; r->scale && i < s.data; i++)
            row[i] *= r->scale[s.column + i];
        done += s.all;
    }
}

static struct device_elements entries_of(const struct device_matrix *a)
{
    return (struct device_elements){a->entries, a->rows * a->ld, precision_bytes(a->precision)};
}

static struct rows rows_of(const struct device_matrix *a, double *host, const double *scale)
{
    return (struct rows){.host = host,
                         .scale = scale,
                         .columns = a->columns,
                         .ld = a->ld,
                         .precision = a->precision};
}

enum status device_factor_upload(struct device_staging *s, const double *host,
                                 const struct device_matrix *a, struct error *error)
{
    const struct device_elements entries = entries_of(a);
    struct rows r = rows_of(a, (double *)host, NULL);
    return device_staging_send(s, &entries, write_entries, &r, error);
}

enum status device_factor_download(struct device_staging *s, const struct device_matrix *a,
                                   double *host, const double *scale, struct error *error)
{
    const struct device_elements entries = entries_of(a);
    struct rows r = rows_of(a, host, scale);
    return device_staging_fetch(s, &entries, read_entries, &r, error);
}

/* Whole rows that are copied. */
struct formed_rows {
    double *host; /* (rows x columns) */
    const struct column_form *form;
    const struct device_matrix *a;
    uint64_t row_bytes;
};

static void read_rows(void *to, uint64_t first, uint64_t count, const void *from)
{
    const struct formed_rows *r = to;
    const uint64_t columns = r->a->columns;
    for (uint64_t i = 0; i < count; i++)
        column_form_row(r->form, (const char *)from + i * r->row_bytes, r->a->precision, columns,
                        r->host + (first + i) * columns);
}

enum status device_factor_download_form(struct device_staging *s, const struct device_matrix *a,
                                        double *host, const struct column_form *form,
                                        struct error *error)
{
    const uint64_t row_bytes = a->ld * precision_bytes(a->precision);
    const struct device_elements rows = {a->entries, a->rows, row_bytes};
    struct formed_rows r = {.host = host, .form = form, .a = a, .row_bytes = row_bytes};
    return device_staging_fetch(s, &rows, read_rows, &r, error);
}
