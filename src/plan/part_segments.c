#include "plan/part_segments.h"

#include "base/memory.h"
#include "plan/row_range.h"

/* may[s] stays true where segment s may have nonzeros in the part's rows of mode n. */
static void compare(bool *may, struct row_range *range, const struct packed_tensor *p,
                    const struct part *part, int n)
{
    uint64_t first = part->first[n], behind = first + part->here.dims[n];
    row_range_of_batches(range, p, n, 1);
    for (uint64_t s = 0; s < p->nsegments; s++)
        may[s] = may[s] && range[s].last >= first && range[s].first < behind;
}

enum status part_segments(uint64_t **number, uint64_t *count, const struct blco_file *f,
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
        for (int n = 0; n < p.shape.order; n++)
            compare(may, range, &p, part, n);
        for (uint64_t s = 0; s < p.nsegments; s++)
            if (may[s])
                (*number)[(*count)++] = s;
        packed_tensor_free(&p);
    }
    memory_free(range);
    memory_free(may);
    if (error->status != STATUS_OK) {
        memory_free(*number);
        *number = NULL;
    }
    return error->status;
}
