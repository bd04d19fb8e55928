/* Rows that ranks have solved, in any order, are collected on rank 0, in shared memory or by
 * messages, after rank 0 has stored what it has or before, or brought to it while it writes: the
 * files have the bytes of those of the whole model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "ranks/model_collect.h"
#include "base/memory.h"
#include "base/outfile_set.h"
#include "support/file_systems.h"
#include "support/models.h"
#include "support/naive.h"
#include "support/rank_threads.h"

/* What a rank has, and what it gets. */
struct owner {
    struct ktensor part; /* owned */
    struct rank_rows ranks;
    uint64_t *row[MAX_ORDER]; /* of part; NULL where the rows keep their order; owned */
    struct ktensor *whole;    /* where they share memory, one for all ranks           */
    struct ktensor own;       /* else; owned                                          */
    bool messages;            /* the ranks do not share memory                        */
    bool stores;              /* the ranks store rows in the whole model first        */
    const char *stem;         /* of the files                                         */
    int most;                 /* rows of a piece that rank 0 asks for                 */
};

enum layout {
    SHUFFLED,  /* common rows in stripes, room for the sums of a rank's own, then shuffled rows
                * that it alone has, with padding; some ranks have none of these              */
    IN_ORDER,  /* consecutive rows, without `row`, which no other rank has                    */
    ONE_OWNER, /* the last rank has solved all rows                                           */
    DEALT,     /* all ranks have all rows, in stripes                                         */
    LAYOUTS
};

static int owner_of_row(enum layout layout, int size, int n, uint64_t i, uint64_t length)
{
    uint64_t ranks = (uint64_t)size, seed = i * 31 + (uint64_t)n;
    return layout == ONE_OWNER ? size - 1
           : layout == IN_ORDER
               ? (int)(i * ranks / length)                   /* ascending */
               : (int)(naive_random(&seed) % ranks) / 2 * 2; /* odd ranks have none */
}

static bool is_common(enum layout layout, uint64_t i)
{
    return layout == DEALT || (layout == SHUFFLED && i % 3 == 0);
}

/* Puts the common rows in stripes, and returns how many places these have. */
static uint64_t list_common(uint64_t *row, struct mode_rows *own, enum layout layout, int size,
                            uint64_t length)
{
    uint64_t common = 0, count = 0;
    for (uint64_t i = 0; i < length; i++)
        common += is_common(layout, i);
    own->stripe = (common + (uint64_t)size - 1) / (uint64_t)size;
    for (uint64_t i = 0; i < length; i++)
        if (is_common(layout, i))
            row[count++] = i;
    while (count < own->stripe * (uint64_t)size)
        row[count++] = NO_ROW;
    return count;
}

/* Puts mode n's rows of rank k. */
static uint64_t list_rows(uint64_t *row, struct mode_rows *own, enum layout layout, int k, int size,
                          int n, uint64_t length)
{
    uint64_t count = list_common(row, own, layout, size, length);
    own->with_rank_0 = layout == SHUFFLED || layout == DEALT || k == 0;
    if (layout == DEALT) {
        own->first = own->stripe * (uint64_t)k;
        own->count = own->stripe;
        return count;
    }
    own->first = count;
    memcpy(row + count, row + own->stripe * (uint64_t)k, own->stripe * sizeof *row);
    count += own->stripe;
    for (uint64_t i = 0; i < length; i++)
        if (!is_common(layout, i) && owner_of_row(layout, size, n, i, length) == k) {
            row[count++] = i;
            if (layout == SHUFFLED && i % 5 == 0)
                row[count++] = NO_ROW;
        }
    own->count = count - own->first;
    uint64_t seed = (uint64_t)k + 1;
    for (uint64_t i = own->count - own->stripe; layout == SHUFFLED && i > 1; i--) {
        uint64_t *alone = row + own->first + own->stripe;
        uint64_t *a = &alone[i - 1], *b = &alone[naive_random(&seed) % i], swapped = *a;
        *a = *b;
        *b = swapped;
    }
    return count;
}

/* Whether rank k brings the row at place i: by messages, rank 0 what it has, and the others what
 * it lacks. */
static bool brings(const struct mode_rows *own, enum layout layout, int k, bool messages,
                   uint64_t i)
{
    if (messages && layout == DEALT)
        return k == 0;
    if (messages && layout == SHUFFLED)
        return i >= own->stripe + (k == 0 ? 0 : own->first);
    return i - own->first < own->count;
}

static void fill(struct owner *o, const struct ktensor *whole, enum layout layout, int k)
{
    memcpy(o->part.lambda, whole->lambda, whole->rank * sizeof *whole->lambda);
    for (int n = 0; n < whole->shape.order; n++)
        for (uint64_t i = 0; i < o->part.shape.dims[n]; i++) {
            const uint64_t row = ktensor_row(&o->part, n, i);
            const bool brought =
                row != NO_ROW && brings(&o->ranks.mode[n], layout, k, o->messages, i);
            for (uint64_t r = 0; r < whole->rank; r++) /* NAN must not get anywhere */
                o->part.factor[n][i * whole->rank + r] =
                    brought ? whole->factor[n][row * whole->rank + r] : NAN;
        }
}

static struct owner make_owner(const struct ktensor *whole, enum layout layout, int k, int size,
                               bool messages)
{
    struct error error = {0};
    struct owner o = {.ranks.part = part_all(&whole->shape), .messages = messages};
    for (int n = 0; n < whole->shape.order; n++) {
        uint64_t length = whole->shape.dims[n];
        uint64_t *row = memory_array(2 * (length + (uint64_t)size), sizeof *row, &error);
        assert_non_null(row);
        o.ranks.part.here.dims[n] = list_rows(row, &o.ranks.mode[n], layout, k, size, n, length);
        if (layout == IN_ORDER) {
            o.ranks.part.first[n] = o.ranks.mode[n].count ? row[0] : 0;
            memory_free(row);
        } else {
            o.ranks.part.row[n] = o.row[n] = row;
        }
    }
    assert_int_equal(ktensor_create_part(&o.part, &o.ranks.part, whole->rank, &error), STATUS_OK);
    fill(&o, whole, layout, k);
    return o;
}

static void make_owners(struct owner *o, const struct ktensor *model, enum layout layout, int size,
                        bool messages)
{
    for (int k = 0; k < size; k++)
        o[k] = make_owner(model, layout, k, size, messages);
}

static void free_owners(struct owner *o, int size)
{
    for (int k = 0; k < size; k++) {
        for (int n = 0; n < MAX_ORDER; n++)
            memory_free(o[k].row[n]);
        ktensor_free(&o[k].part);
        ktensor_free(&o[k].own);
    }
}

/* The ranks, which are threads, may move rows as processes do. */
static void begin(struct owner *o, struct comm *c)
{
    c->shares_memory = !o->messages;
    o->ranks.all = c;
    for (int n = 0; n < MAX_ORDER; n++)
        o->ranks.mode[n].peers = c;
}

/* Stores rows in *whole, as a backend does; those of a process that is not rank 0 are in o->part.
 */
static void store(const struct owner *o, const struct comm *c, const struct ktensor *whole)
{
    const uint64_t rank = whole->rank;
    for (int n = 0; n < o->part.shape.order && (!o->messages || c->rank == 0); n++) {
        const struct rank_rows_stored s = rank_rows_stored(&o->ranks, n, true);
        for (uint64_t i = 0; i < s.count; i++) {
            const uint64_t row = s.number ? s.number[i] : s.at + i;
            if (row != NO_ROW)
                memcpy(whole->factor[n] + row * rank, o->part.factor[n] + (s.first + i) * rank,
                       rank * sizeof(double));
        }
    }
}

static enum status store_and_collect(const struct owner *o, struct comm *c, struct ktensor *whole,
                                     struct error *error)
{
    TRY(model_whole_create(whole, o->part.rank, &o->ranks, error));
    store(o, c, whole);
    return model_whole_complete(whole, &o->part, &o->ranks, error);
}

static void collect(struct comm *c, void *context, struct error *error)
{
    struct owner *o = context;
    struct ktensor *whole = o->messages ? &o->own : o->whole;
    begin(o, c);
    if (o->stores) {
        store_and_collect(o, c, whole, error);
        return;
    }
    if (model_collect(whole, &o->part, &o->ranks, error) != STATUS_OK)
        return;
    for (int n = 0; n < o->part.shape.order && c->size > 1; n++)
        if (o->part.factor[n])
            error_set(error, STATUS_INTERNAL, "mode %d of the part is still there", n + 1);
}

/* To the bit. */
static void check_collect(const struct ktensor *model, enum layout layout, int size, bool messages,
                          bool stores)
{
    struct owner o[MOST_RANKS];
    struct error error[MOST_RANKS];
    struct ktensor whole = {0};
    make_owners(o, model, layout, size, messages);
    for (int k = 0; k < size; k++) {
        o[k].stores = stores;
        o[k].whole = &whole;
    }
    assert_true(run_rank_threads(size, collect, o, sizeof *o, error));
    assert_all_well(error, size);
    assert_true(model_same_bits(messages ? &o[0].own : &whole, model));
    for (int k = 1; k < size && messages; k++)
        for (int n = 0; n < model->shape.order; n++)
            assert_true(o[k].own.shape.dims[n] == 0);
    ktensor_free(&whole);
    free_owners(o, size);
}

/* Compares the rows that come with those of *context, a struct ktensor. */
static enum status compare(void *context, const struct ktensor *piece, struct error *error)
{
    const struct ktensor *model = context;
    for (int n = 0; n < piece->shape.order; n++)
        if (piece->shape.dims[n] > 0 &&
            memcmp(piece->factor[n], model->factor[n] + piece->first[n] * model->rank,
                   piece->shape.dims[n] * model->rank * sizeof(double)) != 0)
            return error_set(error, STATUS_INTERNAL, "mode %d, row %ju", n + 1,
                             (uintmax_t)piece->first[n]);
    return STATUS_OK;
}

static void bring(struct comm *c, void *context, struct error *error)
{
    struct owner *o = context;
    struct model_rows rows;
    const struct ktensor_source from = {o->whole, model_rows_bring, &rows};
    begin(o, c);
    if (model_rows_open(&rows, &o->part, &o->ranks, error) == STATUS_OK) {
        if (c->rank == 0)
            ktensor_pieces(&from, (uint64_t)o->most, compare, o->whole, error);
        model_rows_end(&rows, error);
    }
    model_rows_close(&rows);
    comm_allreduce_error(c, error);
}

static void check_bring(struct ktensor *model, enum layout layout, int size, bool messages)
{
    for (int most = 1; most < 800; most *= 7) {
        struct owner o[MOST_RANKS];
        struct error error[MOST_RANKS];
        make_owners(o, model, layout, size, messages);
        for (int k = 0; k < size; k++) {
            o[k].whole = model;
            o[k].most = most;
        }
        assert_true(run_rank_threads(size, bring, o, sizeof *o, error));
        assert_all_well(error, size);
        free_owners(o, size);
    }
}

static void test_layouts(void **state)
{
    (void)state;
    const uint64_t dims[][4] = {{90, 1, 35, 4}, {1, 1}, {5, 700}};
    const int order[] = {4, 2, 2};
    for (int d = 0; d < 3; d++)
        for (uint64_t rank = 1; rank <= 9; rank += 4) {
            struct ktensor model = model_random(order[d], dims[d], rank, rank);
            for (size_t s = 0; s < RANK_COUNTS; s++)
                for (enum layout layout = SHUFFLED; layout < LAYOUTS; layout++)
                    for (int messages = 0; messages < 2; messages++) {
                        if (rank_counts[s] > 1)
                            check_collect(&model, layout, rank_counts[s], messages, true);
                        if (rank_counts[s] > 1 || layout == IN_ORDER)
                            check_collect(&model, layout, rank_counts[s], messages, false);
                        check_bring(&model, layout, rank_counts[s], messages);
                    }
            ktensor_free(&model);
        }
}

/* More rows than go in one message. */
static void test_long_mode(void **state)
{
    (void)state;
    struct ktensor model = model_random(2, (uint64_t[]){3000000, 3}, 2, 1);
    check_collect(&model, SHUFFLED, 3, true, false);
    check_collect(&model, ONE_OWNER, 2, true, true);
    ktensor_free(&model);
}

/* Rank 0 writes the files, with the rows of all. */
static void write_files(struct comm *c, void *context, struct error *error)
{
    struct owner *o = context;
    struct model_rows rows;
    struct ktensor_files files = {0};
    struct stem_lock lock = {0};
    struct ktensor whole = o->part;
    const struct ktensor_source from = {&whole, model_rows_bring, &rows};
    begin(o, c);
    whole.shape = o->ranks.part.whole;
    if (c->rank == 0)
        outfile_set_lock(&lock, o->stem, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    if (model_rows_open(&rows, &o->part, &o->ranks, error) == STATUS_OK) {
        if (c->rank == 0)
            ktensor_write(&from, NULL, NULL, &lock, ALL_FORMATS, &files, error);
        model_rows_end(&rows, error);
    }
    model_rows_close(&rows);
    comm_allreduce_error(c, error);
done:
    stem_lock_release(&lock);
    ktensor_files_free(&files);
}

/* Writes "together"; false where the ranks could not start. */
static bool write_model(const struct ktensor *model, int size, bool messages, struct error *error)
{
    struct owner o[MOST_RANKS];
    const char *stem = scratch_path("together");
    make_owners(o, model, SHUFFLED, size, messages);
    for (int k = 0; k < size; k++)
        o[k].stem = stem;
    const bool started = run_rank_threads(size, write_files, o, sizeof *o, error);
    free_owners(o, size);
    return started;
}

static void test_files(void **state)
{
    (void)state;
    static char mine[1 << 20], one[1 << 20];
    const uint64_t dims[] = {1, 900, 5, 2};
    struct ktensor model = model_random(4, dims, 9, 3);
    struct error error[MOST_RANKS] = {{0}};
    struct ktensor_files files;
    assert_int_equal(model_write_at(&model, scratch_path("one"), ALL_FORMATS, &files, error),
                     STATUS_OK);
    for (size_t s = 0; s < RANK_COUNTS; s++)
        for (int messages = 0; messages < 2; messages++) {
            assert_true(write_model(&model, rank_counts[s], messages, error));
            assert_all_well(error, rank_counts[s]);
            for (int i = 0; i < files.count; i++) {
                char *name = memory_text(error, "%s%s", scratch_path("together"),
                                         files.path[i] + strlen(scratch_path("one")));
                long size = scratch_read(name, mine, sizeof mine);
                assert_int_equal(scratch_read(files.path[i], one, sizeof one), size);
                assert_memory_equal(mine, one, (size_t)size);
                memory_free(name);
            }
            assert_int_equal(scratch_entries(0), 2 * files.count);
        }
    ktensor_files_free(&files);
    ktensor_free(&model);
}

#define SOME 4 /* ranks */

/* Writes while something is refused: every rank has the same message, with these words, and older
 * files are what they were. */
static void assert_refused(const struct ktensor *model, const char *words)
{
    struct error error[SOME];
    scratch_text("together.mode3.npy", "old");
    scratch_text("together.mode4.npy", "old"); /* to be taken away */
    assert_true(write_model(model, SOME, true, error));
    for (int k = 0; k < SOME; k++) {
        assert_int_equal(error[k].status, STATUS_OUTPUT);
        assert_non_null(strstr(error[k].message, words));
        assert_string_equal(error[k].message, error[0].message);
    }
    assert_content("together.mode3.npy", "old");
    assert_content("together.mode4.npy", "old");
    assert_int_equal(scratch_entries(0), 2);
}

static void test_refused(void **state)
{
    (void)state;
    struct ktensor model = model_random(3, (uint64_t[]){9, 1, 30}, 5, 1);
    struct error error[SOME];
    for (int k = 0; k < 31; k++) { /* the lock, 28 of the model, two of the log */
        writes_left = k;
        assert_refused(&model, "No space left on device");
    }
    writes_left = PLENTY;
    no_fsync = 1;
    assert_refused(&model, "Input/output error");
    no_fsync = 0;
    for (int k = 0; k < 13 + 1; k++) {
        renames_left = k;
        assert_refused(&model, "Permission denied");
    }
    renames_left = PLENTY;
    assert_true(write_model(&model, SOME, true, error));
    assert_all_well(error, SOME);
    assert_int_equal(scratch_entries(0), 13);
    ktensor_free(&model);
}

/* Whichever allocation fails, all ranks end alike and nothing is lost. */
static void check_failures(rank_work *work, bool messages, bool stores, int allocations)
{
    struct ktensor model = model_random(3, (uint64_t[]){9, 1, 30}, 3, 1);
    int failures = 0;
    const char *stem = scratch_path("together");
    for (long i = 0, fired = 1; fired; i++) {
        struct owner o[4];
        struct error error[4];
        struct ktensor whole = {0};
        make_owners(o, &model, SHUFFLED, 4, messages);
        for (int k = 0; k < 4; k++) {
            o[k].stores = stores;
            o[k].whole = &whole;
            o[k].stem = stem;
        }
        scratch_text("together.mode3.npy", "old");
        memory_hook_set(i);
        bool started = run_rank_threads(4, work, o, sizeof *o, error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        for (int k = 0; k < 4 && started; k++)
            assert_int_equal(error[k].status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += fired && started;
        if (fired)
            assert_content("together.mode3.npy", "old");
        scratch_entries(1);
        ktensor_free(&whole);
        free_owners(o, 4);
    }
    assert_true(failures >= allocations);
    ktensor_free(&model);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    check_failures(collect, true, false, 4 * 7);
    check_failures(collect, true, true, 4 * 7);
    check_failures(collect, false, false, 4); /* lambda and three factor matrices, on rank 0 */
    check_failures(write_files, true, false, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_long_mode),
        TEST(test_files),
        TEST(test_refused),
        TEST(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
