#include "commands/cpd/cpd_signals.h"

#include <time.h>
#include <unistd.h>

volatile sig_atomic_t cpd_interrupted, cpd_asked;

static int patience_seconds;
static struct timespec caught; /* when cpd_signals_catch was called */

/* Ends the program as if there were no handler of this signal. */
static void end_by(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

static void on_signal(int number)
{
    struct timespec now;
    if (cpd_interrupted)
        end_by(number);
    cpd_interrupted = number;
    clock_gettime(CLOCK_MONOTONIC, &now);
    alarm((unsigned)(patience_seconds + now.tv_sec - caught.tv_sec));
}

static void on_alarm(int number)
{
    (void)number;
    end_by(cpd_interrupted);
}

static void on_ask(int number)
{
    (void)number;
    cpd_asked = (cpd_asked + 1) & ((1 << 30) - 1);
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction now, action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void cpd_signals_count_asks(void)
{
    handle(SIGUSR1, on_ask);
}

void cpd_signals_catch(int patience)
{
    patience_seconds = patience;
    clock_gettime(CLOCK_MONOTONIC, &caught);
    handle(SIGALRM, on_alarm);
    handle(SIGINT, on_signal);
    handle(SIGTERM, on_signal);
    handle(SIGHUP, on_signal);
}

void cpd_signals_done(void)
{
    alarm(0);
}
