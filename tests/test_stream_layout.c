/* Where the coordinates of decoded nonzeros are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "coo.h"
#include "stream_layout.h"

static void test_layouts(void **state)
{
    (void)state;
    struct packed_layout l;
    const uint64_t one_word[] = {UINT64_C(1) << 31, 1, MAX_LENGTH, 2};
    assert_true(stream_layout_create(&l, 4, one_word));
    assert_int_equal(l.words, 1);
    assert_int_equal(l.mode[1].mask, 0);
    assert_int_equal(l.mode[1].shift, 0);
    assert_int_equal(l.mode[2].mask, UINT32_MAX);

    const uint64_t four[] = {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, 1};
    assert_true(stream_layout_create(&l, 5, four));
    assert_int_equal(l.words, 2);
    uint64_t used[2] = {0, 0};
    for (int n = 0; n < 4; n++) {
        uint64_t place = (uint64_t)l.mode[n].mask << l.mode[n].shift;
        assert_int_equal(used[l.mode[n].word] & place, 0);
        used[l.mode[n].word] |= place;
    }
    assert_true(used[0] == UINT64_MAX && used[1] == UINT64_MAX);

    /* 125 bits, of which a word holds only 50; 129 bits */
    const uint64_t unlucky[] = {1 << 25, 1 << 25, 1 << 25, 1 << 25, 1 << 25};
    assert_false(stream_layout_create(&l, 5, unlucky));
    const uint64_t too_many[] = {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, 2};
    assert_false(stream_layout_create(&l, 5, too_many));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
