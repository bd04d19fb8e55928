/* Text from outside the program (labels, names of files), and numbers, as HTML. */
#pragma once

#include <stdio.h>

#include "report/text_table.h"

/* The most columns (utf8_width) that a text takes. */
#define HTML_TICK  10   /* a label at a tick of an axis                                 */
#define HTML_END   20   /* at the end of an axis                                        */
#define HTML_LABEL 120  /* another label                                                */
#define HTML_LINE  1000 /* a longer text: a command line, a warning, a label's tooltip */

/* Writes the text for the content of an element or for an attribute in quotes: < > & and quotes as
 * references, control characters and bytes that are not UTF-8 as printable() shows them. A text
 * of more than `most` columns, HTML_LINE or less, is cut and gets an ellipsis. */
void html_text(FILE *to, const char *text, size_t most);

/* Writes markup in which each %s, the only conversion, stands for a text that html_text writes;
 * nothing for NULL. */
void html_print(FILE *to, size_t most, const char *markup, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes a number for people: four significant digits, or up to seven if that many are before the
 * point; "not a number", "infinite", "-infinite". */
void html_number(FILE *to, double x);

/* Writes a number of a column of a table as that shows it, with blanks as wide as figures. */
void html_number_of(FILE *to, const struct number_column *c, double x);

/* Writes a number of a column of a table with the decimals of that column (decimals_show); NaN and
 * infinities as html_number does. */
void html_decimals(FILE *to, double x, int decimals);
