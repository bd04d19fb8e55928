/* A clock for measuring how long something takes. */
#ifndef BLCO_CLOCK_H
#define BLCO_CLOCK_H

/* Seconds of a clock that never goes back; only differences have a meaning. */
double clock_now(void);

/* Seconds since *start, a time of clock_now; *start becomes the present time, so that consecutive
 * laps leave no gap. */
double clock_lap(double *start);

#endif
