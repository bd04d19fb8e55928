/* A fit for people: with the digits that are known, and never rounded to 1. */
#ifndef BLCO_FIT_TEXT_H
#define BLCO_FIT_TEXT_H

#define FIT_TEXT 32 /* most characters of a fit */

/* text (FIT_TEXT) = the fit with its digits after the point that rounding has not changed, `digits`
 * at most. Rounding may have changed the fit by `noise`; 0 where that is unknown. A fit that would
 * become 1 is shown by its distance from 1: "1-3.2e-13", or "1+-2e-08" where the noise is larger.
 * Returns text, which has no blank. */
const char *fit_text(double fit, double noise, int digits, char *text);

#endif
