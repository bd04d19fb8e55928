#include "tensor/blco.h"

#include <string.h>

#include "base/memory.h"
#include "base/radix_sort.h"
#include "base/vector_clones.h"

#define PARTS 256 /* of the nonzeros; each is one thread's work */

/* The nonzeros in line order, before the lines are cut. Lines of one word are sorted themselves,
 * with the values; for longer lines, positions in x are sorted. */
struct sorted {
    const struct coo *x; /* NULL where only lines are needed                     */
    uint64_t nnz;
    uint64_t *line;     /* (nnz); NULL where lines are longer than a word */
    uint64_t *position; /* (nnz); NULL where lines are one word           */
};

/* Fills s->line and b->value; the sort moves the bits of the values along with the lines. */
static enum status sort_short_lines(struct blco *b, struct sorted *s, struct coo *spent,
                                    struct error *error)
{
    const struct coo *x = s->x;
    s->line = memory_array(x->nnz, sizeof *s->line, error);
    TRY(error->status);
    TRY(ordering_line_words(&b->ordering, x, 0, NULL, s->line, error));
    if (spent) {
        b->value = spent->value;
        spent->value = NULL;
        coo_free_indices(spent);
    } else {
        b->value = memory_array(x->nnz, sizeof *b->value, error);
        TRY(error->status);
        memory_copy(b->value, x->value, x->nnz * sizeof *b->value);
    }
    return radix_sort(s->line, (uint64_t *)(void *)b->value, x->nnz, error);
}

/* Whether nonzero i > 0 of the line order has another block key than nonzero i - 1. */
static bool changes_key(const struct ordering *o, const struct sorted *s, uint64_t i)
{
    if (s->line)
        return (s->line[i] ^ s->line[i - 1]) >> o->cut != 0;
    for (int n = 0; n < o->order; n++) {
        const uint32_t *index = s->x->index[n];
        uint32_t base_bits = (uint32_t)~o->field[n].mask;
        if (o->mode_bits[n] > 0 &&
            ((index[s->position[i]] ^ index[s->position[i - 1]]) & base_bits) != 0)
            return true;
    }
    return false;
}

/* Counts the block keys that begin in a part; writes their first nonzeros to block, unless NULL. */
static uint64_t scan_part(const struct ordering *o, const struct sorted *s, uint64_t part,
                          struct blco_block *block)
{
    uint64_t nnz = s->nnz, length = nnz / PARTS + 1, keys = 0;
    if (o->cut == o->line_bits && part > 0) /* one key */
        return 0;
    if (o->cut == o->line_bits)
        length = 1;
    for (uint64_t i = part * length; i < (part + 1) * length && i < nnz; i++) {
        if (i > 0 && !changes_key(o, s, i))
            continue;
        if (block)
            block[keys].first = i;
        keys++;
    }
    return keys;
}

/* Counts the block keys; before[part] (PARTS) receives the number of keys that begin before the
 * part. */
static uint64_t count_keys(const struct ordering *o, const struct sorted *s, uint64_t *before)
{
#pragma omp parallel for schedule(static)
    for (uint64_t part = 0; part < PARTS; part++)
        before[part] = scan_part(o, s, part, NULL);
    uint64_t keys = 0;
    for (int part = 0; part < PARTS; part++) {
        uint64_t count = before[part];
        before[part] = keys;
        keys += count;
    }
    return keys;
}

/* Fills the block table: one block a key. */
static enum status cut_blocks(struct blco *b, const struct sorted *s, struct error *error)
{
    uint64_t before[PARTS];
    b->nblocks = count_keys(&b->ordering, s, before);
    b->block = memory_array(b->nblocks, sizeof *b->block, error);
    TRY(error->status);
#pragma omp parallel for schedule(static)
    for (uint64_t part = 0; part < PARTS; part++)
        scan_part(&b->ordering, s, part, b->block + before[part]);
#pragma omp parallel for schedule(static)
    for (uint64_t k = 0; k < b->nblocks; k++) { /* the coordinate bits above the cut */
        struct blco_block *block = &b->block[k];
        uint32_t coordinate[MAX_ORDER];
        uint64_t index[2];
        block->count = (k + 1 < b->nblocks ? b->block[k + 1].first : b->nnz) - block->first;
        memset(block->base, 0, sizeof block->base);
        if (s->line) {
            ordering_base(&b->ordering, &s->line[block->first], block->base);
        } else {
            coo_coordinates(s->x, s->position[block->first], coordinate);
            ordering_split(&b->ordering, coordinate, index, block->base);
        }
    }
    return STATUS_OK;
}

/* Turns lines of one word into index[0], in place, by gathering the bits of each mode. In `mode n`
 * order without block keys they are gathered already. */
static void store_short_lines(struct blco *b, struct sorted *s)
{
    b->index[0] = s->line;
    s->line = NULL;
    if (b->ordering.kind != ORDERING_ALTO && b->ordering.cut == b->ordering.line_bits)
        return;
    uint64_t table[8][256];
    /* table[b][v]: the index bits that byte b of a line gives where its value is v */
    memset(table, 0, 8 * sizeof *table);
    for (int n = 0; n < b->ordering.order; n++) {
        for (int k = 0; k < b->ordering.mode_bits[n]; k++) {
            int place = b->ordering.place[n][k];
            for (unsigned byte = 0; place < b->ordering.cut && byte < 256; byte++)
                if (byte >> (place % 8) & 1)
                    table[place / 8][byte] |= UINT64_C(1) << (b->ordering.field[n].shift + k);
        }
    }
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < b->nnz; i++) {
        uint64_t line = b->index[0][i], index = 0;
        for (int byte = 0; byte < 8; byte++)
            index |= table[byte][line >> (8 * byte) & 255];
        b->index[0][i] = index;
    }
}

/* Gathers indices and values of nonzeros with longer lines. */
static enum status store_long_lines(struct blco *b, const struct sorted *s, struct error *error)
{
    for (int w = 0; w < b->ordering.words; w++) {
        b->index[w] = memory_array(b->nnz, sizeof *b->index[w], error);
        TRY(error->status);
    }
    b->value = memory_array(b->nnz, sizeof *b->value, error);
    TRY(error->status);
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < b->nnz; i++) {
        uint32_t coordinate[MAX_ORDER], base[MAX_ORDER];
        uint64_t index[2];
        coo_coordinates(s->x, s->position[i], coordinate);
        ordering_split(&b->ordering, coordinate, index, base);
        for (int w = 0; w < b->ordering.words; w++)
            b->index[w][i] = index[w];
        b->value[i] = s->x->value[s->position[i]];
    }
    return STATUS_OK;
}

enum status blco_build(struct blco *b, const struct coo *x, const struct blco_options *options,
                       struct error *error)
{
    *b = (struct blco){.shape = x->shape, .nnz = x->nnz, .norm_sq = coo_norm_sq(x)};
    ordering_create(&b->ordering, options->kind, &x->shape,
                    options->index_bits ? options->index_bits : 64);

    struct sorted s = {.x = x, .nnz = x->nnz};
    if (b->ordering.line_bits <= 64) {
        TRY_OR(done, sort_short_lines(b, &s, options->spent, error));
        TRY_OR(done, cut_blocks(b, &s, error));
        store_short_lines(b, &s);
    } else {
        s.position = ordering_positions(b->nnz, error);
        uint64_t *key = memory_array(b->nnz, sizeof *key, error);
        if (s.position && key)
            ordering_sort(&b->ordering, x, s.position, b->nnz, key, error);
        memory_free(key);
        TRY_OR(done, error->status);
        if (options->index_bits == 0) {
            /* two index words, where one would leave blocks of only a few nonzeros */
            uint64_t before[PARTS], keys = count_keys(&b->ordering, &s, before);
            if (keys > 1 && b->nnz / keys < BLCO_FEW_NONZEROS)
                ordering_create(&b->ordering, b->ordering.kind, &b->shape, 128);
        }
        TRY_OR(done, cut_blocks(b, &s, error));
        store_long_lines(b, &s, error);
    }
done:
    memory_free(s.line, s.position);
    if (error->status != STATUS_OK)
        blco_free(b);
    return error->status;
}

uint64_t blco_block_of(const struct blco *b, uint64_t i)
{
    uint64_t low = 0, high = b->nblocks;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (b->block[middle].first <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

VECTOR_CLONES static void decode_field(const struct field *f, uint32_t base, const uint64_t *word,
                                       uint64_t count, uint32_t *restrict coordinate)
{
    const uint64_t mask = f->mask;
    const int shift = f->shift;
    for (uint64_t i = 0; i < count; i++)
        coordinate[i] = base | (uint32_t)(word[i] >> shift & mask);
}

void blco_decode_mode(const struct blco *b, int mode, uint64_t first, uint64_t count,
                      uint32_t *coordinate)
{
    const struct field *f = &b->ordering.field[mode];
    const uint64_t end = first + count;
    for (uint64_t k = blco_block_of(b, first); first < end; k++) {
        const struct blco_block *block = &b->block[k];
        uint64_t block_end = block->first + block->count,
                 taken = (block_end < end ? block_end : end) - first;
        decode_field(f, block->base[mode], b->index[f->word] + first, taken, coordinate);
        first += taken;
        coordinate += taken;
    }
}

void blco_decode(const struct blco *b, uint64_t first, uint64_t count, struct coo *x, uint64_t to)
{
    for (int n = 0; n < b->shape.order; n++)
        blco_decode_mode(b, n, first, count, x->index[n] + to);
    memcpy(x->value + to, b->value + first, count * sizeof *x->value);
}

enum status blco_to_coo(const struct blco *b, struct coo *x, struct error *error)
{
    TRY(coo_create(x, &b->shape, b->nnz, error));
    uint64_t length = b->nnz / PARTS + 1;
#pragma omp parallel for schedule(static)
    for (uint64_t first = 0; first < b->nnz; first += length)
        blco_decode(b, first, b->nnz - first < length ? b->nnz - first : length, x, first);
    return STATUS_OK;
}

void blco_free(struct blco *b)
{
    memory_free(b->index[0], b->index[1], b->value, b->block);
    memset(b, 0, sizeof *b);
}

static bool ascends(const uint64_t *line, uint64_t nnz)
{
    uint64_t descents = 0;
#pragma omp parallel for schedule(static) reduction(+ : descents)
    for (uint64_t i = 1; i < nnz; i++)
        descents += line[i] < line[i - 1];
    return descents == 0;
}

/* Fills b->index[0], b->value and the block table from lines of the ordering `from`, which carry
 * the values; the lowest `low` bits of b's lines need no sorting. */
static enum status build_moved(struct blco *b, const struct ordering *from, struct pairs lines,
                               int low, struct error *error)
{
    struct bit_moves moves;
    b->index[0] = memory_array(b->nnz, sizeof *b->index[0], error);
    b->value = memory_array(b->nnz, sizeof *b->value, error);
    TRY(error->status);
    ordering_moves_create(&moves, from, &b->ordering, ORDERING_LINE, 0);
    const struct sort_keys keys = {&moves, low, b->ordering.line_bits};
    TRY(radix_sort_moved(&keys, lines, (struct pairs){b->index[0], (uint64_t *)(void *)b->value},
                         b->nnz, error));
    const struct sorted s = {.nnz = b->nnz, .line = b->index[0]};
    return cut_blocks(b, &s, error);
}

enum status blco_build_common(struct blco *b, const struct coo *x, struct coo *spent,
                              struct error *error)
{
    *b = (struct blco){.shape = x->shape, .nnz = x->nnz, .norm_sq = coo_norm_sq(x)};
    ordering_common(&b->ordering, &x->shape);

    struct ordering natural; /* files are often sorted along its lines already */
    ordering_natural(&natural, &x->shape);
    uint64_t *line = memory_array(x->nnz, sizeof *line, error);
    TRY_OR(done, error->status);
    TRY_OR(done, ordering_line_words(&natural, x, 0, NULL, line, error));
    if (spent)
        coo_free_indices(spent);
    int low = ascends(line, x->nnz) ? ordering_sorted_bits(&natural, &b->ordering) : 0;
    const struct pairs lines = {line, (uint64_t *)(void *)x->value};
    build_moved(b, &natural, lines, low, error);
done:
    memory_free(line);
    if (spent) {
        memory_free(spent->value);
        spent->value = NULL;
    }
    if (error->status != STATUS_OK)
        blco_free(b);
    return error->status;
}

enum status blco_build_from(struct blco *b, struct blco *common, int mode, bool take,
                            struct error *error)
{
    const struct ordering *from = &common->ordering;
    if (take && mode == from->kind) {
        *b = *common;
        *common = (struct blco){0};
        return STATUS_OK;
    }
    *b = (struct blco){.shape = common->shape, .nnz = common->nnz, .norm_sq = common->norm_sq};
    ordering_create(&b->ordering, mode, &b->shape, 64);
    const struct pairs lines = {common->index[0], (uint64_t *)(void *)common->value};
    if (build_moved(b, from, lines, ordering_sorted_bits(from, &b->ordering), error) != STATUS_OK)
        blco_free(b);
    return error->status;
}
