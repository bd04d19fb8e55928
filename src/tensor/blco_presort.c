#include "tensor/blco_presort.h"

#include <string.h>

#include "base/memory.h"
#include "base/radix_sort.h"
#include "tensor/ordering_moves.h"

bool blco_presort_possible(const struct shape *shape)
{
    return ordering_line_bits(shape) <= 64;
}

static bool ascends(const uint64_t *line, uint64_t nnz)
{
    uint64_t descents = 0;
#pragma omp parallel for schedule(static) reduction(+ : descents)
    for (uint64_t i = 1; i < nnz; i++)
        descents += line[i] < line[i - 1];
    return descents == 0;
}

enum status blco_presort_create(struct blco_presort *s, const struct coo *x, struct coo *spent,
                                struct error *error)
{
    *s = (struct blco_presort){.shape = x->shape, .nnz = x->nnz, .norm_sq = coo_norm_sq(x)};
    ordering_common(&s->line_order, &x->shape);

    struct ordering natural; /* files are often sorted along its lines already */
    ordering_natural(&natural, &x->shape);
    uint64_t *line = memory_array(x->nnz, sizeof *line, error);
    if (!line)
        goto done;
    TRY_OR(done, ordering_line_words(&natural, x, 0, NULL, line, error));
    if (spent)
        coo_free_indices(spent);
    s->line = memory_array(x->nnz, sizeof *s->line, error);
    s->value = memory_array(x->nnz, sizeof *s->value, error);
    TRY_OR(done, error->status);
    struct bit_moves moves;
    ordering_moves_create(&moves, &natural, &s->line_order, ORDERING_LINE, 0);
    int low = ascends(line, x->nnz) ? ordering_sorted_bits(&natural, &s->line_order) : 0;
    const struct sort_keys keys = {&moves, low, s->line_order.line_bits};
    radix_sort_moved(&keys, (struct pairs){line, (uint64_t *)(void *)x->value},
                     (struct pairs){s->line, (uint64_t *)(void *)s->value}, x->nnz, error);
done:
    memory_free(line);
    if (spent) {
        memory_free(spent->value);
        spent->value = NULL;
    }
    if (error->status != STATUS_OK)
        blco_presort_free(s);
    return error->status;
}

void blco_presort_free(struct blco_presort *s)
{
    memory_free(s->line);
    memory_free(s->value);
    memset(s, 0, sizeof *s);
}
