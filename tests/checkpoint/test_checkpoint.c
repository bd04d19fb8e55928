/* Checkpoint files: what is written is read, and what is damaged is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>
#include <isa-l/crc64.h>

#include "base/memory.h"
#include "checkpoint/checkpoint.h"
#include "support/scratch.h"

#define ROOM        65536
#define MOST_PIECES 128

static const uint64_t dims[] = {7, 1, 50};

/* A state to save: numbers that tell their places. */
struct example {
    struct checkpoint_about about;
    struct ktensor model;
    struct carried carried;
    struct checkpoint_second second; /* where about.momentum.extrapolated */
};

static void example_create(struct example *e, int order, uint64_t rank)
{
    struct error error = {0};
    e->second = (struct checkpoint_second){0};
    e->about = (struct checkpoint_about){
        .tensor = {.shape = shape_of(order, dims), .nnz = 300, .hash = 0x123456789abcdef0},
        .rank = rank,
        .precision = PRECISION_SINGLE,
        .rules = {.ridge = {0.5}, .nonneg = {true}},
        .seed = 77,
        .init = CHECKPOINT_FROM_MODEL,
        .iterations = 12,
        .fit = 0.75,
        .change = -1e-3};
    if (order > 2) {
        e->about.rules.ridge[2] = 2;
        e->about.rules.fixed[1] = true;
    }
    assert_int_equal(ktensor_create(&e->model, &e->about.tensor.shape, rank, &error), STATUS_OK);
    assert_int_equal(carried_create(&e->carried, order, rank, &error), STATUS_OK);
    ktensor_randomise(&e->model, KTENSOR_NORMAL, 5);
    for (uint64_t r = 0; r < rank; r++)
        e->model.lambda[r] = 1000 + (double)r;
    for (uint64_t i = 0; i < (uint64_t)order * rank; i++)
        e->carried.scale[i] = 2000 + (double)i;
    for (uint64_t i = 0; i < (uint64_t)order * rank * rank; i++)
        e->carried.gram[i] = 3000 + (double)i;
}

static void example_free(struct example *e)
{
    ktensor_free(&e->model);
    carried_free(&e->carried);
    checkpoint_second_free(&e->second);
}

/* The next iteration begins with extrapolated factor matrices. */
static void example_extrapolate(struct example *e)
{
    struct error error = {0};
    uint64_t rank = e->about.rank, order = (uint64_t)e->about.tensor.shape.order;
    e->about.has_momentum = true;
    e->about.momentum = (struct momentum){.t = 2.5,
                                          .objective = 0.625,
                                          .noise = 1e-15,
                                          .fall = MOMENTUM_FALL_SINGLE,
                                          .sweeps = e->about.iterations,
                                          .restarts = 3,
                                          .extrapolated = 1};
    e->about.small_changes = 1;
    assert_int_equal(ktensor_create(&e->second.rows, &e->about.tensor.shape, rank, &error),
                     STATUS_OK);
    assert_int_equal(carried_create(&e->second.carried, (int)order, rank, &error), STATUS_OK);
    ktensor_randomise(&e->second.rows, KTENSOR_NORMAL, 6);
    for (uint64_t i = 0; i < order * rank; i++)
        e->second.carried.scale[i] = 4000 + (double)i;
    for (uint64_t i = 0; i < order * rank * rank; i++)
        e->second.carried.gram[i] = 5000 + (double)i;
}

/* The rows of the model that part `part` of `parts` has; borrowed. */
static struct ktensor rows_of(const struct ktensor *k, uint64_t part, uint64_t parts)
{
    struct ktensor rows = *k;
    for (int n = 0; n < k->shape.order; n++) {
        rows.first[n] = k->shape.dims[n] * part / parts;
        rows.shape.dims[n] = k->shape.dims[n] * (part + 1) / parts - rows.first[n];
        rows.factor[n] += rows.first[n] * k->rank;
    }
    return rows;
}

/* Writes the state in parts, the last one first. */
static enum status write_parts(const struct example *e, const char *path, uint64_t parts,
                               struct error *error)
{
    struct outfile f;
    struct checkpoint_piece piece[MOST_PIECES];
    struct checkpoint_pieces own, all = {.piece = piece};
    if (outfile_open(&f, path, error) != STATUS_OK)
        return error->status;
    for (uint64_t p = parts; p-- > 0 && error->status == STATUS_OK;) {
        const struct ktensor rows = rows_of(&e->model, p, parts);
        const struct checkpoint_second second = {rows_of(&e->second.rows, p, parts),
                                                 e->second.carried};
        if (checkpoint_write_rows(&f, &e->about, &rows, p == 0 ? &e->carried : NULL, &second, &own,
                                  error) != STATUS_OK)
            break;
        assert_true(all.count + own.count <= MOST_PIECES);
        memcpy(all.piece + all.count, own.piece, own.count * sizeof *piece);
        all.count += own.count;
        memory_free(own.piece);
    }
    if (error->status == STATUS_OK &&
        checkpoint_write_directory(&f, &e->about, &all, error) == STATUS_OK)
        outfile_commit(&f, error);
    outfile_discard(&f);
    return error->status;
}

static const char *write_example(const struct example *e, uint64_t parts)
{
    struct error error = {0};
    const char *path = scratch_path("checkpoint");
    if (write_parts(e, path, parts, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    return path;
}

static void assert_doubles(const double *a, const double *b, uint64_t count)
{
    assert_memory_equal(a, b, count * sizeof *a);
}

static void assert_reads(const char *path, const struct example *e)
{
    struct error error = {0};
    struct checkpoint c;
    const struct checkpoint_about *a = &e->about, *b = &c.about;
    uint64_t rank = a->rank, order = (uint64_t)a->tensor.shape.order;
    if (checkpoint_open(&c, path, 0, 1, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_true(shape_equal(&a->tensor.shape, &b->tensor.shape) && a->tensor.nnz == b->tensor.nnz &&
                a->tensor.hash == b->tensor.hash && a->rank == b->rank &&
                a->precision == b->precision &&
                memcmp(&a->rules, &b->rules, sizeof a->rules) == 0 && a->seed == b->seed &&
                a->init == b->init && a->iterations == b->iterations && a->fit == b->fit &&
                a->change == b->change);
    assert_true(a->has_momentum == b->has_momentum && a->small_changes == b->small_changes &&
                memcmp(&a->momentum, &b->momentum, sizeof a->momentum) == 0);
    for (uint64_t n = 0; n < order && a->momentum.extrapolated; n++)
        assert_doubles(c.second.factor[n], e->second.rows.factor[n], e->model.shape.dims[n] * rank);
    if (a->momentum.extrapolated) {
        assert_doubles(c.second.lambda, e->model.lambda, rank);
        assert_doubles(c.second_carried.scale, e->second.carried.scale, order * rank);
        assert_doubles(c.second_carried.gram, e->second.carried.gram, order * rank * rank);
    }
    assert_doubles(c.model.lambda, e->model.lambda, rank);
    assert_doubles(c.carried.scale, e->carried.scale, order * rank);
    assert_doubles(c.carried.gram, e->carried.gram, order * rank * rank);
    for (uint64_t n = 0; n < order; n++)
        assert_doubles(c.model.factor[n], e->model.factor[n], e->model.shape.dims[n] * rank);
    checkpoint_close(&c);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (int order = 1; order <= 3; order++)
        for (uint64_t rank = 1; rank <= 5; rank += 2)
            for (uint64_t parts = 1; parts <= 9; parts += 4) {
                struct example e;
                example_create(&e, order, rank);
                assert_reads(write_example(&e, parts), &e);
                example_extrapolate(&e);
                assert_reads(write_example(&e, parts), &e);
                example_free(&e);
            }
}

/* More rows than one piece has. */
static void test_many_pieces(void **state)
{
    (void)state;
    struct example e;
    struct error error = {0};
    struct checkpoint c;
    example_create(&e, 3, 64);
    ktensor_free(&e.model);
    e.about.tensor.shape = shape_of(1, (uint64_t[]){100000});
    e.about.rules = (struct mode_rules){.ridge = {0.5}};
    assert_int_equal(ktensor_create(&e.model, &e.about.tensor.shape, 64, &error), STATUS_OK);
    ktensor_randomise(&e.model, KTENSOR_NORMAL, 5);
    const char *path = write_example(&e, 2);
    assert_reads(path, &e);
    for (int share = 0; share < 3; share++) {
        assert_int_equal(checkpoint_open(&c, path, share, 3, &error), STATUS_OK);
        checkpoint_close(&c);
    }
    example_free(&e);
}

static void assert_refused(const char *path, const char *why)
{
    struct error error = {0};
    struct checkpoint c;
    memory_hook_set(0); /* the first allocation would fail */
    assert_int_equal(checkpoint_open(&c, path, 0, 1, &error), STATUS_INPUT);
    assert_true(!c.map.bytes && !c.model.lambda);
    assert_null(strchr(error.message, '\n'));
    if (!strstr(error.message, why))
        fail_msg("%s; expected: %s", error.message, why);
    memory_hook_set(-1);
}

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
CHANGE(newer, h->version = 4)
CHANGE(oldest, h->version = 2)
CHANGE(single_of_single, h->single_iterations = 1)
CHANGE(no_precision, h->precision = 4)
CHANGE(auto_of_version_2, (h->version = 2, h->precision = CHECKPOINT_AUTO_DOUBLE))
CHANGE(still_single, h->precision = CHECKPOINT_AUTO_SINGLE)
CHANGE(many_single, (h->precision = CHECKPOINT_AUTO_DOUBLE, h->single_iterations = 13))
CHANGE(older, h->version = 1)
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
CHANGE(old_momentum, (h->version = 2, h->momentum = CHECKPOINT_MOMENTUM))
CHANGE(both_ends, h->momentum |= CHECKPOINT_EXTRAPOLATED | CHECKPOINT_TAKEN_BACK)
CHANGE(more_momentum, h->momentum |= 8)
CHANGE(small_t, h->momentum_t = 0.5)
CHANGE(no_objective, h->momentum_objective = NAN)
CHANGE(negative_noise, h->momentum_noise = -1)
CHANGE(many_restarts, h->restarts = 13)
CHANGE(many_changes, h->small_changes = 13)
CHANGE(one_model, h->momentum = CHECKPOINT_MOMENTUM)

static void test_contradictions(void **state)
{
    (void)state;
    struct example e;
    example_create(&e, 3, 2);
    assert_reads(change(&e, nothing), &e);
    assert_reads(change(&e, oldest), &e);
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
                 {newer, "version 4 of the format, but this blco reads versions 2 to 3"},
                 {older, "version 1 of the format, but this blco reads versions 2 to 3"},
                 {single_of_single, "contradicts itself"},
                 {no_precision, "contradicts itself"},
                 {auto_of_version_2, "contradicts itself"},
                 {still_single, "contradicts itself"},
                 {many_single, "contradicts itself"},
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
        no_momentum,  old_momentum,   both_ends,     more_momentum, small_t,
        no_objective, negative_noise, many_restarts, many_changes};
    struct example e;
    example_create(&e, 3, 2);
    assert_reads(change(&e, oldest), &e);
    assert_refused(change(&e, no_momentum), "contradicts itself");
    example_extrapolate(&e);
    assert_reads(change(&e, nothing), &e);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(change(&e, wrong[i]), "contradicts itself");
    assert_refused(change(&e, one_model), "a section of kind 5");
    example_free(&e);
}

/* Adds a section behind the matrices, of a kind that this version does not know. */
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

static void test_another_run(void **state)
{
    (void)state;
    struct example e;
    struct checkpoint c;
    struct error error = {0};
    example_create(&e, 3, 2);
    assert_int_equal(checkpoint_open(&c, write_example(&e, 1), 0, 1, &error), STATUS_OK);
    const struct shape *s = &e.about.tensor.shape;
    const struct mode_rules *rules = &e.about.rules;
    struct mode_rules other = {.nonneg = {true, false, true}, .fixed = {false, true}};
    assert_int_equal(checkpoint_check_run(&c, 2, PRECISION_SINGLE, false, rules, &error),
                     STATUS_OK);
    assert_int_equal(checkpoint_check_shape(&c, s, 300, &error), STATUS_OK);
    assert_int_equal(checkpoint_check_hash(&c, e.about.tensor.hash, &error), STATUS_OK);
#define REFUSES(call, why)                                                                         \
    do {                                                                                           \
        error = (struct error){0};                                                                 \
        assert_int_equal(call, STATUS_INPUT);                                                      \
        assert_non_null(strstr(error.message, why));                                               \
    } while (0)
    REFUSES(checkpoint_check_run(&c, 3, PRECISION_SINGLE, false, rules, &error),
            "of rank 2, but -r is 3");
    REFUSES(checkpoint_check_run(&c, 2, PRECISION_DOUBLE, false, rules, &error),
            "single precision");
    REFUSES(checkpoint_check_run(&c, 2, PRECISION_SINGLE, false, &other, &error),
            "other modes of --nonneg: 1, but this run has 1,3");
    other = (struct mode_rules){.nonneg = {true}};
    REFUSES(checkpoint_check_run(&c, 2, PRECISION_SINGLE, false, &other, &error),
            "other modes of --fix: 2, but this run has none");
    REFUSES(checkpoint_check_shape(&c, SHAPE(2, dims), 300, &error), "3 modes, this one 2");
    REFUSES(checkpoint_check_shape(&c, s, 301, &error), "300 nonzeros, this one 301");
    const struct shape longer = {3, {7, 1, 51}};
    REFUSES(checkpoint_check_shape(&c, &longer, 300, &error), "mode 3 has length 50");
    REFUSES(checkpoint_check_hash(&c, 1, &error), "coordinates or values differ");
    checkpoint_close(&c);
    example_free(&e);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    struct example e;
    example_create(&e, 3, 2);
    const char *path = write_example(&e, 1);
    int failures = 0;
    for (long i = 0, fired = 1; fired; i++) {
        struct error error = {0};
        memory_hook_set(i);
        enum status status = write_parts(&e, path, 2, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        failures += (int)fired;
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_reads(path, &e);
        assert_int_equal(scratch_entries(0), 1);
    }
    assert_true(failures > 3);
    example_free(&e);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_round_trip),  IN_FOLDER(test_many_pieces),
        IN_FOLDER(test_damage),      IN_FOLDER(test_contradictions),
        IN_FOLDER(test_momentum),    IN_FOLDER(test_unknown_sections),
        IN_FOLDER(test_another_run), IN_FOLDER(test_failing_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
