/* A fit for people: with the digits that are known, and never rounded to 1; and the share that a
 * model of this fit explains. */
#pragma once

#include <stdbool.h>

#define FIT_TEXT 32 /* most characters of a fit */

/* text (FIT_TEXT) = the fit with its digits after the point that rounding has not changed, `digits`
 * at most. Rounding may have changed the fit by `noise`; 0 where that is unknown. A fit that would
 * become 1 is shown by its distance from 1: "1-3.2e-13", or "1+-2e-08" where the noise is larger.
 * Returns text, which has no blank. */
const char *fit_text(double fit, double noise, int digits, char *text);

#define SHARE_TEXT 64 /* most characters of a share */

/* text (SHARE_TEXT) = how much a model of this fit explains, as "96.9 % of the squared values", the
 * share 1 - (1 - fit)^2; of counts, whose fit is such a share already, "61.4 % of the deviance".
 * "all but 3.1e-09 of ..." where that would round to 100 %, "nothing of ..." below 0. Returns text.
 */
const char *fit_share_text(double fit, bool counts, char *text);
