/* SPDX-License-Identifier: MIT */
/* What the kernel says of memory, as this host has it. */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"
#include "daemon/log.h"
#include "rmd/pressure.h"
#include "tests/lib/case.h"

static unsigned descriptors(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n;
}

TEST(memory_is_known)
{
    Pressure p;
    MemoryState m;
    pressure_open(&p);
    assert_int_equal(pressure_memory(&p, &m, NS_PER_S), 0);
    assert_true(m.total_bytes > 0);
    assert_true(m.spare_bytes <= m.total_bytes);
    pressure_close(&p);
}

/* What the kernel has evicted and reclaimed is of /proc/vmstat; a host that runs for long has some
 * of it. */
TEST(evictions_are_read)
{
    char text[1 << 16] = "";
    MemoryState m, expected = {0};
    Pressure p;
    if (os_text_read(AT_FDCWD, "/proc/vmstat", text, sizeof text) <= 0)
        return;
    memory_state_evicted(&expected, text, (uint64_t)sysconf(_SC_PAGESIZE));
    pressure_open(&p);
    assert_int_equal(pressure_memory(&p, &m, 7 * NS_PER_S), 0);
    assert_int_equal(m.evicted_ns, 7 * NS_PER_S);
    assert_true(m.evicted_bytes >= expected.evicted_bytes);
    assert_true(m.reclaimed_bytes >= expected.reclaimed_bytes);
    expected = m;
    m = (MemoryState){.evicted_bytes = 77, .reclaimed_bytes = 77};
    assert_int_equal(pressure_memory(&p, &m, 7 * NS_PER_S + 1), 0); /* too soon to look again */
    assert_int_equal(m.evicted_ns, 7 * NS_PER_S);
    assert_true(m.evicted_bytes == expected.evicted_bytes);
    assert_true(m.reclaimed_bytes == expected.reclaimed_bytes);
    pressure_close(&p);
}

/* rmd opens it again and again, to say once what it sees. */
TEST(all_is_given_back)
{
    Pressure p;
    unsigned before = descriptors();
    for (unsigned i = 0; i < 3; i++) {
        pressure_open(&p);
        pressure_close(&p);
    }
    assert_int_equal(descriptors(), before);
}

int main(void)
{
    log_init("test", LOG_LEVEL_ERROR);
    return cases_run(NULL, NULL);
}
