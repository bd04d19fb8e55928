/* Measures MTTKRP of every mode and conflict resolution, and ALS iterations, on one backend; each
 * result is verified before it is timed. */
#ifndef BLCO_BENCH_H
#define BLCO_BENCH_H

#include "backend/backend.h"
#include "bench/bench_statistics.h"
#include "formats/tensor_input.h"

#define BENCH_SAMPLES     20  /* timed at the least, and iterations of ALS, unless the user says */
#define BENCH_MOST        100 /* timed at the most, as long as they take less than ...           */
#define BENCH_SECONDS     0.2
#define BENCH_RESOLUTIONS 4

/* MTTKRP of one mode with one conflict resolution. */
struct bench_series {
    bool measured;      /* not every mode can be given every resolution              */
    char variant[96];   /* the kernel that was chosen; empty where there is no choice */
    double difference;  /* ||M - reference|| / ||reference||                         */
    uint64_t bus_bytes; /* of the tensor, that come from the host each time         */
    uint64_t count;     /* samples                                                   */
    double *seconds;    /* (count), in the order in which they were taken; owned     */
    struct bench_statistics statistics;
};

/* All modes on one open backend. */
struct bench_resolution {
    const char *name; /* of the conflict resolution, or "in ALS"            */
    enum conflict conflict;
    bool fits; /* otherwise nothing of it was measured               */
    double open_seconds;
    struct backend_seconds build; /* of the stages of opening                           */
    struct bench_series mode[MAX_ORDER];
};

/* ALS iterations as `blco cpd` would make them. */
struct bench_als {
    struct backend_built built;
    struct bench_resolution own; /* MTTKRP of each mode within the iterations            */
    uint64_t count;
    double *seconds; /* (count) each; owned                                  */
    struct bench_statistics statistics;
    double operation[OP_COUNT][MAX_ORDER]; /* seconds of one iteration, on average     */
    double fit;
};

struct bench_request {
    const struct backend_kind *kind;
    struct tensor_input *input;     /* read where a plan needs its nonzeros */
    struct backend_options options; /* CONFLICT_AUTO: all resolutions; otherwise this one only */
    uint64_t samples; /* of each series, and iterations of ALS; 0: as above                   */
};

struct bench_result {
    struct shape shape;
    uint64_t nnz, rank;
    enum precision precision;
    struct backend_rates rates;
    char reference[64]; /* what results were compared with                             */
    int resolutions;
    struct bench_resolution resolution[BENCH_RESOLUTIONS];
    struct bench_als als;
};

/* Measures it all. STATUS_INTERNAL where a result is wrong: it differs from the reference by more
 * than bench_tolerance. STATUS_MEMORY where nothing fits. The caller frees *r with bench_free, on
 * failure too. */
enum status bench_run(struct bench_result *r, const struct bench_request *request,
                      struct progress *progress, struct error *error);

/* The largest relative difference from the reference, which is computed in double, that rounding
 * explains. */
double bench_tolerance(enum precision precision, enum conflict conflict, uint64_t nnz);

void bench_free(struct bench_result *r);

#endif
