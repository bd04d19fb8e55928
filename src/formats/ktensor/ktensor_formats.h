/* The formats of model files. All that readers, writers, options and messages know of a format is
 * in its row of the table. */
#pragma once

#include "base/outfile.h"
#include "base/words.h"
#include "formats/ktensor/matrix_file.h"
#include "formats/names/labels.h"
#include "formats/names/name_list.h"
#include "model/ktensor.h"

/* Sets of formats are sums of these flags:
 * TEXT: STEM.modeN.mat and STEM.lambda.mat (SPLATT's names), one text line for each row;
 * NPY: STEM.modeN.npy and STEM.lambda.npy, NumPy arrays of float64 in C order;
 * KTNS: STEM.ktns, the `ktensor` text of Tensor Toolbox, pyttb and GenTen;
 * CSV: STEM.modeN.csv and STEM.lambda.csv, with a header and a first column of names. */
#define KTENSOR_TEXT 1u
#define KTENSOR_NPY  2u
#define KTENSOR_KTNS 4u
#define KTENSOR_CSV  8u

#define KTENSOR_FORMATS      (KTENSOR_TEXT | KTENSOR_NPY | KTENSOR_KTNS | KTENSOR_CSV)
#define KTENSOR_FORMAT_COUNT 4

/* The most files that a model has: in a format one for each mode and lambda, or one for all; the
 * maps of its names, and STEM.model.json. */
#define KTENSOR_MOST_FILES (KTENSOR_FORMAT_COUNT * (MAX_ORDER + 1) + NAME_MAPS + 1)

/* The opened files of a model in one format, which is written: the model begins, and its rows
 * follow in the order of the modes and of their rows. */
struct ktensor_output {
    const struct ktensor_format *format;
    struct outfile *file;        /* those of the modes and of lambda, or the one file; borrowed */
    size_t end[MAX_ORDER + 1];   /* bytes of each so far, where they have text                  */
    size_t longest[MAX_ORDER];   /* bytes of the longest name of an index of each mode          */
    const struct ktensor *whole; /* with shape, R and lambda; its rows are not read             */
    const struct labels *names;  /* NULL: none */
};

struct ktensor_format {
    unsigned flag;
    const char *suffix; /* of the names of its files */
    bool text;          /* has numbers as text       */
    /* Either: one file, STEM.SUFFIX, has the whole model, which this function reads. At most one
     * format has this. The caller frees *k, after a failure too. STATUS_INPUT, STATUS_MEMORY. */
    enum status (*read)(struct ktensor *k, const char *path, struct error *error);
    /* Or: each matrix has a file, STEM.mode1.SUFFIX, ... and STEM.lambda.SUFFIX. */
    matrix_file_kind *open;
    /* Writes lambda, and what comes before the rows. STATUS_OUTPUT, STATUS_MEMORY. */
    enum status (*begin)(struct ktensor_output *o, struct error *error);
    /* Writes the rows that *piece has (ktensor.h). STATUS_OUTPUT, STATUS_MEMORY. */
    enum status (*put)(struct ktensor_output *o, const struct ktensor *piece, struct error *error);
};

/* Their names, as in --format: the value of each word is its flag. */
extern const struct word ktensor_format_words[KTENSOR_FORMAT_COUNT + 1];

/* In the order of writing. Where files of several formats are there, the last format is read. */
extern const struct ktensor_format ktensor_formats[KTENSOR_FORMAT_COUNT];

/* The format that has a model in one file, where `path` is the name of such a file; else NULL. */
const struct ktensor_format *ktensor_file_format(const char *path);

/* The number of files that a model of this order has in a format. */
int ktensor_format_files(const struct ktensor_format *format, int order);

#define KTENSOR_SUFFIX_TEXT 32

/* text = what follows the stem and a dot in the name of file i, from 0, of a model of this order,
 * as "mode1.npy", "lambda.npy" or "ktns". Returns text. */
const char *ktensor_suffix(const struct ktensor_format *format, int i, int order,
                           char text[KTENSOR_SUFFIX_TEXT]);

struct ktensor_files {
    int count;
    char *path[KTENSOR_MOST_FILES]; /* owned */
};

/* *files = the names that ktensor_write gives the files of a model of this order, in the order of
 * writing. The caller frees *files, after a failure too. STATUS_MEMORY. */
enum status ktensor_files_name(struct ktensor_files *files, int order, const char *stem,
                               unsigned formats, struct error *error);

/* Adds the names of the maps of a model (name_list.h) to *files: those that `names` have, or with
 * NULL all that there may be. STATUS_MEMORY. */
enum status ktensor_files_add_maps(struct ktensor_files *files, const char *stem,
                                   const struct labels *names, struct error *error);

/* Adds STEM.model.json (model_facts.h). STATUS_MEMORY. */
#define MODEL_FACTS_SUFFIX "model.json"
enum status ktensor_files_add_facts(struct ktensor_files *files, const char *stem,
                                    struct error *error);

/* What the files beside a model begin with: its stem, without the ending where it names a file
 * (ktensor_file_format). The caller frees it with memory_free. NULL and STATUS_MEMORY. */
char *ktensor_stem(const char *stem, struct error *error);

/* Accepts an empty list. */
void ktensor_files_free(struct ktensor_files *files);
