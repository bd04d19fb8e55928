#include "report/text_table.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"

void text_table_columns(const struct text_table *t, struct number_column *shown)
{
    uint64_t index[MAX_ORDER];
    double number[TABLE_NUMBERS];
    for (int k = 0; k < t->numbers; k++)
        shown[k] = (struct number_column){.digits = t->column[k].digits,
                                          .logarithms = t->column[k].logarithms};
    for (uint64_t row = 0; row < t->rows; row++) {
        t->row(t, row, index, number);
        for (int k = 0; k < t->numbers; k++)
            number_column_add(&shown[k], number[k]);
    }
}

void text_table_print(FILE *stream, const struct text_table *t)
{
    char text[LABEL_SHOWN_ROOM];
    size_t width[TABLE_COLUMNS] = {0};
    uint64_t index[MAX_ORDER];
    double number[TABLE_NUMBERS];
    struct number_column shown[TABLE_NUMBERS];
    const int columns = t->modes + t->numbers;
    text_table_columns(t, shown);
    for (int pass = 0; pass < 2; pass++) /* the first one finds the widths */
        for (uint64_t row = 0; row <= t->rows; row++) {
            if (row > 0)
                t->row(t, row - 1, index, number);
            for (int c = 0; c < columns; c++) {
                const bool left = c < t->modes && t->labels->mode[t->mode[c]].names.count > 0;
                const int k = c - t->modes;
                if (row == 0)
                    k < 0 ? mode_name(t->labels, t->mode[c], text)
                          : strcpy(text, t->column[k].heading);
                else
                    k < 0 ? label_show(t->labels, t->mode[c], index[c], t->index_base, text)
                          : number_column_show(&shown[k], number[k], text);
                const size_t wanted = utf8_width(text);
                width[c] = width[c] < wanted ? wanted : width[c];
                const int blank = (int)(width[c] - wanted);
                for (size_t end = wanted; c == columns - 1 && end > 0 && text[end - 1] == ' ';)
                    text[--end] = '\0'; /* no text line ends with blanks */
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
    if (l && l->modes.name[n][0])
        return show(l->modes.name[n], name);
    snprintf(name, MODE_NAME_ROOM, "mode %d", n + 1);
    return name;
}

void mode_begin(struct json *j, const char *object, const struct labels *l, int n)
{
    json_put_object(j, object);
    json_put_unsigned(j, "mode", (uint64_t)n + 1);
    if (l->modes.name[n][0])
        json_put_string(j, "name", l->modes.name[n]);
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

#define LEAST_DIGITS  3    /* of any number of a column                         */
#define MOST_DECIMALS 6    /* with which a number that needs more than the others is shown */
#define EXACT         1e-9 /* a number that is less off, in relation, loses nothing by rounding   */
#define TINY          -690. /* a logarithm of what is not a normal number, or hardly */

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

void number_column_add(struct number_column *c, double x)
{
    const double size = c->logarithms ? x : fabs(x);
    if (!isfinite(x) || (x == 0 && !c->logarithms))
        return;
    c->largest = c->any ? fmax(c->largest, size) : size;
    c->least = c->any ? fmin(c->least, size) : size;
    c->any = true;
}

/* The decimals of a number, as decimals_show takes them. */
static int own_decimals(const struct number_column *c, double shown)
{
    const double largest = c->logarithms ? exp(c->largest) : c->largest;
    const int usual = c->digits > 0 ? decimals_for(c->any ? largest : 0, c->digits) : 0;
    if (c->digits == 0 || usual < 0 || !isfinite(shown))
        return usual;
    const double last = shown * pow(10, usual); /* in units of the last decimal */
    if (fabs(round(last) - last) <= EXACT * fabs(last))
        return usual;
    const int wanted = LEAST_DIGITS - 1 - (int)floor(log10(fabs(shown)));
    return wanted <= usual ? usual : wanted <= MOST_DECIMALS ? wanted : -LEAST_DIGITS;
}

/* Without blanks. */
static const char *show_number(const struct number_column *c, double x,
                               char text[NUMBER_SHOWN_ROOM])
{
    const double shown = c->logarithms ? exp(x) : x, power = x / M_LN10;
    if (c->logarithms && x < TINY && isfinite(x))
        snprintf(text, NUMBER_SHOWN_ROOM, "%.2fe%.0f", pow(10, power - floor(power)), floor(power));
    else if (shown == 0)
        strcpy(text, "0");
    else
        decimals_show(shown, own_decimals(c, shown), text);
    return text;
}

/* From the point on. */
static int fraction(const char *text)
{
    return (int)(strlen(text) - strcspn(text, "."));
}

const char *number_column_show(const struct number_column *c, double x,
                               char text[NUMBER_SHOWN_ROOM])
{
    int most = 0;
    for (int i = 0; c->any && i < 2; i++) {
        const int length = fraction(show_number(c, i == 0 ? c->largest : c->least, text));
        most = length > most ? length : most;
    }
    const int length = fraction(show_number(c, x, text));
    sprintf(text + strlen(text), "%*s", most > length ? most - length : 0, "");
    return text;
}
