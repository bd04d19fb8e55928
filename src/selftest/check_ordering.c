#include "selftest/selftest_checks.h"
#include "tensor/blco.h"

#define NONZEROS 12

/* The BLCO paper's Figure 6 (Nguyen et al., ICS 2022): nonzero i, of value i + 1, its line, and its
 * index with 5 bits below the block key. */
static const uint32_t coordinate[NONZEROS][3] = {{0, 0, 0}, {0, 0, 1}, {0, 2, 2}, {1, 0, 1},
                                                 {1, 0, 2}, {2, 0, 1}, {2, 3, 3}, {3, 1, 0},
                                                 {3, 1, 1}, {3, 2, 2}, {3, 2, 3}, {3, 3, 3}};
static const uint64_t lines[NONZEROS] = {0, 4, 48, 5, 33, 12, 62, 11, 15, 57, 61, 63};

/* Along the line: the paper's two blocks, of six nonzeros each. */
static const uint64_t sorted_index[NONZEROS] = {0, 16, 17, 7, 18, 23, 1, 8, 11, 27, 30, 31};
static const double sorted_value[NONZEROS] = {1, 2, 4, 8, 6, 9, 5, 3, 10, 11, 7, 12};

static void compare_blocks(const struct blco *b, struct verdict *f)
{
    verdict_equal(f, b->nblocks, 2, "figure 6, blocks");
    for (uint64_t k = 0; k < b->nblocks; k++) {
        verdict_equal(f, b->block[k].count, 6, "figure 6, nonzeros of block %d", (int)k);
        verdict_equal(f, b->block[k].base[2], 2 * k, "figure 6, base of mode 3, block %d", (int)k);
    }
    for (int i = 0; i < NONZEROS; i++) {
        verdict_equal(f, b->index[0][i], sorted_index[i], "figure 6, index %d", i);
        verdict_near(f, b->value[i], sorted_value[i], 0, "figure 6, value %d", i);
    }
}

enum status check_ordering(const struct selftest_place *p, int which, struct verdict *f,
                           struct error *error)
{
    (void)which;
    (void)p;
    static const struct shape shape = {3, {4, 4, 4}};
    static const struct blco_options options = {.kind = ORDERING_ALTO, .index_bits = 5};
    struct ordering o;
    struct coo x;
    struct blco b = {0};
    ordering_create(&o, ORDERING_ALTO, &shape, 5);
    TRY(coo_create(&x, &shape, NONZEROS, error));
    for (int i = 0; i < NONZEROS; i++) {
        uint64_t line[MAX_LINE_WORDS];
        ordering_encode(&o, coordinate[i], line);
        verdict_equal(f, line[0], lines[i], "figure 6, line of nonzero %d", i + 1);
        for (int n = 0; n < 3; n++)
            x.index[n][i] = coordinate[i][n];
        x.value[i] = i + 1;
    }
    TRY_OR(done, blco_build(&b, &x, &options, error));
    compare_blocks(&b, f);
done:
    blco_free(&b);
    coo_free(&x);
    return error->status;
}
