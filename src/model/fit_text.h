/* A fit as people read it: with the digits that are known, and no 1 in place of digits that are
 * missing. */
#ifndef BLCO_FIT_TEXT_H
#define BLCO_FIT_TEXT_H

#define FIT_TEXT 32 /* characters that a fit needs at most */

/* text (FIT_TEXT) = the fit with as many digits after the point, `digits` at most, as rounding has
 * left: it may have changed the fit by `noise`, 0 where nothing tells. A fit that these digits
 * would show as 1 shows its distance: "1-3.2e-13", or, where noise hides even that,
 * "1+-2e-08". Returns text, which has no blank. */
const char *fit_text(double fit, double noise, int digits, char *text);

#endif
