/* Reads CSV (RFC 4180) with a header, plain or gzip: columns of names become modes, names indices,
 * rows entries. Commas, tabs or semicolons separate the fields. See blco-csv(5). */
#pragma once

#include "formats/csv/csv_options.h"
#include "formats/names/name_table.h"
#include "formats/reader/tensor_reader.h"
#include "formats/tns/tns_options.h"

/* The value of a row is that in the column of values, COO_UNKNOWN where it is empty or nan, or 1;
 * rows of the same names are duplicates. There are no shares, because the whole file decides
 * how names are numbered, and no steps: a piece is what memory holds. Where there is more than one
 * and names are to be sorted, the file is read twice; STATUS_MEMORY where it cannot be, and where
 * the names take more than half of the memory. STATUS_INPUT also where --dims gives other lengths
 * than the names do. */
extern const struct tensor_format tensor_csv;
