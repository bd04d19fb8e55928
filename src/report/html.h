/* Text of others (labels, names of files), and numbers, as HTML. */
#ifndef BLCO_HTML_H
#define BLCO_HTML_H

#include <stdio.h>

#define HTML_END   24   /* characters of a label at the end of an axis */
#define HTML_LABEL 120  /* of other labels                             */
#define HTML_LINE  1000 /* of longer texts: a command line, a warning  */

/* Writes the text for the content of an element or for an attribute in quotes: < > & and quotes as
 * references, control characters and bytes that are no part of valid UTF-8 as printable() shows
 * them. Of a text of more than `most` characters, HTML_LINE or less, it writes the first ones and
 * three dots. */
void html_text(FILE *to, const char *text, size_t most);

/* Writes a number for people: four digits that count, or all before the point where there are up to
 * seven of these; "not a number", "infinite", "-infinite". */
void html_number(FILE *to, double x);

/* Writes a number of a column of a table, with as many decimals as the others have (decimals.h);
 * NaN and infinities as html_number does. */
void html_decimals(FILE *to, double x, int decimals);

#endif
