/* Work for the tests of communicators, for every operation and every engine. A rank returns only
 * whether everything was right, so that ranks can be threads as well as processes. */
#pragma once

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "support/naive.h"

#define MOST 7 /* ranks */

/* All of this work, for lists. */
#define COMM_WORKS(X)                                                                              \
    X(sum)                                                                                         \
    X(agree)                                                                                       \
    X(broadcast)                                                                                   \
    X(scatter_and_gather)                                                                          \
    X(exchange) X(exchange_counts) X(gather_all) X(split) X(memory) X(failures) X(large)

typedef bool comm_check_work(struct comm *c);

/* A number of (rank, i), with many digits. */
static double number(int rank, uint64_t i)
{
    uint64_t seed = (uint64_t)rank * 1000003 + i;
    return (double)(naive_random(&seed) >> 11) / 0x1p53 - 0.5;
}

static double sum_of(int size, uint64_t i)
{
    double sum = number(0, i);
    for (int k = 1; k < size; k++)
        sum += number(k, i);
    return sum;
}

static bool sum(struct comm *c)
{
    static const uint64_t counts[] = {0, 1, 5, 4096, 10000};
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
        struct error error = {0};
        double *x = malloc((counts[n] + 1) * sizeof *x);
        bool right = x != NULL;
        for (uint64_t i = 0; right && i < counts[n]; i++)
            x[i] = number(c->rank, i);
        right = right && comm_allreduce_sum(c, x, counts[n], &error) == STATUS_OK;
        for (uint64_t i = 0; right && i < counts[n]; i++)
            right = x[i] == sum_of(c->size, i); /* the same bits */
        free(x);
        if (!right)
            return false;
    }
    return true;
}

static bool agree(struct comm *c)
{
    for (int loud = 0; loud < c->size; loud++) {
        struct error error = {0};
        int value = c->rank == loud ? 5 : -c->rank;
        if (comm_allreduce_max(c, &value, &error) != STATUS_OK || value != 5)
            return false;
    }
    return true;
}

static bool broadcast(struct comm *c)
{
    for (int root = 0; root < c->size; root++) {
        struct error error = {0};
        char text[32];
        memset(text, c->rank, sizeof text);
        if (c->rank == root)
            strcpy(text, "from the root");
        if (comm_bcast(c, root, text, sizeof text, &error) != STATUS_OK ||
            strcmp(text, "from the root") != 0)
            return false;
    }
    return true;
}

/* Rows in ranges of different lengths, some of them empty. */
static void make_rows(const struct comm *c, uint64_t *first, int kind)
{
    first[0] = 0;
    for (int k = 0; k < c->size; k++)
        first[k + 1] = first[k] + (kind == 0   ? 10
                                   : kind == 1 ? (uint64_t)(k % 3)
                                   : k == 0    ? 999
                                               : 0);
}

static bool scatter_and_gather(struct comm *c)
{
    for (int kind = 0; kind < 3; kind++) {
        struct error error = {0};
        uint64_t first[MOST + 1], columns = kind == 2 ? 7 : 3;
        make_rows(c, first, kind);
        const struct comm_rows rows = {first, columns};
        uint64_t count = first[c->size] * columns;
        double *m = malloc((count + 1) * sizeof *m);
        bool right = m != NULL;
        for (uint64_t i = 0; right && i < count; i++)
            m[i] = number(c->rank, i);
        right = right && comm_reduce_scatter(c, m, &rows, &error) == STATUS_OK;
        for (uint64_t i = first[c->rank] * columns; right && i < first[c->rank + 1] * columns; i++)
            right = m[i] == sum_of(c->size, i);
        right = right && comm_allgatherv(c, m, first, columns * sizeof *m, &error) == STATUS_OK;
        for (uint64_t i = 0; right && i < count; i++)
            right = m[i] == sum_of(c->size, i);
        free(m);
        if (!right)
            return false;
    }
    return true;
}

/* Rank a sends (a + 2 b) % 5 bytes to rank b. */
static uint64_t parcel_bytes(int from, int to)
{
    return (uint64_t)(from + 2 * to) % 5;
}

static bool exchange(struct comm *c)
{
    struct error error = {0};
    unsigned char send[5 * MOST] = {0}, receive[5 * MOST] = {0};
    uint64_t sent = 0, received = 0;
    for (int k = 0; k < c->size; k++) {
        c->sent[k] = (struct comm_parcel){(char *)send + sent, parcel_bytes(c->rank, k)};
        c->received[k] = (struct comm_parcel){(char *)receive + received, parcel_bytes(k, c->rank)};
        memset(send + sent, 16 * c->rank + k, parcel_bytes(c->rank, k));
        sent += parcel_bytes(c->rank, k);
        received += parcel_bytes(k, c->rank);
    }
    if (comm_exchange(c, &error) != STATUS_OK)
        return false;
    bool right = true;
    received = 0;
    for (int k = 0; k < c->size; k++)
        for (uint64_t i = 0; i < parcel_bytes(k, c->rank); i++)
            right = right && receive[received++] == 16 * k + c->rank;
    return right && receive[received] == 0 && comm_check(c, &error) == STATUS_OK;
}

/* Every rank gets the bytes of all ranks in their order, and nothing after them. */
static bool gather_all(struct comm *c)
{
    static const size_t sizes_in_bytes[] = {0, 1, 3, 1000};
    for (size_t s = 0; s < sizeof sizes_in_bytes / sizeof *sizes_in_bytes; s++) {
        struct error error = {0};
        size_t size = sizes_in_bytes[s], bytes = size * (size_t)c->size;
        unsigned char mine[1000], *all = calloc(bytes + 1, 1);
        memset(mine, c->rank + 1, sizeof mine);
        bool right = all && comm_allgather(c, mine, size, all, &error) == STATUS_OK;
        for (size_t i = 0; right && i < bytes; i++)
            right = all[i] == i / size + 1;
        right = right && all[bytes] == 0;
        free(all);
        if (!right)
            return false;
    }
    return true;
}

static bool exchange_counts(struct comm *c)
{
    struct error error = {0};
    uint64_t send[MOST], receive[MOST];
    for (int k = 0; k < c->size; k++)
        send[k] = parcel_bytes(c->rank, k) << 40;
    bool right = comm_alltoall(c, send, receive, &error) == STATUS_OK;
    for (int k = 0; right && k < c->size; k++)
        right = receive[k] == parcel_bytes(k, c->rank) << 40;
    return right;
}

/* The rows and the columns of a grid of ranks; the halves work at their own pace. */
static bool split(struct comm *c)
{
    for (int modulus = 1; modulus <= c->size; modulus++) {
        struct error error = {0};
        struct comm *part;
        int color = c->rank % modulus, members = (c->size - color + modulus - 1) / modulus;
        if (comm_split(c, color, &part, &error) != STATUS_OK)
            return false;
        bool right = part->size == members && part->rank == c->rank / modulus;
        for (int round = 0; right && round <= color; round++) {
            double x = c->rank;
            right = comm_allreduce_sum(part, &x, 1, &error) == STATUS_OK;
            double expected = 0;
            for (int k = color; k < c->size; k += modulus)
                expected += k;
            right = right && x == expected;
        }
        comm_finalize(part);
        if (!right || !sum(c))
            return false;
    }
    return true;
}

/* The ranks from `first` to `last` fail, each with another status. The message is that of rank
 * `first`, and names it unless all ranks have failed. */
static bool share_failures(struct comm *c, int first, int last)
{
    static const enum status statuses[] = {STATUS_INPUT, STATUS_MEMORY, STATUS_OUTPUT};
    struct error error = {0};
    char expected[64] = "";
    if (c->rank >= first && c->rank <= last)
        error_set(&error, statuses[c->rank % 3], "failure of %d", c->rank);
    if (c->rank == first && last - first + 1 == c->size)
        snprintf(expected, sizeof expected, "failure of %d", first);
    else if (c->rank == first)
        snprintf(expected, sizeof expected, "rank %d: failure of %d", first, first);
    return comm_end_phase(c, &error) == statuses[first % 3] &&
           error.status == statuses[first % 3] && strcmp(error.message, expected) == 0;
}

/* Each rank adds to what all share and leaves a number of its own; the memory of an earlier call
 * stays beside that of a later one, also of a part of the ranks. */
static bool memory(struct comm *c)
{
    struct shared {
        _Atomic uint64_t arrivals;
        double of_rank[MOST];
    } * shared[3] = {NULL};
    struct comm *part;
    struct error error = {0};
    if (comm_split(c, c->rank % 2, &part, &error) != STATUS_OK)
        return false;
    struct comm *const sharers[] = {c, c, part};
    bool right = true;
    for (int i = 0; i < 3; i++)
        right = right && comm_allocate_shared(sharers[i], sizeof **shared, (void **)&shared[i],
                                              &error) == STATUS_OK;
    for (int i = 0; right && i < 3; i++) {
        shared[i]->of_rank[sharers[i]->rank] = number(c->rank, (uint64_t)i);
        shared[i]->arrivals++;
    }
    for (int i = 0; right && i < 3; i++) {
        const int size = sharers[i]->size;
        while (shared[i]->arrivals < (uint64_t)size)
            sched_yield();
        for (int k = 0; k < size; k++)
            right = right &&
                    shared[i]->of_rank[k] == number(i < 2 ? k : 2 * k + c->rank % 2, (uint64_t)i);
        for (int k = size; k < MOST; k++)
            right = right && shared[i]->of_rank[k] == 0;
    }
    comm_finalize(part);
    return right;
}

static bool failures(struct comm *c)
{
    struct error error = {0};
    bool right = comm_end_phase(c, &error) == STATUS_OK && error.status == STATUS_OK;
    for (int first = 0; right && first < c->size; first++)
        for (int last = first; right && last < c->size; last++)
            right = share_failures(c, first, last);
    return right;
}

/* Sums x, sends all of x to the other rank, and broadcasts what was received. */
static bool move_large(struct comm *c, double *x, double *y, uint64_t count)
{
    struct error error = {0};
    int other = c->size - 1 - c->rank;
    for (uint64_t i = 0; i < count; i++)
        x[i] = (double)i + c->rank;
    bool right = comm_allreduce_sum(c, x, count, &error) == STATUS_OK;
    for (uint64_t i = 0; right && i < count; i++) {
        right = x[i] == (double)i * c->size + c->size - 1;
        x[i] += c->rank;
    }
    for (int k = 0; k < c->size; k++) {
        const uint64_t bytes = k == other ? count * sizeof *x : 0;
        c->sent[k] = (struct comm_parcel){(char *)x, bytes};
        c->received[k] = (struct comm_parcel){(char *)y, bytes};
    }
    right = right && comm_exchange(c, &error) == STATUS_OK;
    for (uint64_t i = 0; right && i < count; i++)
        right = y[i] == (double)i * c->size + c->size - 1 + other;
    right = right && comm_bcast(c, c->size - 1, y, count * sizeof *y, &error) == STATUS_OK;
    for (uint64_t i = 0; right && i < count; i++)
        right = y[i] == (double)i * c->size + c->size - 1;
    return right;
}

/* Arrays of 76 MB of the first two ranks: an engine may have to move such arrays in parts. */
static bool large(struct comm *c)
{
    const uint64_t count = 9500001;
    struct error error = {0};
    struct comm *part;
    if (comm_split(c, c->rank < 2, &part, &error) != STATUS_OK)
        return false;
    bool right = true;
    if (c->rank < 2) {
        double *x = malloc(2 * count * sizeof *x);
        right = x && move_large(part, x, x + count, count);
        free(x);
    }
    comm_finalize(part);
    return right;
}
