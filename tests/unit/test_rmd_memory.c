/* SPDX-License-Identifier: MIT */
/* What the kernel says of the memory, and how much of it can be lent. */
#include <errno.h>

#include "base/cleanup.h"
#include "tests/lib/case.h"
#include "tests/unit/memory_fixture.h"

static const char meminfo[] = "MemTotal:       16000000 kB\n"
                              "MemFree:         4000000 kB\n"
                              "MemAvailable:   11000000 kB\n"
                              "Cached:          9999999 kB\n"
                              "Active(anon):    1234567 kB\n"
                              "AnonPages:       1100000 kB\n"
                              "Active(file):    2000000 kB\n"
                              "Inactive(file):  5000000 kB\n"
                              "Dirty:            300000 kB\n"
                              "Writeback:        100000 kB\n"
                              "Mapped:           700000 kB\n"
                              "Shmem:            200000 kB\n"
                              "SReclaimable:     250000 kB\n";
static const char zoneinfo[] = "Node 0, zone      DMA\n"
                               "  pages free     2816\n"
                               "        min      28\n"
                               "        low      35\n"
                               "        high     42\n"
                               "Node 0, zone   Normal\n"
                               "        min      11150\n"
                               "        low      13965\n"
                               "  pagesets\n"
                               "              low:  7\n";

TEST(reads_the_kernels_texts)
{
    MemoryState m;
    assert_int_equal(memory_state_parse(meminfo, zoneinfo, 4096, &m), 0);
    assert_int_equal(m.total_bytes, 16000000ull << 10);
    /* free, inactive file pages, slab; less what is mapped and not shared memory, dirty, being
     * written; nothing of the active file cache */
    assert_int_equal(m.spare_bytes, (4000000ull + 5000000 + 250000 - 500000 - 300000 - 100000)
                                        << 10);
    assert_int_equal(m.programs_bytes, (1100000ull + 200000) << 10);
    assert_int_equal(m.reserve_bytes, 14000 * 4096);
    assert_int_equal(memory_headroom_bytes(&m), m.total_bytes / 100 * 15);
}

/* The kernel counts as neither free nor available what a processor keeps for its own programs. */
TEST(knows_what_lies_on_the_processors_lists)
{
    static const char lists[] = "Node 0, zone   Normal\n"
                                "        low      13965\n"
                                "  pagesets\n"
                                "    cpu: 0\n"
                                "              count:    15723\n"
                                "              high:     40145\n"
                                "              high_max: 337141\n"
                                "    cpu: 1\n"
                                "              count: 277\n";
    MemoryState m, none;
    assert_int_equal(memory_state_parse(meminfo, lists, 4096, &m), 0);
    assert_int_equal(memory_state_parse(meminfo, zoneinfo, 4096, &none), 0);
    assert_int_equal(m.aside_bytes, 16000 * 4096);
    assert_int_equal(none.aside_bytes, 0);
    assert_int_equal(m.spare_bytes, none.spare_bytes);
}

TEST(never_more_than_the_kernel_has_available)
{
    static const char scarce[] = "MemTotal: 1000 kB\nMemFree: 500 kB\nMemAvailable: 400 kB\n"
                                 "Active(file): 100 kB\nInactive(file): 100 kB\n";
    MemoryState m;
    assert_int_equal(memory_state_parse(scarce, zoneinfo, 4096, &m), 0);
    assert_int_equal(m.spare_bytes, 400 << 10);
    assert_int_equal(m.reserve_bytes, 1000 << 10); /* marks above all there is */
    assert_int_equal(memory_lendable_bytes(&m, 0), 0);
    assert_int_equal(memory_ceiling_bytes(&m, 0), 0);
}

TEST(refuses_texts_that_say_too_little)
{
    static const struct {
        const char *meminfo, *zoneinfo;
    } bad[] = {
        {"", zoneinfo},
        {meminfo, ""},
        {meminfo, "   low x\n"},
        {"MemTotal: 5 kB\n", zoneinfo},
        {"MemTotal: 10 kB\nMemFree: 11 kB\nMemAvailable: 1 kB\nActive(file): 0 kB\n"
         "Inactive(file): 0 kB\n",
         zoneinfo},
        {"MemTotal: 0 kB\nMemFree: 0 kB\nMemAvailable: 1 kB\nActive(file): 0 kB\n"
         "Inactive(file): 0 kB\n",
         zoneinfo},
        {"MemTotal: 99999999999999999999 kB\nMemFree: 1 kB\nMemAvailable: 1 kB\n"
         "Active(file): 0 kB\nInactive(file): 0 kB\n",
         zoneinfo},
        {"MemTotal: 10 MB\nMemFree: 1 kB\nMemAvailable: 1 kB\nActive(file): 0 kB\n"
         "Inactive(file): 0 kB\n",
         zoneinfo},
    };
    MemoryState m;
    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(memory_state_parse(bad[i].meminfo, bad[i].zoneinfo, 4096, &m), -EINVAL);
}

TEST(what_is_lent_counts_as_the_owners_no_more)
{
    MemoryState m = host(60 * GIB);
    uint64_t all = memory_lendable_bytes(&m, 0);
    assert_int_equal(all, 60 * GIB - GIB - memory_headroom_bytes(&m));
    m = host(50 * GIB);
    assert_int_equal(memory_lendable_bytes(&m, 10 * GIB), all);
    m = host(10 * GIB);
    assert_int_equal(memory_lendable_bytes(&m, 0), 0);
    m = host(100 * GIB);
    assert_int_equal(memory_lendable_bytes(&m, 100 * GIB), memory_ceiling_bytes(&m, 100 * GIB));
}

/* In a container: 16 GiB, of which a sixteenth is not for the pool. */
TEST(a_control_group_can_be_smaller_than_the_host)
{
    MemoryState m = host(60 * GIB);
    memory_state_limit(&m, 16 * GIB, 12 * GIB);
    assert_int_equal(memory_lendable_bytes(&m, 0), 11 * GIB);
    assert_int_equal(memory_ceiling_bytes(&m, 0), 11 * GIB);
    memory_state_limit(&m, 16 * GIB, 2 * GIB); /* 10 are lent meanwhile */
    assert_int_equal(memory_lendable_bytes(&m, 10 * GIB), 11 * GIB);
    memory_state_limit(&m, 16 * GIB, GIB / 2); /* somebody else in it took more than is left */
    assert_int_equal(memory_lendable_bytes(&m, 0), 0);
    m = host(5 * GIB); /* the host has less than the group may use */
    memory_state_limit(&m, 16 * GIB, 12 * GIB);
    assert_int_equal(memory_lendable_bytes(&m, 20 * GIB), 9 * GIB);
    m = host(60 * GIB);
    uint64_t all = memory_lendable_bytes(&m, 0);
    memory_state_limit(&m, 100 * GIB, 12 * GIB);
    assert_int_equal(memory_lendable_bytes(&m, 0), all);
    memory_state_limit(&m, 0, 0);
    assert_int_equal(memory_lendable_bytes(&m, 0), 0);
}

TEST(reads_what_the_kernel_evicts)
{
    MemoryState m = host(60 * GIB);
    memory_state_evicted(&m,
                         "pgpgin 7\npswpout 3\nworkingset_refault_anon 5\n"
                         "workingset_refault_file 11\nworkingset_restore_file 99\n",
                         4096);
    assert_int_equal(m.evicted_bytes, 19 * 4096);
    assert_int_equal(m.reclaimed_bytes, 19 * 4096); /* an old kernel */
    memory_state_evicted(&m,
                         "pswpout 3\nworkingset_refault_file 11\npgsteal_kswapd 2\n"
                         "pgsteal_direct 4\npgsteal_file 400\npgsteal_khugepaged 1\n",
                         4096);
    assert_int_equal(m.evicted_bytes, 14 * 4096);
    assert_int_equal(m.reclaimed_bytes, 7 * 4096);
    memory_state_evicted(&m, "", 4096);
    assert_int_equal(m.evicted_bytes, 0);
}
