/* Sums of rows of M that wait to be added to M: threads make lists of them at the same time, and
 * add them in the order of the lists, so that M does not depend on the number of threads. */
#ifndef BLCO_HOST_ROW_LISTS_H
#define BLCO_HOST_ROW_LISTS_H

#include <stdint.h>

#include "backend/host/host_entries.h"

#define HOST_LIST_ROWS    128 /* of a list, at most            */
#define HOST_LISTS        128 /* that are made or added at a time */
#define HOST_LIST_CLASSES 64  /* of rows: rows of one class are added by one thread */

/* The sums are rows of another array, HOST_LIST_ROWS of each list. */
struct host_row_list {
    uint32_t row[HOST_LIST_ROWS];         /* the row of M of each sum                          */
    uint8_t sorted[HOST_LIST_ROWS];       /* the numbers of the sums, by class and then number */
    uint8_t begin[HOST_LIST_CLASSES + 1]; /* where each class begins in `sorted`               */
};

/* The number of lists for the sums of nnz nonzeros. */
uint64_t host_row_lists_of(uint64_t nnz);

/* For how many sums an MTTKRP of nnz nonzeros needs room: for those that are being made, and those
 * that are added at the same time. */
uint64_t host_row_lists_rows(uint64_t nnz);

/* Fills list->sorted and list->begin from the first `count` of list->row. */
void host_row_list_sort(struct host_row_list *list, uint64_t count);

/* Adds the sums of one class in `lists` lists to M, whose rows are as long as `rows`. */
void host_row_lists_add(const struct host_row_list *list, uint64_t lists, uint64_t class,
                        const struct host_rows *rows, const void *sums, void *m);

#endif
