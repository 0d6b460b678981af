/* SPDX-License-Identifier: MIT */
/* Pools that are full, of fragments, of ten thousand regions, of one region of several gigabytes.
 */
#include "tests/lib/case.h"
#include "tests/lib/sanitizer.h"
#include "tests/unit/api_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { SCALE = UNDER_ASAN ? 10 : 1 };

#define CASE(name) TEST_WITH(name, NULL, tear_down)

CASE(pool__full)
{
    int rds[8];
    begin(no_refraction, "4M");
    for (int i = 0; i < 4; i++)
        rds[i] = opened(MIB, i * MIB, 0);
    assert_fails(dodo_mopen(1, fd, 5 * MIB), ENOMEM);
    int fallback = opened(MIB, 6 * MIB, DODO_FALLBACK);
    assert_int_equal(stat_of(fallback).active, 0);
    for (int i = 0; i < 4; i++)
        fill(rds[i], i * MIB, 0, MIB);
    assert_int_equal(dodo_mclose(rds[2]), 0);
    rds[2] = opened_again(MIB, 9 * MIB, 0);
    fill(rds[2], 9 * MIB, 0, MIB);
    for (int i = 0; i < 4; i++)
        assert_int_equal(dodo_mclose(rds[i]), 0);
    rds[0] = opened_again(4 * MIB, 0, 0); /* the whole of it again */
    fill(rds[0], 0, 0, 4 * MIB);
}

CASE(pool__of_fragments)
{
    enum { PART = 256 * KIB, PARTS = 16 };
    int rds[PARTS];
    begin(no_refraction, "4M");
    for (int i = 0; i < PARTS; i++)
        rds[i] = opened(PART, i * PART, 0);
    for (int i = 0; i < PARTS; i += 2)
        assert_int_equal(dodo_mclose(rds[i]), 0);
    assert_fails(dodo_mopen(PART + 1, fd, 5 * MIB), ENOMEM); /* half of it is free, in parts */
    for (int i = 0; i < PARTS; i += 2) {
        rds[i] = opened_again(PART, i * PART, 0);
        assert_reads(rds[i], i * PART, 0, PART);
    }
    for (int i = 0; i < PARTS; i++)
        fill(rds[i], i * PART, 0, PART);
    assert_int_equal(dodo_mclose(rds[6]), 0);
    assert_int_equal(dodo_mclose(rds[7]), 0);
    assert_reads(opened_again(2 * PART, 5 * MIB, 0), 5 * MIB, 0, 2 * PART); /* neighbours join */
}

/* As many as the system lets a program have files open. */
static unsigned tiny_regions(void)
{
    struct rlimit limit;
    unsigned wanted = 10000 / SCALE;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur < wanted + 100) {
        limit.rlim_cur = limit.rlim_max < wanted + 100 ? limit.rlim_max : wanted + 100;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    return limit.rlim_cur < wanted + 100 ? (unsigned)limit.rlim_cur - 100 : wanted;
}

/* Every region has a lock, and the kernel walks through all that a file has: so they are in several
 * files, all alike. */
enum { TINY = 100, TINY_FILES = 8 };
static int tiny_files[TINY_FILES];

static off_t tiny_at(unsigned i)
{
    return (off_t)(i / TINY_FILES) * (TINY + 1);
}

static int tiny_opened(unsigned i)
{
    int rd = dodo_mopen(TINY, tiny_files[i % TINY_FILES], tiny_at(i));
    if (rd < 0)
        fail_msg("mopen: %s", dodo_last_error());
    return rd;
}

static void tiny_make(unsigned count)
{
    size_t len = (size_t)tiny_at(count + TINY_FILES);
    for (unsigned i = 0; i < TINY_FILES; i++) {
        tiny_files[i] = cluster_file(&cluster, NULL);
        assert_int_equal(pwrite(tiny_files[i], content, len, 0), len);
    }
}

/* Writes to it, and reads that back from remote memory. */
static void tiny_write(int rd, unsigned i)
{
    enum { AT = 50 };
    uint8_t *want = content + tiny_at(i), old[4];
    assert_int_equal(dodo_mwrite(rd, AT, "tiny", sizeof old), sizeof old);
    memcpy(old, want + AT, sizeof old);
    memcpy(want + AT, "tiny", sizeof old);
    fill(rd, tiny_at(i), 0, TINY);
    memcpy(want + AT, old, sizeof old); /* as it still is in the other files */
    assert_int_equal(stat_of(rd).active, 1);
}

CASE(pool__ten_thousand_tiny_regions)
{
    enum { STEP = 97 };
    unsigned count = tiny_regions();
    int *rds = malloc(count * sizeof *rds);
    begin(no_refraction, "64M");
    tiny_make(count);
    for (unsigned i = 0; i < count; i++)
        rds[i] = tiny_opened(i);
    for (unsigned i = 0; i < count; i++)
        assert_reads(rds[i], tiny_at(i), 0, TINY);
    for (unsigned i = 0; i < count; i += STEP)
        tiny_write(rds[i], i);
    for (unsigned i = 0; i < count; i += 2)
        assert_int_equal(dodo_mclose(rds[i]), 0);
    for (unsigned i = 0; i < count; i += 2) {
        rds[i] = tiny_opened(i);
        assert_int_equal(stat_of(rds[i]).filled_bytes, 0);
    }
    assert_reads(rds[2], tiny_at(2), 0, TINY);
    assert_int_equal(dodo_shutdown(), 0); /* closes them all */
    /* An old number names no other region. */
    int rd = opened(TINY, 0, 0);
    for (unsigned i = 0; i < count; i++)
        assert_int_not_equal(rds[i], rd);
    uint8_t byte;
    errno = 0;
    assert_int_equal(dodo_mread(rds[0], 0, &byte, 1), -1);
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(dodo_shutdown(), 0);
    int again = opened(TINY, 0, 0);
    assert_int_not_equal(again, rd);
    assert_int_equal(dodo_mclose(again), 0);
    for (unsigned i = 0; i < TINY_FILES; i++)
        (void)close(tiny_files[i]);
    free(rds);
}

/* One region, larger than 4 GiB where the host has so much to offer, of a file of holes: what is
 * touched are some blocks at both ends and around 4 GiB. */
CASE(pool__region_of_several_gigabytes)
{
    char pool[32];
    uint8_t got[70000], zero[70000] = {0};
    uint64_t region = 5ull << 30;
    while (region + (256 << 20) > cluster_memory_available())
        region /= 2;
    (void)snprintf(pool, sizeof pool, "%" PRIu64, region + MIB);
    begin(no_refraction, pool);
    assert_int_equal(ftruncate(fd, (off_t)region + 2 * MIB), 0);
    int rd = opened(region, MIB, 0);
    const off_t places[] = {0, (off_t)region / 5 * 4 - 30000, (off_t)region - (off_t)sizeof got};
    for (size_t i = 0; i < 3; i++) {
        off_t at = places[i];
        memset(got, 1, sizeof got);
        assert_int_equal(dodo_mread(rd, at, got, sizeof got), sizeof got);
        if (at > FILE_BYTES)
            assert_memory_equal(got, zero, sizeof got);
        load_fresh((unsigned)i + 77, got, sizeof got);
        assert_int_equal(dodo_mwrite(rd, at, got, sizeof got), sizeof got);
    }
    for (size_t i = 0; i < 3; i++) {
        uint8_t want[sizeof got];
        load_fresh((unsigned)i + 77, want, sizeof want);
        assert_int_equal(dodo_mread(rd, places[i], got, sizeof got), sizeof got);
        assert_memory_equal(got, want, sizeof got);
        assert_int_equal(pread(fd, got, sizeof got, MIB + places[i]), sizeof got);
        assert_memory_equal(got, want, sizeof got);
    }
    assert_int_equal(dodo_mread(rd, (off_t)region - 10, got, 100), 10);
    assert_int_equal(dodo_mread(rd, (off_t)region, got, 100), 0);
    assert_true(stat_of(rd).hits > 0);
    assert_int_equal(stat_of(rd).active, 1);
    assert_fails(dodo_mopen(2 * MIB, fd, (off_t)region + MIB), ENOMEM);
    assert_int_equal(dodo_mclose(rd), 0);
}

int main(int argc, char **argv)
{
    cluster_arguments(argc, argv);
    return cases_run(NULL, NULL);
}
