/* Checkpoint files that are damaged, or contradict themselves, are refused; what a newer version
 * has added and this one may skip is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>
#include <isa-l/crc64.h>

#include "support/checkpoint_examples.h"

#define ROOM 65536

/* Every cut, and every byte that is another one. */
static void test_damage(void **state)
{
    (void)state;
    static char bytes[ROOM];
    struct example e;
    example_create(&e, 3, 2);
    long size = scratch_read(write_example(&e, 2), bytes, ROOM);
    assert_true(size > CHECKPOINT_PAGE && size < ROOM - 1);
    assert_refused(scratch_file("cut", bytes, 0), "not a checkpoint");
    for (long cut = 1; cut < size; cut += cut < 300 || cut > 4000 ? 1 : 97)
        assert_refused(scratch_file("cut", bytes, (size_t)cut),
                       cut < 8 ? "not a checkpoint" : "cut off");
    for (long i = 0; i < size; i += i < 300 || i > 4000 ? 1 : 97) {
        bytes[i] = (char)(bytes[i] ^ 1 << i % 8);
        assert_refused(scratch_file("flipped", bytes, (size_t)size), "");
        bytes[i] = (char)(bytes[i] ^ 1 << i % 8);
    }
    bytes[size] = 'x';
    assert_refused(scratch_file("longer", bytes, (size_t)size + 1), "contradicts itself");
    assert_reads(scratch_file("good", bytes, (size_t)size), &e);
    assert_refused(scratch_path("none"), "cannot be read: No such file");
    assert_refused(scratch_text("text", "1 1 1 2.5\n"), "not a checkpoint");
    example_free(&e);
}

/* Changes the header or the directory of a good file, with good checksums. */
static const char *change(const struct example *e,
                          void (*to)(struct checkpoint_header *, struct checkpoint_piece *))
{
    static char bytes[ROOM];
    struct checkpoint_header h;
    static struct checkpoint_piece piece[MOST_PIECES];
    long size = scratch_read(write_example(e, 1), bytes, ROOM);
    memcpy(&h, bytes, sizeof h);
    memcpy(piece, bytes + h.directory_offset, h.pieces * sizeof *piece);
    uint64_t offset = h.directory_offset, count = h.pieces;
    to(&h, piece);
    h.directory_crc = crc64_ecma_refl(0, (const uint8_t *)piece, count * sizeof *piece);
    memcpy(bytes + offset, piece, count * sizeof *piece);
    memcpy(bytes, &h, sizeof h);
    h.header_crc = checkpoint_page_crc(bytes);
    memcpy(bytes, &h, sizeof h);
    return scratch_file("changed", bytes, (size_t)size);
}

#define CHANGE(name, what)                                                                         \
    static void name(struct checkpoint_header *h, struct checkpoint_piece *p)                      \
    {                                                                                              \
        (void)h;                                                                                   \
        (void)p;                                                                                   \
        what;                                                                                      \
    }
CHANGE(nothing, )
CHANGE(many_rows, h->dims[0] = UINT64_C(1) << 40)
CHANGE(longest_rows, h->dims[0] = MAX_LENGTH)
CHANGE(large_rank, h->rank = UINT64_C(1) << 40)
CHANGE(largest_rank, h->rank = UINT64_MAX)
CHANGE(no_rank, h->rank = 0)
CHANGE(many_modes, h->order = MAX_ORDER + 1)
CHANGE(no_modes, h->order = 0)
CHANGE(many_pieces, h->pieces = UINT64_C(1) << 60)
CHANGE(directory_behind, h->directory_offset = UINT64_MAX - 7)
CHANGE(no_iterations, h->iterations = 0)
CHANGE(many_iterations, h->iterations = UINT64_MAX)
CHANGE(newer, h->version = 6)
CHANGE(single_of_single, h->single_iterations = 1)
CHANGE(no_precision, h->precision = 4)
CHANGE(still_single, h->precision = CHECKPOINT_AUTO_SINGLE)
CHANGE(many_single, (h->precision = CHECKPOINT_AUTO_DOUBLE, h->single_iterations = 13))
CHANGE(older, h->version = 4)
CHANGE(weighed_twice, h->weighed = 2)
CHANGE(heavy_zeros, (h->weighed = 1, h->unlisted = 1.5))
CHANGE(fades_up, (h->weighed = 1, h->fade = 1))
CHANGE(weight_of_nothing, h->unlisted = 0.5)
CHANGE(no_ridge_scale, (h->weighed = 1, h->ridge_scale = 3))
CHANGE(all_held_out, h->holdout = 1)
CHANGE(nothing_held_out, h->holdout = 0)
CHANGE(negative_error, h->holdout_error = -1)
CHANGE(no_error, h->best_holdout_error = NAN)
CHANGE(negative_least, h->least_holdout_error = -1)
CHANGE(least_to_come, h->least_iteration = h->iterations + 1)
CHANGE(no_loss, h->loss = 4)
CHANGE(solver_of_squares, h->solver = 1)
CHANGE(no_solver, (h->loss = 1, h->solver = 2))
CHANGE(inner_of_newton, (h->loss = 1, h->inner = 2))
CHANGE(much_inner, (h->loss = 1, h->solver = 1, h->inner = PROBLEM_MOST_INNER + 1))
CHANGE(ridge_of_nothing, h->ridge_chosen = 1)
CHANGE(mode_nonneg, h->nonneg = 8)
CHANGE(mode_fixed, h->fixed = 8)
CHANGE(mode_ridge, h->ridge[3] = 1)
CHANGE(negative_ridge, h->ridge[0] = -1)
CHANGE(other_order, h->byte_order = __builtin_bswap32(h->byte_order))
CHANGE(piece_elsewhere, p[2].offset += 8)
CHANGE(piece_of_all, p[2].rows = UINT64_MAX)
CHANGE(piece_of_none, p[2].rows = 0)
CHANGE(piece_of_mode, p[2].mode = 9)
CHANGE(unknown_piece, p[2].kind = 99)
CHANGE(newer_piece, p[2].version = 2)
CHANGE(no_momentum, h->momentum = CHECKPOINT_EXTRAPOLATED)
CHANGE(both_ends, h->momentum |= CHECKPOINT_EXTRAPOLATED | CHECKPOINT_REJECTED)
CHANGE(more_momentum, h->momentum |= 8)
CHANGE(small_t, h->momentum_t = 0.5)
CHANGE(no_objective, h->momentum_objective = NAN)
CHANGE(negative_noise, h->momentum_noise = -1)
CHANGE(many_restarts, h->restarts = 13)
CHANGE(many_changes, h->small_changes = 13)
CHANGE(one_model, h->momentum = CHECKPOINT_MOMENTUM)
CHANGE(later_best, h->best_iteration = 13)
CHANGE(fit_without_best, h->best_iteration = 0)
CHANGE(no_best_fit, h->best_fit = NAN)
CHANGE(best_precision, h->best_precision = 2)
CHANGE(best_is_last, h->best_iteration = 12)
CHANGE(no_best, (h->best_iteration = 0, h->best_fit = 0))

static void test_contradictions(void **state)
{
    (void)state;
    struct example e;
    example_create(&e, 3, 2);
    assert_reads(change(&e, nothing), &e);
    static const struct {
        void (*to)(struct checkpoint_header *, struct checkpoint_piece *);
        const char *why;
    } cases[] = {{many_rows, "contradicts itself"},
                 {longest_rows, "contradicts itself"},
                 {large_rank, "contradicts itself"},
                 {largest_rank, "contradicts itself"},
                 {no_rank, "contradicts itself"},
                 {many_modes, "contradicts itself"},
                 {no_modes, "contradicts itself"},
                 {many_pieces, "contradicts itself"},
                 {directory_behind, "contradicts itself"},
                 {no_iterations, "contradicts itself"},
                 {many_iterations, "contradicts itself"},
                 {newer, "version 6 of the format, but this blco reads version 5 only"},
                 {older, "version 4 of the format, but this blco reads version 5 only"},
                 {single_of_single, "contradicts itself"},
                 {no_precision, "contradicts itself"},
                 {still_single, "contradicts itself"},
                 {many_single, "contradicts itself"},
                 {weighed_twice, "contradicts itself"},
                 {heavy_zeros, "contradicts itself"},
                 {fades_up, "contradicts itself"},
                 {weight_of_nothing, "contradicts itself"},
                 {no_ridge_scale, "contradicts itself"},
                 {no_loss, "contradicts itself"},
                 {solver_of_squares, "contradicts itself"},
                 {no_solver, "contradicts itself"},
                 {inner_of_newton, "contradicts itself"},
                 {much_inner, "contradicts itself"},
                 {ridge_of_nothing, "contradicts itself"},
                 {mode_nonneg, "contradicts itself"},
                 {mode_fixed, "contradicts itself"},
                 {mode_ridge, "contradicts itself"},
                 {negative_ridge, "contradicts itself"},
                 {other_order, "another byte order"},
                 {piece_elsewhere, "do not fit together"},
                 {piece_of_all, "do not fit together"},
                 {piece_of_none, "do not fit together"},
                 {piece_of_mode, "do not fit together"},
                 {unknown_piece, "do not fit together"},
                 {newer_piece, "do not fit together"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(change(&e, cases[i].to), cases[i].why);
    example_free(&e);
}

static void test_momentum(void **state)
{
    (void)state;
    static void (*const wrong[])(struct checkpoint_header *, struct checkpoint_piece *) = {
        no_momentum,  both_ends,      more_momentum, small_t,
        no_objective, negative_noise, many_restarts, many_changes};
    struct example e;
    example_create(&e, 3, 2);
    assert_refused(change(&e, no_momentum), "contradicts itself");
    example_extrapolate(&e);
    assert_reads(change(&e, nothing), &e);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(change(&e, wrong[i]), "contradicts itself");
    assert_refused(change(&e, one_model), "a section of kind 5");
    example_free(&e);
}

/* Held-out entries. */
static void test_holdout(void **state)
{
    (void)state;
    static void (*const wrong[])(struct checkpoint_header *, struct checkpoint_piece *) = {
        all_held_out, nothing_held_out, negative_error, no_error, negative_least, least_to_come};
    struct example e;
    example_create(&e, 3, 2);
    e.about.problem.holdout = (struct holdout){.2, 77};
    e.about.holdout_error = .5;
    e.about.best.holdout_error = .25;
    e.about.least_holdout_error = .25;
    e.about.least_iteration = 1;
    assert_reads(change(&e, nothing), &e);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(change(&e, wrong[i]), "contradicts itself");
    example_free(&e);
}

/* A copy of the best model. */
static void test_best(void **state)
{
    (void)state;
    static void (*const wrong[])(struct checkpoint_header *, struct checkpoint_piece *) = {
        later_best, fit_without_best, no_best_fit, best_precision};
    struct example e;
    example_create(&e, 3, 2);
    for (int extrapolated = 0; extrapolated < 2; extrapolated++) {
        if (extrapolated)
            example_extrapolate(&e);
        else
            example_was_better(&e);
        assert_reads(change(&e, nothing), &e);
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
            assert_refused(change(&e, wrong[i]), "contradicts itself");
        assert_refused(change(&e, best_is_last), "a section of kind 8");
        assert_refused(change(&e, no_best), "a section of kind 8");
    }
    example_free(&e);
}

/* Adds a section after the matrices, of a kind that this version does not know. */
static const char *add_section(const struct example *e, uint32_t flags)
{
    static char bytes[ROOM];
    struct checkpoint_header h;
    long size = scratch_read(write_example(e, 1), bytes, ROOM);
    memcpy(&h, bytes, sizeof h);
    size_t directory = h.pieces * sizeof(struct checkpoint_piece);
    struct checkpoint_piece p = {
        .kind = 77, .version = 3, .flags = flags, .offset = h.directory_offset, .bytes = 16};
    char *at = bytes + h.directory_offset;
    memmove(at + 16, at, directory);
    memcpy(at, "sixteen bytes...", 16);
    p.crc = crc64_ecma_refl(0, (const uint8_t *)at, 16);
    memcpy(at + 16 + directory, &p, sizeof p);
    h.directory_offset += 16;
    h.pieces++;
    size += 16 + (long)sizeof p;
    h.file_bytes = (uint64_t)size;
    h.directory_crc = crc64_ecma_refl(0, (const uint8_t *)at + 16, directory + sizeof p);
    memcpy(bytes, &h, sizeof h);
    h.header_crc = checkpoint_page_crc(bytes);
    memcpy(bytes, &h, sizeof h);
    return scratch_file("more", bytes, (size_t)size);
}

static void test_unknown_sections(void **state)
{
    (void)state;
    struct example e;
    example_create(&e, 3, 2);
    assert_reads(add_section(&e, CHECKPOINT_MAY_SKIP), &e);
    assert_refused(add_section(&e, 0), "has a section of kind 77, which this blco does not know");
    example_free(&e);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_damage),  IN_FOLDER(test_contradictions), IN_FOLDER(test_momentum),
        IN_FOLDER(test_holdout), IN_FOLDER(test_best),           IN_FOLDER(test_unknown_sections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
