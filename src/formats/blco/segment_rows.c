#include "formats/blco/segment_rows.h"

#include <string.h>

#include "base/memory.h"
#include "formats/blco/segment_pack.h"

/* The rows on the lines from the first group of segment s to the first group of the next segment.
 * The entry of a group has its first line without the low bits, which may be any. */
static struct row_range range_of_segment(const struct ordering *o, const struct packed_tensor *p,
                                         int mode, uint64_t s)
{
    uint64_t from[MAX_LINE_WORDS], to[MAX_LINE_WORDS];
    struct packed_group g;
    segment_group_load(p->bytes + p->segment[s].offset, 0, o->line_bits, &g, from);
    memset(to, 0xff, sizeof to);
    if (s + 1 < p->nsegments) {
        segment_group_load(p->bytes + p->segment[s + 1].offset, 0, o->line_bits, &g, to);
        for (int place = 0; place < g.low_bits && place < o->line_bits; place++)
            to[place / 64] |= UINT64_C(1) << place % 64;
    }
    return row_range_of_lines(o, mode, from, to);
}

void segment_rows_of_batches(struct row_range *range, const struct packed_tensor *p, int mode,
                             uint64_t segments)
{
    struct ordering o;
    ordering_create(&o, p->kind, &p->shape, 64);
    uint64_t batches = (p->nsegments + segments - 1) / segments;
#pragma omp parallel for schedule(static)
    for (uint64_t b = 0; b < batches; b++) {
        uint64_t begin = b * segments, end = begin + segments;
        range[b] = range_of_segment(&o, p, mode, begin);
        for (uint64_t s = begin + 1; s < end && s < p->nsegments; s++)
            range[b] = row_range_both(range[b], range_of_segment(&o, p, mode, s));
        if (range[b].last >= p->shape.dims[mode])
            range[b].last = (uint32_t)(p->shape.dims[mode] - 1);
    }
}

enum status segment_rows_of_part(uint64_t **number, uint64_t *count, const struct blco_file *f,
                                 const struct part *part, struct error *error)
{
    struct packed_tensor p;
    const uint64_t segments = f->header->nsegments;
    bool *may = memory_array(segments, sizeof *may, error);
    struct row_range *range = memory_array(segments, sizeof *range, error);
    *number = memory_array(segments, sizeof **number, error);
    *count = 0;
    if (may && range && *number && packed_tensor_load_lines(&p, f, error) == STATUS_OK) {
        for (uint64_t s = 0; s < p.nsegments; s++)
            may[s] = true;
        for (int n = 0; n < p.shape.order; n++) {
            const uint64_t first = part->first[n], last = first + part->here.dims[n];
            segment_rows_of_batches(range, &p, n, 1);
            for (uint64_t s = 0; s < p.nsegments; s++)
                may[s] = may[s] && range[s].last >= first && range[s].first < last;
        }
        for (uint64_t s = 0; s < p.nsegments; s++)
            if (may[s])
                (*number)[(*count)++] = s;
        packed_tensor_free(&p);
    }
    memory_free(range, may);
    if (error->status != STATUS_OK) {
        memory_free(*number);
        *number = NULL;
    }
    return error->status;
}
