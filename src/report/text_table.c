#include "report/text_table.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"

/* text = a cell of the row that has this index (modes) and number (numbers), of row 0 the heading.
 */
static void show_cell(const struct text_table *t, int column, uint64_t row, const uint64_t *index,
                      const double *number, const int *decimals, char text[LABEL_SHOWN_ROOM])
{
    const int k = column - t->modes;
    if (k < 0 && row == 0)
        mode_name(t->labels, t->mode[column], text);
    else if (k < 0)
        label_show(t->labels, t->mode[column], index[column], t->index_base, text);
    else if (row == 0)
        strcpy(text, t->heading[k]);
    else if (t->digits[k] < 0)
        snprintf(text, LABEL_SHOWN_ROOM, "%.*g", -t->digits[k], number[k]);
    else
        decimals_show(number[k], decimals[k], text);
}

void text_table_print(FILE *stream, const struct text_table *t)
{
    char text[LABEL_SHOWN_ROOM];
    size_t width[TABLE_COLUMNS] = {0};
    uint64_t index[MAX_ORDER];
    double number[TABLE_NUMBERS], largest[TABLE_NUMBERS] = {0};
    int decimals[TABLE_NUMBERS];
    for (uint64_t row = 0; row < t->rows; row++) {
        t->row(t, row, index, number);
        for (int k = 0; k < t->numbers; k++)
            largest[k] = fmax(largest[k], fabs(number[k]));
    }
    for (int k = 0; k < t->numbers; k++)
        decimals[k] = t->digits[k] > 0 ? decimals_for(largest[k], t->digits[k]) : 0;
    for (int pass = 0; pass < 2; pass++) /* the first one finds the widths */
        for (uint64_t row = 0; row <= t->rows; row++) {
            if (row > 0)
                t->row(t, row - 1, index, number);
            for (int c = 0; c < t->modes + t->numbers; c++) {
                const bool left = c < t->modes && t->labels->mode[t->mode[c]].names.count > 0;
                show_cell(t, c, row, index, number, decimals, text);
                const size_t wanted = utf8_width(text);
                width[c] = width[c] < wanted ? wanted : width[c];
                const int blank = (int)(width[c] - wanted);
                if (pass == 1)
                    fprintf(stream, "  %*s%s%*s", left ? 0 : blank, "", text, left ? blank : 0, "");
            }
            fputs(pass == 1 ? "\n" : "", stream);
        }
}

#define LABEL_WIDTH 32 /* columns */
#define CUT         "..."

/* Makes a label printable, and cuts it. */
static const char *show(const char *label, char shown[LABEL_SHOWN_ROOM])
{
    printable(label, shown, LABEL_SHOWN_ROOM - sizeof CUT);
    if (utf8_width(shown) > LABEL_WIDTH)
        strcpy(shown + utf8_fit(shown, LABEL_WIDTH - strlen(CUT)), CUT);
    return shown;
}

const char *label_show(const struct labels *l, int n, uint64_t i, int index_base,
                       char shown[LABEL_SHOWN_ROOM])
{
    const char *label = labels_get(l, n, i);
    if (!label) {
        snprintf(shown, LABEL_SHOWN_ROOM, "%s%ju", l->mode[n].names.count > 0 ? "index " : "",
                 (uintmax_t)i + (uintmax_t)index_base);
        return shown;
    }
    return show(label, shown);
}

const char *mode_name(const struct labels *l, int n, char name[MODE_NAME_ROOM])
{
    if (l && l->modes.of[n][0])
        return show(l->modes.of[n], name);
    snprintf(name, MODE_NAME_ROOM, "mode %d", n + 1);
    return name;
}

void mode_put_name(struct json *j, const struct labels *l, int n)
{
    if (l->modes.of[n][0])
        json_put_string(j, "name", l->modes.of[n]);
}

void index_put(struct json *j, const struct labels *l, int n, uint64_t i, int index_base)
{
    json_put_unsigned(j, "index", i + (uint64_t)index_base);
    if (l->mode[n].names.count > 0)
        json_put_string(j, "label", labels_get(l, n, i));
}

void indices_put(struct json *j, const struct labels *l, int order, const uint32_t *index,
                 int index_base)
{
    uint64_t number[MAX_ORDER] = {0};
    bool any_labels = false;
    for (int n = 0; n < order; n++) {
        number[n] = (uint64_t)index[n] + (uint64_t)index_base;
        any_labels = any_labels || l->mode[n].names.count > 0;
    }
    json_put_unsigneds(j, "indices", number, (size_t)order);
    if (!any_labels)
        return;
    json_put_array(j, "labels");
    for (int n = 0; n < order; n++)
        json_put_string(j, NULL, labels_get(l, n, index[n]));
    json_end(j);
}

/* Powers of ten of a column's largest number between which numbers are shown without a power. */
#define LEAST_EXPONENT   -4
#define LARGEST_EXPONENT 6

int decimals_for(double largest, int digits)
{
    int exponent = largest != 0 && isfinite(largest) ? (int)floor(log10(fabs(largest))) : 0;
    if (exponent < LEAST_EXPONENT || exponent > LARGEST_EXPONENT)
        return -digits;
    return exponent < digits - 1 ? digits - 1 - exponent : 0;
}

static bool all_zeros(const char *text)
{
    return text[strspn(text, "0.")] == '\0';
}

const char *decimals_show(double x, int decimals, char text[DECIMALS_ROOM])
{
    if (decimals < 0)
        snprintf(text, DECIMALS_ROOM, "%.*e", -decimals - 1, x + 0.0); /* no -0 */
    else
        snprintf(text, DECIMALS_ROOM, "%.*f", decimals, x);
    if (text[0] == '-' && all_zeros(text + 1))
        memmove(text, text + 1, strlen(text));
    return text;
}

bool decimals_vanish(double x, int decimals)
{
    char text[DECIMALS_ROOM];
    return x == 0 || all_zeros(decimals_show(x, decimals, text));
}
