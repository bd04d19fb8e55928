#include "backend/host/host_row_lists.h"

#include <string.h>

#include "base/least.h"

_Static_assert(HOST_LIST_ROWS < 256, "numbers of sums are bytes");

static uint64_t class_of(uint32_t row)
{
    return row % HOST_LIST_CLASSES;
}

uint64_t host_row_lists_of(uint64_t nnz)
{
    return (nnz + HOST_LIST_ROWS - 1) / HOST_LIST_ROWS;
}

uint64_t host_row_lists_rows(uint64_t nnz)
{
    return HOST_LIST_ROWS * least_of(host_row_lists_of(nnz), 2 * HOST_LISTS);
}

void host_row_list_sort(struct host_row_list *list, uint64_t count)
{
    uint8_t next[HOST_LIST_CLASSES];
    memset(list->begin, 0, sizeof list->begin);
    for (uint64_t i = 0; i < count; i++)
        list->begin[class_of(list->row[i]) + 1]++;
    for (uint64_t c = 0; c < HOST_LIST_CLASSES; c++) {
        list->begin[c + 1] = (uint8_t)(list->begin[c + 1] + list->begin[c]);
        next[c] = list->begin[c];
    }
    for (uint64_t i = 0; i < count; i++)
        list->sorted[next[class_of(list->row[i])]++] = (uint8_t)i;
}

void host_row_lists_add(const struct host_row_list *list, uint64_t lists, uint64_t class,
                        const struct host_rows *rows, const void *sums, void *m)
{
    const enum precision precision = rows->precision;
    const uint64_t rank = rows->rank;
    for (uint64_t k = 0; k < lists; k++)
        for (uint64_t e = list[k].begin[class]; e < list[k].begin[class + 1]; e++) {
            const uint64_t i = list[k].sorted[e];
            host_entries_add(host_entry(m, list[k].row[i] * rank, precision),
                             host_entry_of(sums, (k * HOST_LIST_ROWS + i) * rank, precision), rank,
                             precision);
        }
}
