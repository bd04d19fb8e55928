#ifndef BLCO_ROW_TOTALS_H
#define BLCO_ROW_TOTALS_H

/* What is known after a pass over the rows of a mode (row_systems.h): of a span, of a join, or of
 * all. */
struct row_totals {
    double misfit;    /* sum of v (x - m)^2 - h m^2, with the new rows; of counts, where no row is
                       * solved: sum of v (m - x - x log(m / x)) - h m                    */
    double size;      /* the sum of the magnitudes of what it was summed from    */
    double penalty;   /* of a ridge that counts entries                          */
    double violation; /* of counts: the largest |min(a, gradient)| of the old rows */
    double model;     /* where no row is solved: sum of v m^2; of counts, of (v - h) m */
};

#endif
