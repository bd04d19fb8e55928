/* Which index is which, where two files have names: a tensor and a model, or two models. Names
 * decide, whatever the order of modes and indices. */
#pragma once

#include "base/progress.h"
#include "base/words.h"
#include "formats/names/labels.h"

#define NO_INDEX UINT32_MAX

/* --match: whether names decide, where there are any; or whether a has to have all names of b. */
enum match { MATCH_NAMES, MATCH_ALL, MATCH_INDEX };
extern const struct word match_words[];

/* A side of the match, whose names have been read. */
struct named_side {
    const char *what;           /* for messages: a path, or "the model m" */
    const struct labels *names; /* `order` is set; borrowed               */
};

/* Everything counts in the modes of side a, from 0: `a` is the model, where the other is a tensor.
 */
struct name_match {
    int order;
    int mode[MAX_ORDER];        /* mode n of a is this mode of b                                  */
    uint32_t *index[MAX_ORDER]; /* (count) the index in a of each index of b, or NO_INDEX where a
                                 * lacks its name; NULL: the same numbers; owned                  */
    uint64_t count[MAX_ORDER];  /* of b's names; 0: the mode has none                             */
    uint64_t only_a[MAX_ORDER], only_b[MAX_ORDER]; /* how many names the other side lacks         */
    const char *first_only_b[MAX_ORDER];           /* the first of these of b, or NULL; borrowed  */
};

/* *m = the match of two sides that have so many modes. STATUS_INPUT where one side has names of a
 * mode's indices and the other has none (but for labels that were given for a), where a mode is
 * named that the other side lacks, or where a name stands for several indices, unless both sides
 * have all names in the same order. With MATCH_INDEX nothing is asked. The caller frees *m, which
 * is empty on failure. STATUS_MEMORY. */
enum status name_match_find(struct name_match *m, const struct named_side *a,
                            const struct named_side *b, int order, enum match how,
                            struct error *error);

/* Whether modes and indices have the same numbers on both sides. */
bool name_match_is_same(const struct name_match *m);

/* Says how many names of either side the other lacks; nothing where there are none. */
void name_match_note(const struct name_match *m, const struct named_side *a,
                     const struct named_side *b, struct progress *progress);

/* Accepts an empty one. */
void name_match_free(struct name_match *m);
