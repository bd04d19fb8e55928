/* The style of all pages, as CSS: for screens of any width, light and dark, and for paper. */
#ifndef BLCO_PAGE_STYLE_H
#define BLCO_PAGE_STYLE_H

#include <stdio.h>

void page_style(FILE *to);

#endif
