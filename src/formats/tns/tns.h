/* Reads FROSTT text (.tns), plain or gzip, with the headers of other tools. See blco-tns(5). */
#pragma once

#include "formats/reader/tensor_reader.h"
#include "formats/tns/tns_options.h"

/* Every process parses the text lines that begin in its share of the bytes. Gzip, standard input
 * and pipes have no shares. */
extern const struct tensor_format tensor_text;
