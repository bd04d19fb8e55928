/* What libgomp finds wrong. On its own it prints, and ends the program with exit status 1 where a
 * thread cannot be started. Where libgomp is a part of the program (the Makefile), the linker leads
 * its calls here instead. */
#ifndef BLCO_OPENMP_FAULTS_H
#define BLCO_OPENMP_FAULTS_H

#include "base/error.h"

/* Notes what is wrong with a variable of the environment. The first note counts. */
void openmp_faults_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* STATUS_INPUT where something was noted. */
enum status openmp_faults_check(struct error *error);

#endif
