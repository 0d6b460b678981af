/* SPDX-License-Identifier: MIT */
/* The limit that a control group sets: what the kernel writes, line by line; then whole systems, as
 * directories. */

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cgroup.h"
#include "imd/memory.h"
#include "tests/lib/case.h"

/* ---- lines ---------------------------------------------------------------------------------- */

TEST(group__lines)
{
    static const struct {
        const char *line;
        int kind; /* -1: none that limits memory */
        const char *group;
    } cases[] = {
        {"0::/user.slice/a b\n", CGROUP_V2, "/user.slice/a b"},
        {"0::/\n", CGROUP_V2, "/"},
        {"0::/../other", CGROUP_V2, "/../other"},
        {"9:memory:/imd\n", CGROUP_V1, "/imd"},
        {"4:cpu,memory,pids:/a:b\n", CGROUP_V1, "/a:b"},
        {"4:cpu,cpuacct:/a\n", -1, NULL},
        {"4:memoryless:/a\n", -1, NULL},
        {"1:name=systemd:/a\n", -1, NULL},
        {"1:name=memory:/a\n", -1, NULL},
        {"1::/a\n", -1, NULL},
        {"0::\n", -1, NULL},
        {"0:memory", -1, NULL},
        {"\n", -1, NULL},
        {"", -1, NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        enum CgroupKind kind = CGROUP_KINDS;
        char group[PATH_MAX];
        assert_int_equal(cgroup_parse_group(cases[i].line, &kind, group), cases[i].kind >= 0);
        if (cases[i].kind < 0)
            continue;
        assert_int_equal(kind, cases[i].kind);
        assert_string_equal(group, cases[i].group);
    }
}

TEST(group__too_long)
{
    enum CgroupKind kind;
    char line[2 * PATH_MAX], group[PATH_MAX];
    memset(line, 'x', sizeof line);
    memcpy(line, "0::/", 4);
    line[4 + PATH_MAX - 1] = '\0';
    assert_false(cgroup_parse_group(line, &kind, group));
    line[4 + PATH_MAX - 2] = '\0';
    assert_true(cgroup_parse_group(line, &kind, group));
}

TEST(mount__lines)
{
    static const struct {
        const char *line;
        int kind; /* -1: no such hierarchy */
        const char *root, *point;
    } cases[] = {
        {"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
         CGROUP_V2, "/", "/sys/fs/cgroup"},
        {"30 23 0:26 / /sys/fs/cgroup rw - cgroup2 none rw", CGROUP_V2, "/", "/sys/fs/cgroup"},
        {"38 32 0:33 /docker/ab /sys/fs/cgroup/memory ro master:1 more:2 - cgroup cgroup "
         "rw,memory\n",
         CGROUP_V1, "/docker/ab", "/sys/fs/cgroup/memory"},
        {"38 32 0:33 / /my\\040groups\\134x rw - cgroup cgroup rw,cpu,memory,pids\n", CGROUP_V1,
         "/", "/my groups\\x"},
        {"38 32 0:33 / /x\\04 rw - cgroup2 none rw\n", CGROUP_V2, "/", "/x\\04"},
        {"38 32 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n", -1, NULL, NULL},
        {"38 32 0:33 / /sys/fs/cgroup/cpu rw - cgroup memory rw,cpu\n", -1, NULL, NULL},
        {"38 32 0:33 / /tmp rw - tmpfs memory rw,memory\n", -1, NULL, NULL},
        {"38 32 0:33 / /cgroup2 rw - ext4 cgroup2 rw\n", -1, NULL, NULL},
        {"38 32 0:33 /\n", -1, NULL, NULL},
        {"38 32 - cgroup2 none rw\n", -1, NULL, NULL},
        {"38 32 0:33 / /x rw - cgroup\n", -1, NULL, NULL},
        {" - \n", -1, NULL, NULL},
        {"", -1, NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CgroupMount m;
        assert_int_equal(cgroup_parse_mount(cases[i].line, &m), cases[i].kind >= 0);
        if (cases[i].kind < 0)
            continue;
        assert_int_equal(m.kind, cases[i].kind);
        assert_string_equal(m.root, cases[i].root);
        assert_string_equal(m.point, cases[i].point);
    }
}

TEST(limit__text)
{
    assert_int_equal(cgroup_parse_limit("4096\n"), 4096);
    assert_int_equal(cgroup_parse_limit("0"), 0);
    assert_int_equal(cgroup_parse_limit("9223372036854771712\n"), 9223372036854771712u);
    static const char *const none[] = {
        "max\n", "", "\n", "-1\n", "12x\n", " 12\n", "99999999999999999999\n"};
    for (size_t i = 0; i < ARRAY_SIZE(none); i++)
        assert_int_equal(cgroup_parse_limit(none[i]), UINT64_MAX);
}

/* ---- whole systems -------------------------------------------------------------------------- */

#define V2_MOUNT "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n"
#define V1_MOUNT "38 32 0:33 / /cg/memory rw - cgroup cgroup rw,memory\n"
enum { FILES_MAX = 5 };

static const struct System {
    const char *name, *group, *mounts;
    const char *files[FILES_MAX][2]; /* path, content */
    uint64_t limit;
    const char *file; /* that sets it */
    uint64_t left;    /* 0 also where no file tells what is used */
} systems[] = {
    {.name = "nothing to read", .limit = UINT64_MAX, .file = ""},
    {"no limit", "0::/a/b\n", V2_MOUNT, {{"/cg/a/b/memory.max", "max\n"}}, UINT64_MAX, ""},
    {"no such file", "0::/a/b\n", V2_MOUNT, {{"/cg/other/memory.max", "5\n"}}, UINT64_MAX, ""},
    {"its own",
     "0::/a/b\n",
     V2_MOUNT,
     {{"/cg/a/b/memory.max", "1000\n"}, {"/cg/a/memory.max", "2000\n"}},
     1000,
     "/cg/a/b/memory.max"},
    {"one above",
     "0::/a/b/c\n",
     V2_MOUNT,
     {{"/cg/a/b/c/memory.max", "max\n"},
      {"/cg/a/b/memory.max", "4000\n"},
      {"/cg/a/memory.max", "3000\n"},
      {"/cg/ab/memory.max", "1\n"}},
     3000,
     "/cg/a/memory.max"},
    {"one above has less left",
     "0::/a/b\n",
     V2_MOUNT,
     {{"/cg/a/b/memory.max", "1000\n"},
      {"/cg/a/b/memory.current", "100\n"},
      {"/cg/a/memory.max", "4000\n"},
      {"/cg/a/memory.current", "3700\n"}},
     1000,
     "/cg/a/b/memory.max",
     300},
    {"one above has more left",
     "0::/a/b\n",
     V2_MOUNT,
     {{"/cg/a/b/memory.max", "1000\n"},
      {"/cg/a/b/memory.current", "900\n"},
      {"/cg/a/memory.max", "4000\n"},
      {"/cg/a/memory.current", "1000\n"}},
     1000,
     "/cg/a/b/memory.max",
     100},
    {"is slowed down before",
     "0::/a\n",
     V2_MOUNT,
     {{"/cg/a/memory.max", "1000\n"},
      {"/cg/a/memory.high", "500\n"},
      {"/cg/a/memory.current", "100\n"}},
     500,
     "/cg/a/memory.high",
     400},
    {"is slowed down alone",
     "0::/a\n",
     V2_MOUNT,
     {{"/cg/a/memory.max", "max\n"}, {"/cg/a/memory.high", "500\n"}},
     500,
     "/cg/a/memory.high"},
    {"version 1 tells what is used",
     "4:memory:/a\n",
     V1_MOUNT,
     {{"/cg/memory/a/memory.limit_in_bytes", "600\n"},
      {"/cg/memory/a/memory.usage_in_bytes", "599\n"}},
     600,
     "/cg/memory/a/memory.limit_in_bytes",
     1},
    {"the mounted one", "0::/\n", V2_MOUNT, {{"/cg/memory.max", "700\n"}}, 700, "/cg/memory.max"},
    {"version 1",
     "5:cpu:/x\n4:memory:/a\n0::/\n",
     V1_MOUNT,
     {{"/cg/memory/a/memory.limit_in_bytes", "600\n"},
      {"/cg/memory/memory.limit_in_bytes", "9223372036854771712\n"},
      {"/cg/memory/x/memory.limit_in_bytes", "1\n"}},
     600,
     "/cg/memory/a/memory.limit_in_bytes"},
    {"both versions",
     "4:memory:/a\n0::/a\n",
     "1 1 0:1 / / rw - ext4 /dev/x rw\n" V1_MOUNT V2_MOUNT,
     {{"/cg/memory/a/memory.limit_in_bytes", "600\n"}, {"/cg/a/memory.max", "500\n"}},
     500,
     "/cg/a/memory.max"},
    {"a container with the host's names",
     "4:memory:/docker/ab/x\n",
     "38 32 0:33 /docker/ab /cg rw - cgroup cgroup rw,memory\n",
     {{"/cg/x/memory.limit_in_bytes", "800\n"},
      {"/cg/memory.limit_in_bytes", "900\n"},
      {"/cg/docker/ab/x/memory.limit_in_bytes", "1\n"}},
     800,
     "/cg/x/memory.limit_in_bytes"},
    {"a group without a name here",
     "0::/../other\n",
     V2_MOUNT,
     {{"/cg/memory.max", "900\n"}, {"/other/memory.max", "1\n"}},
     900,
     "/cg/memory.max"},
    {"a name that only begins like the mounted one's",
     "0::/abc\n",
     "30 23 0:26 /ab /cg rw - cgroup2 none rw\n",
     {{"/cg/memory.max", "900\n"}, {"/cg/c/memory.max", "1\n"}, {"/cgc/memory.max", "1\n"}},
     900,
     "/cg/memory.max"},
};

static char dir[128];

/* The file and the directories on the way to it. */
static void put(const char *path, const char *text)
{
    char name[512];
    (void)snprintf(name, sizeof name, "%s%s", dir, path);
    for (char *p = name + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        assert_true(mkdir(name, 0700) == 0 || errno == EEXIST);
        *p = '/';
    }
    FILE *f = fopen(name, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int set_up(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(dir, sizeof dir, "%s/dodo-cgroup.XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void limit__of_system(void **state)
{
    const struct System *s = *state;
    MemoryLimit limit;
    if (s->group)
        put("/proc/self/cgroup", s->group);
    if (s->mounts)
        put("/proc/self/mountinfo", s->mounts);
    for (unsigned i = 0; i < FILES_MAX && s->files[i][0]; i++)
        put(s->files[i][0], s->files[i][1]);
    memory_limit(dir, &limit);
    if (limit.bytes != s->limit || strcmp(limit.file, s->file) != 0)
        fail_msg("%s: %llu by \"%s\"", s->name, (unsigned long long)limit.bytes, limit.file);
    uint64_t left = limit.bytes == UINT64_MAX ? UINT64_MAX : s->left;
    if (limit.left_bytes != left)
        fail_msg("%s: %llu are left", s->name, (unsigned long long)limit.left_bytes);
}

/* This host's own, whatever it is: a limit has a file that says so. */
TEST(limit__of_this_host)
{
    MemoryLimit limit;
    memory_limit("", &limit);
    assert_int_equal(limit.file[0] == '/', limit.bytes != UINT64_MAX);
    if (limit.file[0])
        assert_int_equal(access(limit.file, R_OK), 0);
}

/* ---- the pool ------------------------------------------------------------------------------- */

static int checked(uint64_t pool, uint64_t limit_bytes, char error[512])
{
    const MemoryLimit limit = {.bytes = limit_bytes, .file = "/cg/a/memory.max"};
    *error = '\0';
    return pool_memory_check(pool, UINT64_MAX, &limit, error, 512);
}

/* imd needs a part of it for itself: filled, a pool of all of it would end imd. */
TEST(pool__leaves_room_for_imd)
{
    char error[512];
    const uint64_t mib = 1 << 20;
    assert_int_equal(checked(60 * mib, 64 * mib, error), 0);
    assert_string_equal(error, "");
    assert_int_equal(checked(60 * mib + 1, 64 * mib, error), -ENOMEM);
    assert_int_equal(checked(64 * mib, 64 * mib, error), -ENOMEM);
    /* A group that rmd makes is larger by the most that is left, whatever the pool. */
    for (uint64_t pool = mib; pool < (uint64_t)1 << 44; pool *= 2)
        assert_int_equal(checked(pool, pool + 512 * mib, error), 0);
}

TEST(pool__more_than_the_limit)
{
    char error[512] = "";
    MemoryLimit limit = {.bytes = (uint64_t)1 << 30, .file = "/cg/a/memory.max"};
    assert_int_equal(pool_memory_check((uint64_t)1 << 30, UINT64_MAX, &limit, error, sizeof error),
                     -ENOMEM);
    assert_string_equal(error,
                        "a pool of 1 GiB is more than imd's control group leaves it: 960 MiB, of "
                        "its limit of 1 GiB; choose a smaller --pool or raise the limit in "
                        "/cg/a/memory.max");
    limit.bytes = UINT64_MAX;
    assert_int_equal(pool_memory_check(4097, 4096, &limit, error, sizeof error), -ENOMEM);
    assert_non_null(strstr(error, "more than this host has"));
}

int main(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(systems); i++)
        case_add(__LINE__, (struct CMUnitTest){systems[i].name, limit__of_system, set_up, tear_down,
                                               (void *)(uintptr_t)&systems[i]});
    return cases_run(NULL, NULL);
}
