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
    uint32_t row[HOST_LIST_ROWS];         /* of M, of each sum                                 */
    uint8_t sorted[HOST_LIST_ROWS];       /* the numbers of the sums, by class and then number */
    uint8_t begin[HOST_LIST_CLASSES + 1]; /* where each class begins in `sorted`               */
};

/* The lists of the sums of so many nonzeros. */
uint64_t host_row_lists_of(uint64_t nnz);

/* The rows of sums for which MTTKRP of so many nonzeros takes room: those that are made, and those
 * that are added at the same time. */
uint64_t host_row_lists_rows(uint64_t nnz);

/* Fills list->sorted and list->begin from the first `count` of list->row. */
void host_row_list_sort(struct host_row_list *list, uint64_t count);

/* Adds the sums of one class in `lists` lists to M (rows of `rank` entries). */
void host_row_lists_add(const struct host_row_list *list, uint64_t lists, uint64_t class,
                        const void *sums, uint64_t rank, enum precision precision, void *m);

#endif
