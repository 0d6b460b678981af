/* SPDX-License-Identifier: MIT */
/* The demonstration's disk: what an access costs. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "tools/diskfs/model.h"

enum { MB = 1 << 20 };

static void serve__charges_position_and_bytes(void **state)
{
    /* 10 ms to position, 1 MiB a second */
    static const struct {
        uint64_t file, offset, len, at_ms, over_ms;
    } accesses[] = {
        {1, 0, MB / 4, 0, 260},              /* the first access positions */
        {1, MB / 4, MB / 4, 260, 510},       /* goes on: bytes only */
        {1, MB / 2, MB / 4, 300, 760},       /* comes early: queues */
        {1, MB / 4, MB / 4, 1000, 1260},     /* jumps back */
        {2, MB / 2, MB / 4, 2000, 2260},     /* another file at the same place */
        {2, 3 * MB / 4, 0, 3000, 3000},      /* nothing costs nothing */
        {2, 3 * MB / 4, MB / 4, 4000, 4250}, /* and moves nothing */
    };
    DiskModel d;
    (void)state;
    assert_int_equal(disk_model_init(&d, "10ms", "1M"), 0);
    for (size_t i = 0; i < ARRAY_SIZE(accesses); i++)
        assert_int_equal(disk_model_serve(&d, accesses[i].file, accesses[i].offset, accesses[i].len,
                                          accesses[i].at_ms * NS_PER_MS),
                         accesses[i].over_ms * NS_PER_MS);
}

static void init__refuses_nonsense(void **state)
{
    DiskModel d = {.free_ns = 42};
    (void)state;
    assert_int_equal(disk_model_init(&d, "fast", "1M"), -EINVAL);
    assert_int_equal(disk_model_init(&d, "1ms", "0"), -EINVAL);
    assert_int_equal(disk_model_init(&d, "1ms", ""), -EINVAL);
    assert_int_equal(disk_model_init(&d, "2h", "1M"), -EINVAL);
    assert_int_equal(d.free_ns, 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serve__charges_position_and_bytes),
        cmocka_unit_test(init__refuses_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
