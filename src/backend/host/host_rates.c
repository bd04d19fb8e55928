#include "backend/host/host_rates.h"

#include <string.h>

#include "base/clock.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/vector_clones.h"
#include "base/random_stream.h"

#define REPEATS     3    /* the fastest counts                                  */
#define ENOUGH      1e-2 /* seconds of a measurement: several time slices of a busy machine */
#define FIRST_COUNT (UINT64_C(1) << 15) /* rows of the first measurement                       */
#define MOST_COUNT  (UINT64_C(1) << 32) /* rows of the longest                                 */
#define PART        1024                /* rows that a thread takes at a time                  */
#define COLUMNS     64                  /* summed at a time                                    */
#define HELD        (BACKEND_CACHED_BYTES / sizeof(double)) /* numbers */
#define AT_ONCE     32                   /* of these: their additions hide how long one takes */
#define COPY_BYTES  (UINT64_C(64) << 20) /* of each of the two arrays                           */
#define TABLE_BYTES (UINT64_C(1) << 30)  /* of a table, at most                                 */

/* The next random row of the stream, below `rows`, which is below 2^32. */
static uint64_t random_row(struct random_stream *stream, uint64_t rows)
{
    return (random_next(stream) >> 32) * rows >> 32;
}

/* Sums random rows, four at a time. The result depends on every number read, so that the compiler
 * leaves no read out. */
VECTOR_CLONES static double gather_part(const double *table, uint64_t rows, uint64_t rank,
                                        struct random_stream stream)
{
    double sum[COLUMNS] = {0}, total = 0;
    for (uint64_t i = 0; i < PART; i += 4) {
        const double *row[4];
        for (int k = 0; k < 4; k++)
            row[k] = table + random_row(&stream, rows) * rank;
        for (uint64_t first = 0; first < rank; first += COLUMNS) {
            uint64_t width = rank - first < COLUMNS ? rank - first : COLUMNS;
            for (uint64_t r = 0; r < width; r++)
                sum[r] += (row[0][first + r] + row[1][first + r]) +
                          (row[2][first + r] + row[3][first + r]);
        }
    }
    for (int r = 0; r < COLUMNS; r++)
        total += sum[r];
    return total;
}

/* The work that is measured: on `count` random rows of the table, others for each seed. */
typedef double (*row_work)(double *table, uint64_t rows, uint64_t rank, uint64_t count,
                           uint64_t seed);

static double gather_rows(double *table, uint64_t rows, uint64_t rank, uint64_t count,
                          uint64_t seed)
{
    double sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
    for (uint64_t part = 0; part < count / PART; part++)
        sum += gather_part(table, rows, rank, random_stream_at(seed, part, 0));
    return sum;
}

static double add_rows_atomically(double *table, uint64_t rows, uint64_t rank, uint64_t count,
                                  uint64_t seed)
{
#pragma omp parallel for schedule(dynamic)
    for (uint64_t part = 0; part < count / PART; part++) {
        struct random_stream stream = random_stream_at(seed, part, 0);
        for (uint64_t i = 0; i < PART; i++) {
            double *row = table + random_row(&stream, rows) * rank;
            for (uint64_t r = 0; r < rank; r++)
#pragma omp atomic
                row[r] += 1;
        }
    }
    return table[0];
}

/* Sums what the nearest cache holds, `passes` times. */
VECTOR_CLONES static double read_cached(uint64_t passes)
{
    double held[HELD], sum[AT_ONCE] = {0}, total = 0;
    for (uint64_t i = 0; i < HELD; i++)
        held[i] = 1;
    for (uint64_t pass = 0; pass < passes; pass++)
        for (uint64_t i = 0; i < HELD; i += AT_ONCE)
            for (uint64_t k = 0; k < AT_ONCE; k++)
                sum[k] += held[i + k];
    for (int k = 0; k < AT_ONCE; k++)
        total += sum[k];
    return total;
}

/* A row is all that the nearest cache holds. */
static double read_cached_rows(double *table, uint64_t rows, uint64_t rank, uint64_t count,
                               uint64_t seed)
{
    double sum = 0;
    (void)table, (void)rows, (void)rank, (void)seed;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
    for (uint64_t part = 0; part < count / PART; part++)
        sum += read_cached(PART);
    return sum;
}

/* Rows a second, of work on so many rows that it takes ENOUGH seconds. */
static double rate_of(row_work work, double *table, uint64_t rows, uint64_t rank)
{
    volatile double result; /* so that the compiler keeps the work */
    uint64_t count = FIRST_COUNT, seed = 0;
    double best = 0;
    for (int repeat = 0; repeat < REPEATS;) {
        double start = clock_now();
        result = work(table, rows, rank, count, seed++);
        double seconds = clock_now() - start;
        if (seconds < ENOUGH && count < MOST_COUNT) {
            count *= 2;
            continue;
        }
        if ((double)count / seconds > best)
            best = (double)count / seconds;
        repeat++;
    }
    (void)result;
    return best;
}

static enum status measure_modes(const struct shape *shape, uint64_t rank, enum precision precision,
                                 struct backend_rates *rates, struct error *error)
{
    const uint64_t row_bytes = rank * precision_bytes(precision);
    const uint64_t doubles = (row_bytes + sizeof(double) - 1) / sizeof(double);
    const uint64_t most = TABLE_BYTES / sizeof(double) / rank;
    const uint64_t longest = least_of(shape_longest(shape), most);
    double *table = memory_array(longest, rank * sizeof *table, error);
    TRY(error->status);
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < longest * rank; i++)
        table[i] = 1;

    for (int n = 0; n < shape->order; n++) {
        int same = 0;
        while (shape->dims[same] != shape->dims[n])
            same++;
        if (same < n) {
            rates->gather_bytes_per_second[n] = rates->gather_bytes_per_second[same];
            rates->atomic_rows_per_second[n] = rates->atomic_rows_per_second[same];
            continue;
        }
        uint64_t rows = least_of(shape->dims[n], longest);
        rates->gather_bytes_per_second[n] =
            rate_of(gather_rows, table, rows, doubles) * (double)row_bytes;
        rates->atomic_rows_per_second[n] = rate_of(add_rows_atomically, table, rows, rank);
    }
    memory_free(table);
    return STATUS_OK;
}

static enum status measure_copy(struct backend_rates *rates, struct error *error)
{
    const uint64_t part = UINT64_C(1) << 16;
    char *from = memory_array(COPY_BYTES, 1, error);
    char *to = memory_array(COPY_BYTES, 1, error);
    TRY_OR(done, error->status);
    for (int repeat = 0; repeat <= REPEATS; repeat++) {
        double start = clock_now();
        /* The first repeat is not timed: it places the pages near the threads that read them. */
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < COPY_BYTES; i += part)
            if (repeat == 0)
                memset(from + i, 1, part);
            else
                memcpy(to + i, from + i, part);
        double rate = 2.0 * (double)COPY_BYTES / (clock_now() - start);
        if (repeat > 0 && rate > rates->copy_bytes_per_second)
            rates->copy_bytes_per_second = rate;
    }
done:
    memory_free(from, to);
    return error->status;
}

enum status host_rates(const struct shape *shape, const struct backend_options *options,
                       struct backend_rates *rates, struct error *error)
{
    *rates = (struct backend_rates){0};
    rates->cache_bytes_per_second = rate_of(read_cached_rows, NULL, 0, 0) * BACKEND_CACHED_BYTES;
    TRY(measure_copy(rates, error));
    return measure_modes(shape, options->problem.rank, precision_first(options->problem.precision),
                         rates, error);
}
