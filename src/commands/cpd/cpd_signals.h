/* Signals that end an ALS run after its iteration, or ask it for a checkpoint. */
#pragma once

#include <signal.h>

#define CPD_SIGNALS_PATIENCE 300 /* seconds */

/* The signal that asked for the end, or 0; how many SIGUSR1 have come, modulo 2^30. */
extern volatile sig_atomic_t cpd_interrupted, cpd_asked;

/* From now on SIGUSR1 counts in cpd_asked. */
void cpd_signals_count_asks(void);

/* From now on the first SIGINT, SIGTERM or SIGHUP sets cpd_interrupted, and the second ends the
 * process as if there were no handler. The process also ends where cpd_signals_done is not called
 * in time after the first: within `patience` seconds plus the time since cpd_signals_catch. An
 * iteration that takes longer than all before it may never end. A signal that the parent process
 * set to be ignored (nohup, a job in the background) stays ignored. */
void cpd_signals_catch(int patience);

/* The iterations have ended: the process does not end any more after the first signal. */
void cpd_signals_done(void);
