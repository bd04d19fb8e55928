#include "formats/csv/csv_bin.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

#define DAY           86400
#define MOST_DECIMALS 9
#define MOST_WHOLE    9007199254740992.0 /* 2^53: whole numbers below are exact in a double */

/* --- widths --- */

static bool parse_duration(struct csv_bin *bin, const char *text)
{
    static const struct {
        char letter;
        int64_t seconds;
    } units[] = {{'d', DAY}, {'h', 3600}, {'m', 60}, {'s', 1}};
    uint64_t number;
    const char *unit = number_parse_unsigned(text, text + strlen(text), &number);
    if (!unit || number < 1 || number > 1000000 || strlen(unit) != 1)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (*unit != units[i].letter)
            continue;
        *bin = (struct csv_bin){.kind = CSV_BIN_TIME, .width = (int64_t)number * units[i].seconds};
        return true;
    }
    return false;
}

static bool parse_decimal(struct csv_bin *bin, const char *text)
{
    const char *point = strchr(text, '.');
    const size_t decimals = point ? strlen(point + 1) : 0, digits = strspn(text, "0123456789.");
    double width;
    if (*text == '\0' || text[digits] != '\0' || decimals > MOST_DECIMALS)
        return false;
    if (number_parse(text, text + digits, &width) != text + digits)
        return false;
    const double whole = round(width * pow(10, (double)decimals));
    if (!(whole >= 1) || whole >= MOST_WHOLE)
        return false;
    *bin = (struct csv_bin){CSV_BIN_NUMBER, (int64_t)whole, (int)decimals};
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

static bool leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Exactly `count` digits at *at, a number from `least` to `most`. */
static bool take_digits(const char **at, const char *end, int count, int least, int most,
                        int *number)
{
    *number = 0;
    if (end - *at < count)
        return false;
    for (int i = 0; i < count; i++) {
        const char c = (*at)[i];
        if (c < '0' || c > '9')
            return false;
        *number = 10 * *number + (c - '0');
    }
    *at += count;
    return *number >= least && *number <= most;
}

static bool take(const char **at, const char *end, char c)
{
    const bool is_there = *at < end && **at == c;
    *at += is_there;
    return is_there;
}

/* "14:05", "14:05:59" or "14:05:59.5", or the hour alone. */
static bool take_time(const char **at, const char *end, int64_t *seconds)
{
    int hour, minute = 0, second = 0;
    if (!take_digits(at, end, 2, 0, 24, &hour))
        return false;
    if (take(at, end, ':') && !take_digits(at, end, 2, 0, 59, &minute))
        return false;
    if (take(at, end, ':') && !take_digits(at, end, 2, 0, 60, &second))
        return false;
    if (take(at, end, '.') || take(at, end, ','))
        while (*at < end && **at >= '0' && **at <= '9')
            ++*at;
    *seconds += hour * 3600 + minute * 60 + second;
    return hour < 24 || (minute == 0 && second == 0);
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
    take(at, end, ':');
    if (*at < end && !take_digits(at, end, 2, 0, 59, &minutes))
        return false;
    *seconds += (east ? -1 : 1) * (hours * 3600 + minutes * 60);
    return true;
}

static bool parse_date(const char *at, const char *end, int64_t *seconds)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day;
    if (!take_digits(&at, end, 4, 0, 9999, &year) || !take(&at, end, '-'))
        return false;
    if (!take_digits(&at, end, 2, 1, 12, &month) || !take(&at, end, '-'))
        return false;
    if (!take_digits(&at, end, 2, 1, lengths[month - 1] + (month == 2 && leap(year)), &day))
        return false;
    *seconds = days_of(year, month, day) * DAY;
    if (at == end)
        return true;
    if (!take(&at, end, 'T') && !take(&at, end, ' '))
        return false;
    return take_time(&at, end, seconds) && take_offset(&at, end, seconds) && at == end;
}

/* The time in seconds since 1970, rounded down; years from 0 to 9999. */
static bool parse_moment(const char *text, const char *end, int64_t *seconds)
{
    const int64_t least = days_of(0, 1, 1) * DAY, most = days_of(10000, 1, 1) * DAY;
    double number;
    if (!parse_date(text, end, seconds)) {
        if (number_parse(text, end, &number) != end || !(fabs(number) < 1e12))
            return false;
        *seconds = (int64_t)floor(number);
    }
    return *seconds >= least && *seconds < most;
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
    int length = snprintf(name, CSV_BIN_ROOM, "%04d-%02d-%02d", (int)year, month, day);
    if (width % DAY != 0)
        length += snprintf(name + length, CSV_BIN_ROOM - (size_t)length, "T%02d:%02d",
                           of_day / 3600, of_day / 60 % 60);
    if (width % 60 != 0)
        length += snprintf(name + length, CSV_BIN_ROOM - (size_t)length, ":%02d", of_day % 60);
    return (size_t)length;
}

size_t csv_bin_hour(int hour, char *name)
{
    static const char *const days[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    return (size_t)snprintf(name, CSV_BIN_ROOM, "%s %02d", days[hour / 24 % 7], hour % 24);
}

/* Decimal numbers are binned as decimals: 0.3 begins a bin of width 0.1, though in binary 0.3 / 0.1
 * is a little below 3. */
static size_t name_number(const struct csv_bin *bin, double number, char *name)
{
    const double scale = pow(10, bin->decimals), exact = number * scale / (double)bin->width;
    double bins = floor(exact);
    bins += exact - bins > 1 - 1e-9;
    if (!(fabs(bins * (double)bin->width) < MOST_WHOLE))
        return 0;
    const int64_t begin = (int64_t)bins * bin->width;
    return (size_t)snprintf(name, CSV_BIN_ROOM, "%.*f", bin->decimals, (double)begin / scale);
}

size_t csv_bin_name(const struct csv_bin *bin, const char *text, size_t length, char *name)
{
    const char *end = text + length;
    int64_t seconds;
    double number;
    if (bin->kind == CSV_BIN_NUMBER)
        return number_parse(text, end, &number) == end ? name_number(bin, number, name) : 0;
    if (!parse_moment(text, end, &seconds))
        return 0;
    if (bin->kind == CSV_BIN_TIME)
        return name_moment(floor_to(seconds, bin->width), bin->width, name);
    const int64_t hours = floor_to(seconds, 3600) / 3600 + 3 * 24; /* 1970 began on a Thursday */
    return csv_bin_hour((int)(hours - floor_to(hours, CSV_BIN_HOURS)), name);
}
