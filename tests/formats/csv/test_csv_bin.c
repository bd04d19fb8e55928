/* Dates and numbers get the names of their bins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "formats/csv/csv_bin.h"

static void assert_bin(const char *width, const char *text, const char *expected)
{
    struct csv_bin bin;
    char name[CSV_BIN_ROOM + 1];
    assert_true(csv_bin_parse(&bin, width));
    name[csv_bin_name(&bin, text, strlen(text), name)] = '\0';
    assert_string_equal(name, expected);
}

static void bins_dates(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"1h", "2026-11-23T14:05:59", "2026-11-23T14:00"},
        {"1h", "2026-11-23 14:05", "2026-11-23T14:00"},
        {"1h", "2026-11-23T00:30:00+01:00", "2026-11-22T23:00"},
        {"1h", "2026-11-23T23:30:00.25-0130", "2026-11-24T01:00"},
        {"15m", "2024-02-29T23:59:60Z", "2024-03-01T00:00"},
        {"1s", "2026-11-23T12.5", "2026-11-23T12:30:00"},
        {"1s", "2026-11-23T12:30.5", "2026-11-23T12:30:30"},
        {"1s", "2026-11-23T12,0002777777777777777777777", "2026-11-23T12:00:00"},
        {"1s", "2026-11-23T12,0002777777777777777777778", "2026-11-23T12:00:01"},
        {"1s", "2026-11-23T12:30:15.999999999999999999999999", "2026-11-23T12:30:15"},
        {"1s", "2026-11-23T12:30,99+01:30", "2026-11-23T11:00:59"},
        {"1s", "2026-11-23T24:00:00.000Z", "2026-11-24T00:00:00"},
        {"1s", "2026-11-23T24.0", "2026-11-24T00:00:00"},
        {"1s", "1.99999999999999999999", "1970-01-01T00:00:01"},
        {"1s", "-0.00000000000000000001", "1969-12-31T23:59:59"},
        {"1s", "1.7e9", "2023-11-14T22:13:20"},
        {"90s", "0", "1970-01-01T00:00:00"},
        {"90s", "91.5", "1970-01-01T00:01:30"},
        {"1d", "-1", "1969-12-31"},
        {"1d", "1700000000", "2023-11-14"},
        {"7d", "1970-01-08", "1970-01-08"},
        {"1d", "1900-03-01", "1900-03-01"},
        {"1d", "2000-02-29", "2000-02-29"},
        {"hour-of-week", "1970-01-01T05:00", "Thu 05"},
        {"hour-of-week", "2026-11-23T00:59", "Mon 00"},
        {"hour-of-week", "1969-12-28T23", "Sun 23"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_bin(cases[i][0], cases[i][1], cases[i][2]);
}

static void refuses_what_is_no_date(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "x",
                                        "2026-13-01",
                                        "2026-02-29",
                                        "2026-1-1",
                                        "23/11/2026",
                                        "2026-11-23T25:00",
                                        "2026-11-23T24:01",
                                        "2026-11-23T24:00:00.5",
                                        "2026-11-23T24:00.1",
                                        "2026-11-23T24.01",
                                        "2026-11-23T12:30:15.",
                                        "2026-11-23T12:30,",
                                        "2026-11-23T12.",
                                        "2026-11-23T12.5:30",
                                        "2026-11-23T12:",
                                        "2026-11-23T12:30:",
                                        "2026-11-23T12:30:15:15",
                                        "2026-11-23T12:60",
                                        "2026-11-23T14:05+01:",
                                        "2026-11-23T14:05+01:0",
                                        "2026-11-23T14:05+",
                                        "2026-11-23T14:05+24",
                                        "2026-11-23T14:05ZZ",
                                        "9999-12-31T24",
                                        "253402300800",
                                        "nan",
                                        "inf",
                                        "2026-11-23x",
                                        "1e12",
                                        "2026-11-23T"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_bin("1h", texts[i], "");
    assert_bin("1", "1,5", "");
    assert_bin("1", "inf", "");
    assert_bin("0.001", "1e300", "");
    assert_bin("0.001", "9007199254740.992", "");
    assert_bin("1", "1e", "");
}

static void bins_numbers(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"10", "9.99", "0"},
        {"10", "-0.5", "-10"},
        {"0.1", "0.3", "0.3"},
        {"0.1", "0.29", "0.2"},
        {".25", "1e1", "10.00"},
        {"0.01", "-0.29", "-0.29"},
        {"2.5", "7.4", "5.0"},
        {"1000", "1234567", "1234000"},
        {".1", ".9999999999", "0.9"},
        {".1", "-.9999999999", "-1.0"},
        {".1", "-1.00000000000000000000000000000001", "-1.1"},
        {".1", "-1.0", "-1.0"},
        {"1", "4503599627370496.9999", "4503599627370496"},
        {"0.001", "+9007199254740.99199999", "9007199254740.991"},
        {"1", "000000000000000000000000000000012e-1", "1"},
        {"0.5", "12345e-4", "1.0"},
        {"1", "1e-400", "0"},
        {"1", "-1e-400", "-1"},
        {"5", "0e300", "0"},
        {"0.000000001", "0.0000000019999", "0.000000001"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_bin(cases[i][0], cases[i][1], cases[i][2]);
}

/* Numbers that people mean as dates, and others. */
static void knows_dates_without_hyphens(void **state)
{
    (void)state;
    static const char *const dates[] = {"2026",     "1000",         "202611",     "20261123",
                                        "20240229", "202611231405", "20261123.0", "2026."};
    static const char *const others[] = {"",
                                         ".",
                                         "0",
                                         "999",
                                         "3000",
                                         "202613",
                                         "20261131",
                                         "20230229",
                                         "202611232405",
                                         "20261123.5",
                                         "+2026",
                                         "2026-11-23",
                                         "1e3",
                                         "1700000000",
                                         "2026112314",
                                         "20261123140559",
                                         " 2026"};
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++)
        if (!csv_bin_is_compact(dates[i], strlen(dates[i])))
            fail_msg("%s", dates[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (csv_bin_is_compact(others[i], strlen(others[i])))
            fail_msg("%s", others[i]);
}

static void refuses_widths(void **state)
{
    (void)state;
    static const char *const widths[] = {"",      "0",     "-1",   "0h",  "1w",
                                         "h",     "1hh",   "1.5h", "1e3", "0.0000000001",
                                         "hours", "1.2.3", "."};
    struct csv_bin bin;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        assert_false(csv_bin_parse(&bin, widths[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_dates),     cmocka_unit_test(refuses_what_is_no_date),
        cmocka_unit_test(bins_numbers),   cmocka_unit_test(knows_dates_without_hyphens),
        cmocka_unit_test(refuses_widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
