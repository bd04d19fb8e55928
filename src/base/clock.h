/* Time that passes, for measuring. */
#ifndef BLCO_CLOCK_H
#define BLCO_CLOCK_H

/* Seconds of a clock that never goes back; only differences mean something. */
double clock_now(void);

/* Seconds since *start, which becomes now. */
double clock_lap(double *start);

#endif
