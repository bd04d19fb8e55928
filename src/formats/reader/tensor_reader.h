/* Reads the entries of a tensor file of any format, whole or a share of the file, in pieces. A
 * format is a row of functions; tensor_file.h finds the row of a file. */
#pragma once

#include <stdbool.h>

#include "base/progress.h"
#include "tensor/coo.h"

struct blco_file;
struct csv_options;
struct tensor_names;
struct tns_options;

/* How many entries a piece has. */
enum tensor_cut {
    TENSOR_WHOLE,  /* all; STATUS_MEMORY where memory does not hold them                   */
    TENSOR_PIECES, /* as many as memory holds, and at least as many as are read at a time  */
    TENSOR_STEPS   /* as many as are read at a time: some megabytes                        */
};

struct tensor_reader {
    /* The caller sets these before opening; borrowed. */
    const struct tensor_format *format;
    const char *path;              /* "-": standard input                                      */
    const struct blco_file *file;  /* the .blco file, where it is open already, or NULL         */
    const struct tns_options *tns; /* NULL where `file` is given                                */
    const struct csv_options *csv; /* NULL: CSV has no columns, and is refused                  */
    enum tensor_cut cut;
    uint64_t memory;   /* bytes that the entries of a piece may take; 0: what the machine has  */
    uint64_t overhead; /* bytes of an entry, beside 4 for each mode and 8 for the value         */
    int share,
        shares; /* which share is read; 0 of 0, or of 1: all. To be set before the first piece */
    struct progress *progress; /* may be NULL */

    /* Set by opening. */
    bool has_shares; /* any number of processes can read the file, each a share of it      */
    uint64_t
        identity[2]; /* differs where two files do: the size, and a number of their beginning */

    /* The piece, of which only nnz entries are used. The caller may move its arrays away. */
    struct coo piece;
    uint64_t room; /* entries that the arrays have room for                                    */
    bool over;     /* it is the last one                                                       */

    /* Of the share so far. */
    uint64_t entries;            /* duplicates and zeros included                            */
    uint64_t bytes;              /* of text after inflation, of arrays without their headers  */
    uint32_t largest[MAX_ORDER]; /* index of each mode                                       */
    struct coo_listed listed;    /* of a .blco file: what the pieces list                     */

    /* Of the tensor; set at the end. */
    struct shape shape;
    bool gzip;
    int header; /* enum tns_header of text */

    bool begun;
    double start; /* clock_now() when the first piece was asked for */
    void *state;  /* of the format; owned */
};

/* A function returns errors as tensor_reader_... does that calls it. */
struct tensor_format {
    const char *name; /* "text", for records                                                */
    const char *what; /* "a NumPy array", for messages                                       */
    bool has_indices; /* indices that count from --index-base                               */
    bool is_clean;    /* entries are distinct and in alto order, and the shape is known at once */
    /* Whether a file of this name that begins with these bytes (none are known of a pipe) is of the
     * format, if it is of no format before. */
    bool (*probe)(const char *path, const char *bytes, size_t count);
    enum status (*open)(struct tensor_reader *r, struct error *error);
    enum status (*next)(struct tensor_reader *r, struct error *error);
    enum status (*end)(struct tensor_reader *r, struct error *error);
    /* Moves the names of modes and indices to *names; NULL: the file has none. */
    void (*names)(struct tensor_reader *r, struct tensor_names *names);
    void (*close)(struct tensor_reader *r); /* accepts a half-open one */
};

/* Opens the file. The caller closes *r, after a failure too. STATUS_INPUT where it cannot be read
 * or its beginning is bad, STATUS_MEMORY. */
enum status tensor_reader_open(struct tensor_reader *r, struct error *error);

/* Reads the next piece to r->piece, by all OpenMP threads: entries in the order of the file. Where
 * the lengths are not known before the end, it has those of the largest indices so far. There is at
 * least one piece, perhaps an empty one. Errors name file, text line, mode, what was read and what
 * was expected: "x.tns:17: mode 2: index 0, expected 1 or more". STATUS_INPUT, STATUS_MEMORY. */
enum status tensor_reader_next(struct tensor_reader *r, struct error *error);

/* After the last piece: checks what can be checked only then, and sets r->shape, also of r->piece.
 * Where several processes read shares, the caller first makes entries, bytes, largest and listed
 * those of all shares. STATUS_INPUT. */
enum status tensor_reader_end(struct tensor_reader *r, struct error *error);

/* Moves the piece to *x, which the caller frees. */
void tensor_reader_keep(struct tensor_reader *r, struct coo *x);

/* Opens and reads the whole tensor, as one piece. The caller frees *x, which is empty on failure,
 * and closes *r, after a failure too. */
enum status tensor_reader_whole(struct tensor_reader *r, struct coo *x, struct error *error);

/* Hands every piece of an open reader to `take` with `context`. Errors of reading and of `take`. */
enum status tensor_reader_hand(struct tensor_reader *r, coo_taker take, void *context,
                               struct error *error);

/* Opens a copy of *reader, a struct tensor_reader that is not open, and hands every piece to `take`
 * with `context`. So it is the each() of struct coo_pieces, too. Errors of reading and of `take`.
 */
enum status tensor_reader_each(void *reader, coo_taker take, void *context, struct error *error);

/* Accepts an empty one. */
void tensor_reader_close(struct tensor_reader *r);

/* --- for formats --- */

/* The most entries of a piece, where `taken` bytes of memory are taken already. */
uint64_t tensor_reader_most(const struct tensor_reader *r, int order, uint64_t taken);

/* Makes room for `more` entries after `used` ones of the piece, and perhaps for all that are
 * expected, so that none must be moved (pages that are not written take no memory), but not for
 * more than `most`, if these will do. `read` is the part of the file that these entries are, 0 to
 * 1; 0 or less: that is unknown. STATUS_INPUT where a tensor has too many entries, STATUS_MEMORY.
 */
enum status tensor_reader_make_room(struct tensor_reader *r, int order, uint64_t used,
                                    uint64_t more, uint64_t most, double read, struct error *error);

/* The piece has so many entries, and is the last one or not. */
void tensor_reader_set_piece(struct tensor_reader *r, uint64_t nnz, bool over);
