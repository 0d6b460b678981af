/* SPDX-License-Identifier: MIT */
#include "tools/join_judge.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "tests/lib/addr_of.h"
#include "tests/lib/case.h"

enum { SAID_MAX = 8192 };
#define GIB (1ull << 30)

static struct {
    char text[SAID_MAX];
    size_t len;
} said;
static JoinFacts f;

static void on_line(void *ctx, const char *what, enum CheckState state, const char *text)
{
    (void)ctx;
    said.len += (size_t)snprintf(said.text + said.len, SAID_MAX - said.len, "%s %s %s\n", what,
                                 check_state_text(state), text);
    assert_true(said.len < SAID_MAX);
}

/* A host with an owner where all is well, before its first start. */
static void well(void)
{
    f = (JoinFacts){
        .check = {.config = "/etc/dodo/dodo.conf",
                  .config_found = true,
                  .key = {.path = "/etc/dodo/key",
                          .mode = 0640,
                          .owner = "root:dodo",
                          .count = 1,
                          .prints = {0xabc}},
                  .manager = {.address = addr_of("10.0.0.1:7700"),
                              .asked = true,
                              .hello_ns = 300 * NS_PER_US,
                              .sealed = true},
                  .limits = {.memlock_bytes = UINT64_MAX,
                             .receive_bytes = 4 << 20,
                             .receive_group = "client",
                             .receive_max_bytes = 4 << 20}},
        .manager = "manager",
        .key_path = "/etc/dodo/key",
        .local = addr_of("10.0.0.5"),
        .rmd = true,
        .configured = true,
        .ports = {{"rmd", addr_of("10.0.0.5:7702"), JOIN_PORT_ANSWERED},
                  {"imd", addr_of("10.0.0.5:7701"), JOIN_PORT_ANSWERED}},
        .ports_count = 2,
        .memory_known = true,
        .total_bytes = 16 * GIB,
        .lendable_bytes = 9 * GIB,
        .cap_bytes = UINT64_MAX,
        .least_bytes = 64 << 20,
    };
}

static unsigned judge(void)
{
    said.len = 0;
    return join_judge(&f, on_line, NULL);
}

static void assert_says(unsigned faults, const char *line)
{
    assert_int_equal(judge(), faults);
    if (!strstr(said.text, line))
        fail_msg("not \"%s\" but\n%s", line, said.text);
}

TEST(join__ends_with_what_is_lent)
{
    well();
    assert_int_equal(judge(), 0);
    assert_string_equal(strstr(said.text, "lends "),
                        "lends ok this host lends 9 GiB of its 16 GiB when idle\n");
    f.cap_bytes = 2 * GIB;
    assert_says(0, "lends ok this host lends 2 GiB of its 16 GiB when idle ([rmd] pool)\n");
}

TEST(key__that_is_not_there_is_to_be_copied)
{
    well();
    f.check.key = (CheckKey){.path = NULL};
    f.check.manager.asked = false;
    assert_says(1, "key fault none: copy /etc/dodo/key from the manager's host, over a way that "
                   "nobody can read (scp -p), to the same path; then, as root: chown root:dodo "
                   "/etc/dodo/key && chmod 0640 /etc/dodo/key\n");
    assert_non_null(strstr(said.text, "ports unknown not known without a manager that answers\n"));
}

TEST(key__is_judged_as_dodo_check_does)
{
    well();
    assert_says(0, "key ok /etc/dodo/key: mode 0640, root:dodo, fingerprint 00000abc\n");
    (void)strcpy(f.check.key.error, "/etc/dodo/key: readable by others; run chmod o-rwx");
    f.check.manager.asked = false;
    assert_says(1, "key fault /etc/dodo/key: readable by others");
}

TEST(key__is_not_needed_on_this_host)
{
    well();
    f.check.key = (CheckKey){.path = NULL};
    f.check.manager.address = addr_of("127.0.0.1:7700");
    assert_says(0, "key ok none; ");
}

TEST(address__is_what_the_file_wants_next)
{
    well();
    assert_says(0, "address ok datagrams to the manager leave from 10.0.0.5\n");
    f.configured = false;
    assert_says(
        0, "address note datagrams to the manager leave from 10.0.0.5; no manager is set here: "
           "write [dodo] manager = manager and key = /etc/dodo/key into "
           "/etc/dodo/dodo.conf, then: ");
    f.local = (Addr){.kind = ADDR_NONE};
    assert_says(1, "address fault no way to manager from here: see ip route\n");
}

TEST(ports__each_has_its_line)
{
    static const struct {
        enum JoinPortState state;
        unsigned faults;
        const char *line;
    } rows[] = {
        {JOIN_PORT_ANSWERED, 0, "ports ok UDP 10.0.0.5:7702 (rmd): the manager's answer comes in"},
        {JOIN_PORT_SILENT, 1,
         "ports fault UDP 10.0.0.5:7702 (rmd): the manager answers this host,"},
        {JOIN_PORT_IN_USE, 0, "ports ok UDP 10.0.0.5:7702 (rmd): in use, by the daemon"},
        {JOIN_PORT_NOT_HERE, 1, "ports fault 10.0.0.5:7702 (rmd) is no address of this host"},
        {JOIN_PORT_NOT_BOUND, 1, "ports fault UDP 10.0.0.5:7702 (rmd): this user cannot listen"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        well();
        f.ports[0].state = rows[i].state;
        assert_says(rows[i].faults, rows[i].line);
        assert_non_null(strstr(said.text, "ports ok UDP 10.0.0.5:7701 (imd)"));
    }
}

TEST(manager__that_does_not_answer_is_one_fault)
{
    well();
    (void)strcpy(f.check.manager.error, "10.0.0.1:7700 does not answer within 5s");
    assert_says(1, "manager fault 10.0.0.1:7700 does not answer within 5s\n");
    assert_non_null(strstr(said.text, "ports unknown"));
}

TEST(lends__nothing_is_a_fault)
{
    well();
    f.lendable_bytes = (64 << 20) - 1;
    assert_says(1, "lends fault this host lends nothing, even when idle: of its 16 GiB");
    f.lendable_bytes = 64 << 20;
    assert_says(0, "lends ok this host lends 64 MiB");
    f.cap_bytes = 1 << 20; /* as little as is asked for */
    assert_says(0, "lends ok this host lends 1 MiB");
    f.memory_known = false;
    assert_says(0, "lends unknown /proc/meminfo");
}

TEST(lends__always_without_an_owner)
{
    well();
    f.rmd = false;
    f.imd = true;
    f.check.limits.pool_bytes = 4 * GIB;
    assert_says(0, "lends ok this host lends 4 GiB always, whatever goes on there ([imd] pool)\n");
    f.check.limits.pool_bytes = 32 * GIB;
    assert_says(1, "lends fault [imd] pool is 32 GiB, but this host has 16 GiB: lower it\n");
    f.check.limits.pool_bytes = 0;
    assert_says(1, "lends fault [imd] has settings, but no pool");
}
