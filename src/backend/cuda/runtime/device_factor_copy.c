#include "backend/cuda/runtime/device_factor_copy.h"

#include <string.h>

/* The elements that are staged are the entries of the device's matrix, so that rows of any length
 * can be cut into pieces. */
struct rows {
    double *host;        /* (rows x columns) */
    const double *scale; /* (columns) or NULL */
    uint64_t columns, ld;
    int single;
};

/* Entries that are neighbours in one row of the device's matrix. */
struct stretch {
    uint64_t host;   /* where the row begins on the host      */
    uint64_t column; /* the first                             */
    uint64_t data;   /* that the host has; the rest are zeros */
    uint64_t all;
};

static void limit(struct stretch *s, const struct rows *r, uint64_t count)
{
    uint64_t left = s->column < r->columns ? r->columns - s->column : 0;
    s->all = r->ld - s->column < count ? r->ld - s->column : count;
    s->data = left < s->all ? left : s->all;
}

/* From `entry` on, at most `count`. */
static struct stretch first_stretch(const struct rows *r, uint64_t entry, uint64_t count)
{
    struct stretch s = {.host = entry / r->ld * r->columns, .column = entry % r->ld};
    limit(&s, r, count);
    return s;
}

/* In the next row, at most `count`. */
static void next_stretch(struct stretch *s, const struct rows *r, uint64_t count)
{
    s->host += r->columns;
    s->column = 0;
    limit(s, r, count);
}

static void pack_stretch(const struct rows *r, const struct stretch *s, void *buffer, uint64_t at)
{
    const double *from = r->host + s->host + s->column;
    if (r->single) {
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

static void unpack_stretch(const struct rows *r, const struct stretch *s, const void *buffer,
                           uint64_t at)
{
    double *to = r->host + s->host + s->column;
    const float *narrow = (const float *)buffer + at;
    if (r->single)
        for (uint64_t i = 0; i < s->data; i++)
            to[i] = narrow[i];
    else
        memcpy(to, (const double *)buffer + at, s->data * sizeof *to);
    for (uint64_t i = 0; r->scale && i < s->data; i++)
        to[i] *= r->scale[s->column + i];
}

static bool pack(const void *source, uint64_t first, uint64_t count, void *to)
{
    struct stretch s = first_stretch(source, first, count);
    for (uint64_t done = 0; done < count; next_stretch(&s, source, count - done)) {
        pack_stretch(source, &s, to, done);
        done += s.all;
    }
    return true;
}

static void unpack(void *target, uint64_t first, uint64_t count, const void *from)
{
    struct stretch s = first_stretch(target, first, count);
    for (uint64_t done = 0; done < count; next_stretch(&s, target, count - done)) {
        unpack_stretch(target, &s, from, done);
        done += s.all;
    }
}

static size_t entry_size(const struct rows *r)
{
    return r->single ? sizeof(float) : sizeof(double);
}

enum status device_factor_upload(struct device_staging *s, const double *host, void *a,
                                 uint64_t rows, uint64_t columns, uint64_t ld, int single,
                                 struct error *error)
{
    struct rows r = {.host = (double *)host, .columns = columns, .ld = ld, .single = single};
    return device_staging_send(s, a, rows * ld, entry_size(&r), pack, &r, error);
}

enum status device_factor_download(struct device_staging *s, const void *a, double *host,
                                   uint64_t rows, uint64_t columns, uint64_t ld, int single,
                                   const double *scale, struct error *error)
{
    struct rows r = {.host = host, .scale = scale, .columns = columns, .ld = ld, .single = single};
    return device_staging_fetch(s, a, rows * ld, entry_size(&r), unpack, &r, error);
}
