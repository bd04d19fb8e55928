#include "formats/csv/csv_bin.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/digits.h"
#include "base/number.h"
#include "base/uint128.h"

#define DAY           86400
#define MOST_DECIMALS 9
#define MOST_WHOLE    (UINT64_C(1) << 53) /* digits of bins are below */

/* --- widths --- */

static bool parse_duration(struct csv_bin *bin, const char *text)
{
    static const char letters[] = "smhd";
    static const int64_t seconds[] = {1, 60, 3600, DAY};
    uint64_t number;
    const char *unit = number_parse_unsigned(text, text + strlen(text), &number);
    if (!unit || number < 1 || number > 1000000 || strlen(unit) != 1 || !strchr(letters, *unit))
        return false;
    const int64_t each = seconds[strchr(letters, *unit) - letters];
    *bin = (struct csv_bin){.kind = CSV_BIN_TIME, .width = (int64_t)number * each};
    return true;
}

/* A decimal number times 10^decimals: its sign, its whole part, and whether anything follows the
 * point. */
struct scaled {
    bool negative, fraction;
    uint64_t whole; /* below MOST_WHOLE */
};

/* Reads the whole text, exactly. False where it is no number, or one that is too large. */
static bool parse_scaled(struct scaled *s, const char *text, const char *end, int decimals)
{
    double number, exponent = 0;
    if (number_parse(text, end, &number) != end || !isfinite(number))
        return false;
    const char *digits = text + (*text == '-' || *text == '+'), *e = digits;
    while (e < end && *e != 'e' && *e != 'E')
        e++;
    if (e < end)
        number_parse(e + 1, end, &exponent);
    const char *point = memchr(digits, '.', (size_t)(e - digits));
    double left = (double)((point ? point : e) - digits) + exponent + decimals; /* whole digits */
    *s = (struct scaled){.negative = *text == '-'};
    for (const char *c = digits; c < e && s->whole < MOST_WHOLE; c++) {
        if (c == point)
            continue;
        if (left-- < 1)
            s->fraction |= *c != '0';
        else
            s->whole = 10 * s->whole + (uint64_t)(*c - '0');
    }
    for (; left >= 1 && s->whole > 0 && s->whole < MOST_WHOLE; left--)
        s->whole *= 10;
    return s->whole < MOST_WHOLE;
}

static int64_t round_down(const struct scaled *s)
{
    return s->negative ? -(int64_t)(s->whole + s->fraction) : (int64_t)s->whole;
}

static bool parse_decimal(struct csv_bin *bin, const char *text)
{
    const char *point = strchr(text, '.');
    const size_t decimals = point ? strlen(point + 1) : 0, digits = strspn(text, "0123456789.");
    struct scaled width;
    if (text[digits] != '\0' || decimals > MOST_DECIMALS)
        return false;
    if (!parse_scaled(&width, text, text + digits, (int)decimals) || width.whole == 0)
        return false;
    *bin = (struct csv_bin){CSV_BIN_NUMBER, (int64_t)width.whole, (int)decimals};
    return true;
}

bool csv_bin_parse(struct csv_bin *bin, const char *text)
{
    if (strcmp(text, "hour-of-week") == 0) {
        *bin = (struct csv_bin){.kind = CSV_BIN_HOUR_OF_WEEK};
        return true;
    }
    return parse_duration(bin, text) || parse_decimal(bin, text);
}

/* --- dates --- */

/* Days from 1970-01-01 to a date of the Gregorian calendar, and back (Howard Hinnant, "chrono-
 * Compatible Low-Level Date Algorithms"). */
static int64_t days_of(int64_t year, int month, int day)
{
    year -= month <= 2;
    const int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
    const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of(int64_t days, int64_t *year, int *month, int *day)
{
    days += 719468;
    const int64_t era = (days >= 0 ? days : days - 146096) / 146097, of_era = days - era * 146097;
    const int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * years + years / 4 - years / 100);
    const int64_t shifted = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * shifted + 2) / 5 + 1);
    *month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
    *year = years + era * 400 + (*month <= 2);
}

/* Exactly `count` digits at *at, a number from `least` to `most`. */
static bool take_digits(const char **at, const char *end, int count, int least, int most,
                        int *number)
{
    *number = 0;
    if (end - *at < count)
        return false;
    for (int i = 0; i < count; i++) {
        if (!is_digit((*at)[i]))
            return false;
        *number = 10 * *number + ((*at)[i] - '0');
    }
    *at += count;
    return *number >= least && *number <= most;
}

/* Seconds since 1970, rounded down, and what is left of a second. */
struct moment {
    int64_t seconds;
    double rest;
};

static bool take(const char **at, const char *end, char c)
{
    const bool is_there = *at < end && **at == c;
    *at += is_there;
    return is_there;
}

/* Adds the digits at *at, a part of `unit` seconds; *any: it is more than 0. */
static bool take_fraction(const char **at, const char *end, int64_t unit, struct moment *m,
                          bool *any)
{
    const char *first = *at;
    int64_t part = 0;
    while (*at < end && is_digit(**at))
        *any |= *(*at)++ != '0';
    for (const char *c = *at; c > first;) {
        part += (*--c - '0') * unit;
        m->rest = ((double)(part % 10) + m->rest) / 10;
        part /= 10;
    }
    m->seconds += part;
    return *at > first;
}

/* "14:05:59", "14:05" or "14"; the last number may have a fraction, as "14:05.5". */
static bool take_time(const char **at, const char *end, struct moment *m)
{
    int64_t unit = 3600;
    bool after = false; /* midnight */
    int number;
    if (!take_digits(at, end, 2, 0, 24, &number))
        return false;
    const int hour = number;
    m->seconds += hour * unit;
    for (int most = 59; unit > 1 && take(at, end, ':'); most++) {
        if (!take_digits(at, end, 2, 0, most, &number)) /* a leap second is number 60 */
            return false;
        unit /= 60;
        m->seconds += number * unit;
        after |= number > 0;
    }
    if ((take(at, end, '.') || take(at, end, ',')) && !take_fraction(at, end, unit, m, &after))
        return false;
    return hour < 24 || !after;
}

/* Nothing, "Z", "+01", "+0100" or "+01:00". */
static bool take_offset(const char **at, const char *end, int64_t *seconds)
{
    int hours, minutes = 0;
    if (take(at, end, 'Z') || *at == end)
        return true;
    const bool east = take(at, end, '+');
    if (!east && !take(at, end, '-'))
        return false;
    if (!take_digits(at, end, 2, 0, 23, &hours))
        return false;
    if ((take(at, end, ':') || *at < end) && !take_digits(at, end, 2, 0, 59, &minutes))
        return false;
    *seconds += (east ? -1 : 1) * (hours * 3600 + minutes * 60);
    return true;
}

static bool take_day(const char **at, const char *end, int year, int month, int *day)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return take_digits(at, end, 2, 1, lengths[month - 1] + (month == 2 && leap), day);
}

static bool parse_date(const char *at, const char *end, struct moment *m)
{
    int year, month, day;
    if (!take_digits(&at, end, 4, 0, 9999, &year) || !take(&at, end, '-'))
        return false;
    if (!take_digits(&at, end, 2, 1, 12, &month) || !take(&at, end, '-'))
        return false;
    if (!take_day(&at, end, year, month, &day))
        return false;
    *m = (struct moment){.seconds = days_of(year, month, day) * DAY};
    if (at == end)
        return true;
    if (!take(&at, end, 'T') && !take(&at, end, ' '))
        return false;
    return take_time(&at, end, m) && take_offset(&at, end, &m->seconds) && at == end;
}

bool csv_bin_is_compact(const char *text, size_t length)
{
    const char *at = text, *end = text + length, *point = memchr(text, '.', length);
    int year, month = 1, day, hour, minute;
    for (const char *c = point ? point + 1 : end; c < end; c++)
        if (*c != '0')
            return false;
    end = point ? point : end;
    if (!take_digits(&at, end, 4, 1000, 2999, &year))
        return false;
    if (at < end && !take_digits(&at, end, 2, 1, 12, &month))
        return false;
    if (at < end && !take_day(&at, end, year, month, &day))
        return false;
    if (at < end &&
        (!take_digits(&at, end, 2, 0, 23, &hour) || !take_digits(&at, end, 2, 0, 59, &minute)))
        return false;
    return at == end;
}

/* The time in seconds since 1970, rounded down; years from 0 to 9999. */
static bool parse_moment(const char *text, const char *end, int64_t *seconds)
{
    const int64_t least = days_of(0, 1, 1) * DAY, most = days_of(10000, 1, 1) * DAY;
    struct scaled number;
    struct moment date;
    if (parse_date(text, end, &date))
        *seconds = date.seconds;
    else if (parse_scaled(&number, text, end, 0))
        *seconds = round_down(&number);
    else
        return false;
    return *seconds >= least && *seconds < most;
}

/* --- values --- */

bool csv_value_date(struct csv_value *value, const char *text, size_t length)
{
    struct moment m;
    if (!parse_date(text, text + length, &m))
        return false;
    *value = (struct csv_value){(double)m.seconds, m.rest};
    return true;
}

bool csv_value_number(struct csv_value *value, const char *text, size_t length)
{
    const char *end = text + length, *c = text;
    value->rest = 0;
    if (number_parse(text, end, &value->whole) != end || isnan(value->whole))
        return false;
    const double distance = fabs(value->whole);
    if (distance < (double)MOST_WHOLE || distance > 0x1p126)
        return true;
    /* a whole number may have more digits than a double */
    uint128 whole = 0;
    for (c += *c == '-' || *c == '+'; c < end && is_digit(*c); c++)
        whole = 10 * whole + (unsigned)(*c - '0');
    if (c < end)
        return true;
    const uint128 rounded = (uint128)distance;
    value->rest = whole < rounded ? -(double)(rounded - whole) : (double)(whole - rounded);
    value->rest = value->whole < 0 ? -value->rest : value->rest;
    return true;
}

static int64_t floor_to(int64_t number, int64_t width)
{
    const int64_t rest = number % width;
    return number - (rest < 0 ? rest + width : rest);
}

/* --- names --- */

static size_t name_moment(int64_t seconds, int64_t width, char *name)
{
    const int64_t days = floor_to(seconds, DAY) / DAY;
    const int of_day = (int)(seconds - days * DAY);
    int64_t year;
    int month, day;
    date_of(days, &year, &month, &day);
    const int length = snprintf(name, CSV_BIN_ROOM, "%04d-%02d-%02dT%02d:%02d:%02d", (int)year,
                                month, day, of_day / 3600, of_day / 60 % 60, of_day % 60);
    const size_t unused = width % DAY == 0 ? strlen("T00:00:00") : width % 60 == 0 ? 3 : 0;
    return (size_t)length - unused;
}

size_t csv_bin_hour(int hour, char *name)
{
    static const char *const days[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    return (size_t)snprintf(name, CSV_BIN_ROOM, "%s %02d", days[hour / 24 % 7], hour % 24);
}

/* Numbers are binned as the decimals that they are: 0.3 begins a bin of width 0.1, though in binary
 * 0.3 / 0.1 is a little below 3. */
static size_t name_number(const struct csv_bin *bin, const struct scaled *number, char *name)
{
    const int64_t begin = floor_to(round_down(number), bin->width);
    const int64_t distance = begin < 0 ? -begin : begin, scale = (int64_t)pow(10, bin->decimals);
    int length = snprintf(name, CSV_BIN_ROOM, "%s%" PRId64, begin < 0 ? "-" : "", distance / scale);
    if (bin->decimals > 0)
        length += snprintf(name + length, CSV_BIN_ROOM - (size_t)length, ".%0*" PRId64,
                           bin->decimals, distance % scale);
    return (size_t)length;
}

size_t csv_bin_name(const struct csv_bin *bin, const char *text, size_t length, char *name)
{
    const char *end = text + length;
    int64_t seconds;
    struct scaled number;
    if (bin->kind == CSV_BIN_NUMBER)
        return parse_scaled(&number, text, end, bin->decimals) ? name_number(bin, &number, name)
                                                               : 0;
    if (!parse_moment(text, end, &seconds))
        return 0;
    if (bin->kind == CSV_BIN_TIME)
        return name_moment(floor_to(seconds, bin->width), bin->width, name);
    const int64_t hours = floor_to(seconds, 3600) / 3600 + 3 * 24; /* 1970 began on a Thursday */
    return csv_bin_hour((int)(hours - floor_to(hours, CSV_BIN_HOURS)), name);
}
