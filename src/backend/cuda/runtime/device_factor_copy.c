#include "backend/cuda/runtime/device_factor_copy.h"

#include <string.h>

#include "base/vector_clones.h"

/* A matrix on its way, as entries of the device's matrix, so that rows of any length can be cut into
 * parts. */
struct rows {
    double *host;        /* (rows x columns) */
    const double *scale; /* (columns) or NULL */
    uint64_t columns, ld;
    enum precision precision;
};

/* Consecutive entries of one row of the device's matrix. */
struct stretch {
    uint64_t host;   /* where the row begins on the host      */
    uint64_t column; /* of the first entry                    */
    uint64_t data;   /* its entries that the host has     */
    uint64_t all;    /* all its entries; the others are 0 */
};

static void limit(struct stretch *s, const struct rows *r, uint64_t count)
{
    uint64_t left = s->column < r->columns ? r->columns - s->column : 0;
    s->all = r->ld - s->column < count ? r->ld - s->column : count;
    s->data = left < s->all ? left : s->all;
}

/* The first stretch from `entry` on, of at most `count` entries. */
static struct stretch first_stretch(const struct rows *r, uint64_t entry, uint64_t count)
{
    struct stretch s = {.host = entry / r->ld * r->columns, .column = entry % r->ld};
    limit(&s, r, count);
    return s;
}

/* The stretch at the beginning of the next row, of at most `count` entries. */
static void next_stretch(struct stretch *s, const struct rows *r, uint64_t count)
{
    s->host += r->columns;
    s->column = 0;
    limit(s, r, count);
}

static void write_stretch(const struct rows *r, const struct stretch *s, void *buffer, uint64_t at)
{
    const double *from = r->host + s->host + s->column;
    if (r->precision == PRECISION_SINGLE) {
        float *to = (float *)buffer + at;
        for (uint64_t i = 0; i < s->data; i++)
            to[i] = (float)from[i];
        memset(to + s->data, 0, (s->all - s->data) * sizeof *to);
    } else {
        double *to = (double *)buffer + at;
        memcpy(to, from, s->data * sizeof *to);
        memset(to + s->data, 0, (s->all - s->data) * sizeof *to);
    }
}

static void read_stretch(const struct rows *r, const struct stretch *s, const void *buffer,
                         uint64_t at)
{
    double *to = r->host + s->host + s->column;
    const float *narrow = (const float *)buffer + at;
    if (r->precision == PRECISION_SINGLE)
        for (uint64_t i = 0; i < s->data; i++)
            to[i] = narrow[i];
    else
        memcpy(to, (const double *)buffer + at, s->data * sizeof *to);
    for (uint64_t i = 0; r->scale && i < s->data; i++)
        to[i] *= r->scale[s->column + i];
}

static bool write_entries(const void *from, uint64_t first, uint64_t count, void *to)
{
    struct stretch s = first_stretch(from, first, count);
    for (uint64_t done = 0; done < count; next_stretch(&s, from, count - done)) {
        write_stretch(from, &s, to, done);
        done += s.all;
    }
    return true;
}

static void read_entries(void *to, uint64_t first, uint64_t count, const void *from)
{
    struct stretch s = first_stretch(to, first, count);
    for (uint64_t done = 0; done < count; next_stretch(&s, to, count - done)) {
        read_stretch(to, &s, from, done);
        done += s.all;
    }
}

static struct device_elements entries_of(const struct device_rows *r)
{
    return (struct device_elements){r->a, r->rows * r->ld, precision_bytes(r->precision)};
}

enum status device_factor_upload(struct device_staging *s, const double *host,
                                 const struct device_rows *to, struct error *error)
{
    const struct device_elements entries = entries_of(to);
    struct rows r = {.host = (double *)host,
                     .columns = to->columns,
                     .ld = to->ld,
                     .precision = to->precision};
    return device_staging_send(s, &entries, write_entries, &r, error);
}

enum status device_factor_download(struct device_staging *s, const struct device_rows *from,
                                   double *host, const double *scale, struct error *error)
{
    const struct device_elements entries = entries_of(from);
    struct rows r = {.host = host,
                     .scale = scale,
                     .columns = from->columns,
                     .ld = from->ld,
                     .precision = from->precision};
    return device_staging_fetch(s, &entries, read_entries, &r, error);
}

/* Whole rows on their way. */
struct columns {
    double *host; /* (rows x columns) */
    const struct device_factor_columns *how;
    uint64_t columns, ld;
};

VECTOR_CLONES static void take_double_row(const double *row,
                                          const struct device_factor_columns *how, uint64_t columns,
                                          double *to)
{
    for (uint64_t c = 0; c < columns; c++)
        to[c] = row[how->from[c]] * how->scale[c];
}

VECTOR_CLONES static void take_single_row(const float *row, const struct device_factor_columns *how,
                                          uint64_t columns, double *to)
{
    for (uint64_t c = 0; c < columns; c++)
        to[c] = row[how->from[c]] * how->scale[c];
}

VECTOR_CLONES static void finish_row(const struct device_factor_columns *how, uint64_t columns,
                                     double *to)
{
    for (uint64_t c = 0; how->bound && c < columns; c++)
        to[c] = to[c] * how->weight[c] <= how->bound[c] ? 0 : to[c];
    for (uint64_t c = 0; c < columns; c++)
        to[c] /= how->divisor[c];
}

static void read_double_rows(void *to, uint64_t first, uint64_t count, const void *from)
{
    const struct columns *r = to;
    for (uint64_t i = 0; i < count; i++) {
        double *row = r->host + (first + i) * r->columns;
        take_double_row((const double *)from + i * r->ld, r->how, r->columns, row);
        finish_row(r->how, r->columns, row);
    }
}

static void read_single_rows(void *to, uint64_t first, uint64_t count, const void *from)
{
    const struct columns *r = to;
    for (uint64_t i = 0; i < count; i++) {
        double *row = r->host + (first + i) * r->columns;
        take_single_row((const float *)from + i * r->ld, r->how, r->columns, row);
        finish_row(r->how, r->columns, row);
    }
}

enum status device_factor_download_columns(struct device_staging *s, const struct device_rows *from,
                                           double *host, const struct device_factor_columns *how,
                                           struct error *error)
{
    const bool single = from->precision == PRECISION_SINGLE;
    const struct device_elements rows = {from->a, from->rows,
                                         from->ld * precision_bytes(from->precision)};
    struct columns r = {.host = host, .how = how, .columns = from->columns, .ld = from->ld};
    return device_staging_fetch(s, &rows, single ? read_single_rows : read_double_rows, &r, error);
}
