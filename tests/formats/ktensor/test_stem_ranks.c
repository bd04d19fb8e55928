#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/ktensor/ktensor_io.h"
#include "formats/ktensor/ktensor_io.h"
#include "support/scratch.h"

static void touch(const char *name)
{
    scratch_file(name, "", 0);
}

/* The stems of the models of the stem x, without the folder. */
static void assert_ranks(const char *expected)
{
    char text[1024], shown[1024] = "";
    stem_ranks(scratch_path("x"), text, sizeof text);
    size_t folder = strlen(scratch_folder) + 1, used = 0;
    for (const char *at = text; *at;) {
        if (strncmp(at, scratch_folder, folder - 1) == 0)
            at += folder;
        shown[used++] = *at++;
    }
    shown[used] = '\0';
    assert_string_equal(shown, expected);
}

static void models_are_found(void **state)
{
    (void)state;
    assert_ranks("");
    touch("x.r2.lambda.mat");
    touch("x.r3.mode1.mat.old");
    touch("xy.r4.mode1.mat");
    touch("x.rank.mode1.mat");
    touch("x.r.mode1.mat");
    touch("x.r0.mode1.mat");
    touch("x.r2.mode2.npy");
    assert_ranks("");
    touch("x.r12.mode1.npy");
    assert_ranks("x.r12");
    touch("x.r3.ktns");
    touch("x.r3.mode1.mat");
    assert_ranks("x.r3 and x.r12");
    touch("x.r7.mode1.mat");
    assert_ranks("x.r3, x.r7 and x.r12");
}

static void many_models_are_cut(void **state)
{
    (void)state;
    char name[32];
    for (int r = 1; r <= 8; r++) {
        snprintf(name, sizeof name, "x.r%d.ktns", 3 * r % 10);
        touch(name);
    }
    assert_ranks("x.r1, x.r2, x.r3, x.r4, x.r5, x.r6, x.r8 and x.r9");
    touch("x.r11.ktns");
    assert_ranks("x.r1, x.r2, x.r3, x.r4, x.r5, x.r6, x.r8, x.r9 and others");
    touch("x.r7.ktns");
    assert_ranks("x.r1, x.r2, x.r3, x.r4, x.r5, x.r6, x.r7, x.r8 and others");
}

static void small_rooms_and_no_folder(void **state)
{
    (void)state;
    char text[8];
    assert_string_equal(stem_ranks("/no/folder/x", text, sizeof text), "");
    touch("x.r3.ktns");
    stem_ranks(scratch_path("x"), text, sizeof text);
    assert_int_equal(strlen(text), 7);
}

static void readers_name_them(void **state)
{
    (void)state;
    struct ktensor k;
    struct error error = {0};
    touch("x.r3.ktns");
    assert_int_equal(ktensor_read(&k, scratch_path("x"), 0, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "no model of that name, but models of several ranks: "));
    assert_non_null(strstr(error.message, "/x.r3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(models_are_found, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(many_models_are_cut, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(small_rooms_and_no_folder, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(readers_name_them, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
