/* Numbers of a column of a table: all have the same number of decimals, so that their points are
 * below each other. */
#ifndef BLCO_DECIMALS_H
#define BLCO_DECIMALS_H

#include <stdbool.h>

#define DECIMALS_ROOM 48 /* bytes of a number as it is shown */

/* The decimals with which the largest magnitude of a column has `digits` significant digits, 1 or
 * more. Negative where that magnitude is too large or too small for decimals alone: decimals_show
 * then gives each number `digits` digits and a power of ten. */
int decimals_for(double largest, int digits);

/* text = x with so many decimals, and without a sign where all its digits are 0; "nan" and "inf"
 * as printf has them. Returns text. */
const char *decimals_show(double x, int decimals, char text[DECIMALS_ROOM]);

/* Whether all digits are 0 with so many decimals. */
bool decimals_vanish(double x, int decimals);

#endif
