#include "report/text_table.h"

#include "base/utf8.h"

static void print_cell(FILE *stream, const struct text_table *t, int column, const char *text,
                       size_t width)
{
    const int blank = (int)(width - utf8_width(text));
    if (t->left[column])
        fprintf(stream, "  %s%*s", text, blank, "");
    else
        fprintf(stream, "  %*s%s", blank, "", text);
}

void text_table_print(FILE *stream, const struct text_table *t)
{
    char text[LABEL_SHOWN_ROOM];
    size_t width[TABLE_COLUMNS] = {0};
    for (uint64_t row = 0; row <= t->rows; row++)
        for (int c = 0; c < t->columns; c++) {
            t->cell(t, row, c, text);
            const size_t wanted = utf8_width(text);
            width[c] = width[c] < wanted ? wanted : width[c];
        }
    for (uint64_t row = 0; row <= t->rows; row++) {
        for (int c = 0; c < t->columns; c++) {
            t->cell(t, row, c, text);
            print_cell(stream, t, c, text, width[c]);
        }
        fprintf(stream, "\n");
    }
}
