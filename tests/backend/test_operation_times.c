/* What is booked of operations that are done when their calls return, and of queued ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "backend/operation_times.h"
#include "base/clock.h"

/* A queue whose operations take 1, 2, 4, ... ms, and which counts what is asked of it. */
struct queue {
    int recorded, read; /* events that were recorded, times that were read */
    int last;           /* the event recorded last                         */
    int failing;        /* which record fails; 0: none                     */
};

static enum status record(void *queue, int event, struct error *error)
{
    struct queue *q = queue;
    assert_in_range(event, 0, OPERATION_EVENTS - 1);
    if (++q->recorded == q->failing)
        return error_set(error, STATUS_INTERNAL, "no event");
    q->last = event;
    return STATUS_OK;
}

static enum status elapsed(void *queue, int from, int to, double *seconds, struct error *error)
{
    struct queue *q = queue;
    (void)error;
    assert_int_equal(to, from + 1);
    assert_true(to <= q->last);
    *seconds = ldexp(1e-3, from % 8);
    q->read++;
    return STATUS_OK;
}

static const struct event_ops events = {record, elapsed};

static enum status run(struct operation_clock *c, enum operation op, int mode)
{
    struct error error = {0};
    if (operation_begin(c, op, &error) == STATUS_OK)
        operation_end(c, op, mode, &error);
    return error.status;
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(operation_name(OP_OPEN), "open");
    assert_string_equal(operation_name(OP_STORE), "store");
    assert_true(operation_has_modes(OP_MTTKRP) && !operation_has_modes(OP_FIT));
}

/* Each operation is booked when it ends, and operation_add prolongs one without another call. */
static void test_without_queue(void **state)
{
    (void)state;
    struct error error = {0};
    struct operation_clock c = {0};
    double samples[3] = {-1, -1, -1}, before = clock_now();
    c.sample = samples;
    assert_int_equal(run(&c, OP_MTTKRP, 2), STATUS_OK);
    assert_int_equal(run(&c, OP_MTTKRP, 2), STATUS_OK);
    assert_int_equal(c.times.calls[OP_MTTKRP][2], 2);
    assert_true(c.times.seconds[OP_MTTKRP][2] == samples[0] + samples[1] && samples[2] == -1);
    assert_int_equal(operation_begin(&c, OP_FIT, &error), STATUS_OK);
    while (clock_now() - c.start < 1e-4)
        ;
    operation_add(&c, OP_FIT, 1);
    assert_int_equal(c.times.calls[OP_FIT][1], 0);
    assert_true(c.times.seconds[OP_FIT][1] >= 1e-4);
    assert_true(c.times.seconds[OP_FIT][1] <= clock_now() - before);
    assert_int_equal(operation_wait(&c, &error), STATUS_OK);
}

/* Nothing is read before a fit; then each operation has the time between its events. */
static void test_queue(void **state)
{
    (void)state;
    struct queue q = {0};
    struct operation_clock c = {.events = &events, .queue = &q};
    assert_int_equal(run(&c, OP_LOAD, 0), STATUS_OK);
    assert_int_equal(q.recorded, 1); /* the event before the first operation in the queue */
    for (int n = 0; n < 2; n++) {
        assert_int_equal(run(&c, OP_MTTKRP, n), STATUS_OK);
        assert_int_equal(run(&c, OP_UPDATE, n), STATUS_OK);
    }
    assert_int_equal(q.read, 0);
    assert_int_equal(c.times.calls[OP_MTTKRP][0], 0);
    operation_add(&c, OP_FIT, 1); /* counts for what follows */
    assert_int_equal(run(&c, OP_FIT, 1), STATUS_OK);
    assert_int_equal(q.read, 5);
    assert_int_equal(q.recorded, 7); /* one for each operation, and the next event 0 */
    assert_true(c.times.seconds[OP_MTTKRP][0] == 1e-3 && c.times.seconds[OP_UPDATE][0] == 2e-3);
    assert_true(c.times.seconds[OP_MTTKRP][1] == 4e-3 && c.times.seconds[OP_UPDATE][1] == 8e-3);
    assert_true(c.times.seconds[OP_FIT][1] == 16e-3);
    assert_int_equal(c.times.calls[OP_UPDATE][1], 1);
}

/* Before an operation that ends with its call, what is queued is booked. */
static void test_store_books(void **state)
{
    (void)state;
    static const enum operation op[] = {OP_LOAD, OP_RESIDUAL, OP_STORE};
    for (int i = 0; i < 3; i++) {
        struct queue q = {0};
        struct operation_clock c = {.events = &events, .queue = &q};
        assert_int_equal(run(&c, OP_LOAD, 0), STATUS_OK);
        assert_int_equal(run(&c, OP_MTTKRP, 0), STATUS_OK);
        assert_int_equal(run(&c, op[i], 0), STATUS_OK);
        assert_int_equal(q.read, 1);
        assert_int_equal(c.times.calls[OP_MTTKRP][0], 1);
        assert_int_equal(c.times.calls[op[i]][0], op[i] == OP_LOAD ? 2 : 1);
        assert_int_equal(q.last, 0);
    }
}

/* When no event is left, what is queued is booked. */
static void test_many(void **state)
{
    (void)state;
    struct queue q = {0};
    struct operation_clock c = {.events = &events, .queue = &q};
    const int count = 3 * OPERATION_EVENTS;
    for (int i = 0; i < count; i++)
        assert_int_equal(run(&c, OP_MTTKRP, 0), STATUS_OK);
    assert_true(q.read > count - OPERATION_EVENTS && q.read < count);
    assert_int_equal(c.times.calls[OP_MTTKRP][0], q.read);
}

/* An operation whose event could not be recorded is not booked; those after it are. */
static void test_failure(void **state)
{
    (void)state;
    struct error error = {0};
    struct queue q = {.failing = 3};
    struct operation_clock c = {.events = &events, .queue = &q};
    assert_int_equal(run(&c, OP_LOAD, 0), STATUS_OK);
    assert_int_equal(run(&c, OP_MTTKRP, 0), STATUS_OK);
    assert_int_equal(run(&c, OP_MTTKRP, 1), STATUS_INTERNAL);
    assert_int_equal(run(&c, OP_MTTKRP, 2), STATUS_OK);
    assert_int_equal(operation_wait(&c, &error), STATUS_OK);
    assert_int_equal(c.times.calls[OP_MTTKRP][0], 1);
    assert_int_equal(c.times.calls[OP_MTTKRP][1], 0);
    assert_int_equal(c.times.calls[OP_MTTKRP][2], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names), cmocka_unit_test(test_without_queue),
        cmocka_unit_test(test_queue), cmocka_unit_test(test_store_books),
        cmocka_unit_test(test_many),  cmocka_unit_test(test_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
