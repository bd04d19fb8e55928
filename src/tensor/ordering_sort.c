#include "tensor/ordering_sort.h"

#include "base/radix_sort.h"

enum status ordering_sort(const struct ordering *o, const struct coo *x, uint64_t *position,
                          uint64_t count, uint64_t *key, struct error *error)
{
    struct coo part = *x; /* borrows the arrays; one key for each position */
    part.nnz = count;
    int word = 0;
    do {
        int bits = o->line_bits - 64 * word;
        if (ordering_line_words(o, &part, word, position, key, error) != STATUS_OK ||
            radix_sort(key, position, count, bits < 64 ? bits : 64, error) != STATUS_OK)
            break;
        word++;
    } while (64 * word < o->line_bits);
    return error->status;
}
