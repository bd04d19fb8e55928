#include "plan/rank_rates.h"

/* Bytes a second at which the MTTKRPs of a sweep read rows of the factors, order x (order - 1) of
 * them for each nonzero. Factors that a cache holds are read faster. */
struct gather_rates {
    double cache_bytes; /* all factors together, up to which `cached` holds */
    double cached, larger;
};

/* One NVIDIA H200. Sweeps of rank 32 in double precision read 1e12 bytes a second: factors in the
 * L2 cache: nell2 12.9 (9.2 ms), enron 15.9 (10.5 ms); larger ones: amazon 7.7 (349 ms, in the
 * card's memory), fb-m 6.2 (25.9 ms), reddit 4.4 (1640 ms); data/bench/README.md
 * has the times. The rates are geometric means. Single precision gives the same within a tenth. */
static const struct gather_rates device_rates = {100e6, 14e12, 5.9e12};

/* A host thread, in 1e9 bytes a second. Factors in a cache: nell2-small 65, uber 190; larger
 * ones: tags 30 (data/bench/README.md, two threads). Measured with two threads only: the model
 * takes more threads for as many times faster. */
static const struct gather_rates thread_rates = {32e6, 110e9, 30e9};

/* Solves read and write rows at 3.9e12 bytes a second on an H200 (darpa, fb-m), at about 6e9 by a
 * host thread (tags: the time of an iteration beside the MTTKRPs of two threads). */
static const double device_memory = 3.9e12, thread_memory = 6e9;

/* Several hosts, one host. Measured among two H200s of one host: NCCL's sums and gathers of large
 * arrays run at 270e9 bytes a second, and take 30 microseconds at the least. The other rates are
 * assumed: a network that gives each GPU 50e9 or each process 10e9; processes of one host that copy
 * 8e9, and meet in 10 microseconds. */
static const double device_link[] = {50e9, 270e9}, device_meeting = 30e-6;
static const double host_link[] = {10e9, 8e9}, host_meeting = 10e-6;

void rank_rates(struct grid_request *request, const struct shape *shape,
                const struct rank_machine *machine)
{
    const struct gather_rates *rates = machine->device ? &device_rates : &thread_rates;
    double row = (double)request->row_bytes, factors = 0;
    int order = shape->order, gathers = order > 1 ? order * (order - 1) : 1;
    for (int n = 0; n < order; n++)
        factors += (double)shape->dims[n] * row;
    double rate = factors <= rates->cache_bytes ? rates->cached : rates->larger;
    if (!machine->device)
        rate *= machine->threads;
    request->seconds_per_nonzero = gathers * row / rate;
    request->bytes_per_second = (machine->device ? device_link : host_link)[machine->one_host];
    request->solve_bytes_per_second =
        machine->device ? device_memory : thread_memory * machine->threads;
    request->seconds_per_collective = machine->device ? device_meeting : host_meeting;
}
