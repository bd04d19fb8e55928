/* Changes the values of a tensor before it is decomposed. Unknown entries stay unknown, and zeros
 * stay zero. */
#pragma once

#include <stdbool.h>

#include "tensor/coo.h"

/* The values that are allowed, where not all are. */
struct value_check {
    bool (*takes)(double x);      /* whether x is, which is known: not NaN         */
    const char *refused, *reason; /* "the value -1 is {refused}; {reason}"        */
};

enum value_kind {
    VALUES_AS_THEY_ARE,
    VALUES_LOG1P,  /* x becomes ln(1 + x)                                                      */
    VALUES_BINARY, /* x becomes 1                                                              */
    VALUES_TFIDF   /* x becomes x (1 + ln(m / n)), where n nonzeros have the index of x in `mode`,
                    * and m have the most frequent index. m / n is the inverse document frequency of
                    * the index, scaled so that the most frequent index keeps its values; the
                    * documents are the combinations of the indices of other modes */
};

/* What the user asks. */
struct value_rule {
    enum value_kind kind;
    int mode; /* of VALUES_TFIDF, from 0 */
};

#define VALUE_RULE_TEXT 32

/* text = the rule as the user writes it: "log1p", "binary", "tfidf:2". Returns text. */
const char *value_rule_text(const struct value_rule *rule, char text[VALUE_RULE_TEXT]);

/* A rule and what it needs to know of the whole tensor. */
struct value_change {
    struct value_rule rule;
    double *factor; /* (dims[mode]) of VALUES_TFIDF: numbers of nonzeros, then the factors; owned */
    uint64_t length;
};

/* Begins with no nonzeros. The caller calls value_change_free, after a failure too. STATUS_INPUT
 * where the tensor has no such mode, STATUS_MEMORY. */
enum status value_change_begin(struct value_change *c, const struct value_rule *rule,
                               const struct shape *shape, struct error *error);

/* Counts the nonzeros of a piece, whose indices begin at `first` (order; NULL: at 0). */
void value_change_count(struct value_change *c, const struct coo *piece, const uint64_t *first);

/* Makes factors of the numbers, once all nonzeros are counted. */
void value_change_weigh(struct value_change *c);

/* Changes the values of a piece. STATUS_INPUT where a value has no logarithm, or becomes infinite.
 */
enum status value_change_apply(const struct value_change *c, struct coo *piece,
                               const uint64_t *first, struct error *error);

/* All of these for a whole tensor. */
enum status value_change_all(const struct value_rule *rule, struct coo *x, struct error *error);

/* Accepts zeros. */
void value_change_free(struct value_change *c);
