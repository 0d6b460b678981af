/* SPDX-License-Identifier: MIT */
/* What dodo check says of each thing that can be wrong, and of a host that is in order. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "tests/lib/addr_of.h"
#include "tests/lib/case.h"
#include "tools/check_judge.h"

typedef struct Said {
    char text[8192];
    size_t len;
} Said;

static void on_line(void *ctx, const char *what, enum CheckState state, const char *text)
{
    Said *s = ctx;
    s->len += (size_t)snprintf(s->text + s->len, sizeof s->text - s->len, "%s %s %s\n", what,
                               check_state_text(state), text);
    assert_true(s->len < sizeof s->text);
}

static CheckHost hosts[] = {
    {.state = HOST_IDLE, .answers = true, .role = ROLE_IMD},
    {.state = HOST_BUSY, .answers = true, .role = ROLE_RMD},
};
static CheckFacts f;
static Said said;

/* A host where all is well. */
static void well(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(hosts); i++)
        hosts[i].address = addr_of("10.0.0.2:7701");
    f = (CheckFacts){
        .config = "/etc/dodo/dodo.conf",
        .config_found = true,
        .key = {.path = "/etc/dodo/key",
                .mode = 0640,
                .owner = "root:dodo",
                .count = 1,
                .prints = {0xabc, 0xdef}},
        .manager = {.address = addr_of("10.0.0.1:7700"),
                    .asked = true,
                    .hello_ns = 300 * NS_PER_US,
                    .uptime_ms = 60999,
                    .sealed = true},
        .hosts = hosts,
        .hosts_count = ARRAY_SIZE(hosts),
        .limits = {.pool_bytes = 4ull << 30,
                   .memlock_bytes = UINT64_MAX,
                   .receive_bytes = 4 << 20,
                   .receive_group = "client",
                   .receive_max_bytes = 4 << 20},
    };
}

static unsigned judge(void)
{
    said = (Said){.len = 0};
    return check_judge(&f, on_line, &said);
}

/* One fault, and in it this text. */
static void assert_fault(const char *line)
{
    unsigned faults = judge();
    if (faults != 1 || !strstr(said.text, line))
        fail_msg("%u faults, not \"%s\":\n%s", faults, line, said.text);
}

static void assert_no_fault(const char *line)
{
    unsigned faults = judge();
    if (faults != 0 || !strstr(said.text, line))
        fail_msg("%u faults, not \"%s\":\n%s", faults, line, said.text);
}

TEST(all__is_well)
{
    well();
    assert_int_equal(judge(), 0);
    assert_string_equal(said.text,
                        "config ok /etc/dodo/dodo.conf\n"
                        "key ok /etc/dodo/key: mode 0640, root:dodo, fingerprint 00000abc\n"
                        "manager ok 10.0.0.1:7700 answers in 300us, with the same key, up 1min\n"
                        "hosts ok 2 known, all in order\n"
                        "memlock ok a pool of 4 GiB can be locked\n"
                        "buffers ok sockets get the 4 MiB that they ask for\n");
}

TEST(config__is_read)
{
    well();
    f.config_found = false;
    assert_no_fault("config ok /etc/dodo/dodo.conf is not there: ");
    (void)strcpy(f.config_error, "/etc/dodo/dodo.conf:3: unknown key");
    assert_fault("config fault /etc/dodo/dodo.conf:3: unknown key\n");
    assert_non_null(strstr(said.text, "key ok /etc/dodo/key: "));
    assert_non_null(strstr(said.text, "manager ok 10.0.0.1:7700 answers in "));
}

/* It is no fault: another program may have another file. */
TEST(config__doubts_are_notes)
{
    well();
    (void)strcpy(f.config_doubt, "/etc/dodo/dodo.conf:3: one must be at most the other");
    assert_no_fault(
        "config note /etc/dodo/dodo.conf:3: one must be at most the other; correct it, ");
}

/* What may come after the fault is not said to be missing. */
TEST(config__is_read_up_to_its_fault)
{
    well();
    (void)strcpy(f.config_error, "/etc/dodo/dodo.conf:3: unknown key");
    f.key = (CheckKey){.path = NULL};
    f.manager = (CheckManager){.address = {.kind = ADDR_NONE}};
    assert_fault("config fault /etc/dodo/dodo.conf:3: unknown key\n");
    assert_non_null(strstr(said.text, "key unknown not known: the configuration is at fault\n"));
    assert_non_null(strstr(said.text, "manager unknown not known: the configuration is at"));
    assert_non_null(strstr(said.text, "hosts unknown not known without a manager\n"));
}

TEST(key__is_private_and_there)
{
    well();
    f.key.count = 2;
    assert_no_fault("fingerprint 00000abc, and 00000def, which is being replaced\n");
    (void)strcpy(f.key.error, "/etc/dodo/key: readable by others; run chmod o-rwx /etc/dodo/key");
    f.manager.asked = false;
    assert_fault("key fault /etc/dodo/key: readable by others; run chmod");
    assert_non_null(strstr(said.text, "manager unknown not asked"));
    assert_non_null(strstr(said.text, "hosts unknown not known without a manager"));
}

TEST(key__is_not_needed_on_this_host)
{
    well();
    f.key = (CheckKey){.path = NULL};
    f.manager.asked = false;
    assert_fault("key fault none, and the manager is not on this host: copy");
    f.key.insecure = f.manager.asked = true;
    f.manager.sealed = false;
    assert_no_fault("key note none (insecure): everyone");
    assert_non_null(strstr(said.text, "answers in 300us, unsealed, up"));
    f.key.insecure = false;
    f.manager.address = addr_of("127.0.0.1:7700");
    assert_no_fault("key ok none; ");
}

TEST(manager__answers)
{
    well();
    (void)strcpy(f.manager.error, "10.0.0.1:7700 does not answer within 5s: is");
    assert_fault("manager fault 10.0.0.1:7700 does not answer within 5s: is");
    assert_non_null(strstr(said.text, "hosts unknown"));
    well();
    *f.manager.error = '\0';
    f.manager.standby = true;
    assert_fault("manager fault 10.0.0.1:7700 stands by, and no other");
    f.manager = (CheckManager){.address = {.kind = ADDR_NONE}};
    assert_fault("manager fault none is set: write [dodo] manager");
    assert_non_null(strstr(said.text, "hosts unknown"));
}

/* Each way that is cut has its own line. */
TEST(hosts__answer_both)
{
    static const struct {
        uint8_t state;
        bool answers;
        uint8_t role;
        const char *line;
    } cases[] = {
        {HOST_IDLE, false, 0, "hosts fault 10.0.0.2:7701 answers the manager, but not this host"},
        {HOST_BUSY, false, 0, "hosts fault 10.0.0.2:7701 answers the manager, but not this host"},
        {HOST_SILENT, false, 0, "hosts fault 10.0.0.2:7701 is silent, and does not answer here"},
        {HOST_SILENT, true, ROLE_IMD, "hosts fault 10.0.0.2:7701 answers here, but the manager"},
        {HOST_IDLE, true, ROLE_RMD, "hosts fault 10.0.0.2:7701 is not the daemon that"},
        {HOST_BUSY, true, ROLE_IMD, "hosts fault 10.0.0.2:7701 is not the daemon that"},
    };
    well();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CheckHost one[2] = {hosts[0],
                            {.address = hosts[0].address,
                             .state = cases[i].state,
                             .answers = cases[i].answers,
                             .role = cases[i].role}};
        f.hosts = one;
        f.hosts_count = 2;
        assert_fault(cases[i].line);
        assert_null(strstr(said.text, "hosts ok"));
    }
    f.hosts_count = 0;
    assert_no_fault("hosts note the manager knows none");
}

TEST(limits__fit_what_is_asked)
{
    well();
    f.limits.memlock_bytes = 8 << 20;
    assert_fault("memlock fault an imd that this user starts cannot lock its pool of 4 GiB, only "
                 "8 MiB: ");
    f.limits.pool_bytes = 8 << 20;
    assert_no_fault("memlock ok a pool of 8 MiB can be locked\n");
    f.limits.pool_bytes = f.limits.memlock_bytes = 0;
    assert_no_fault("memlock ok no pool");
    f.limits.receive_max_bytes = 208 << 10;
    assert_no_fault("buffers note [client] receive_buffer is 4 MiB by default, but sockets get "
                    "208 KiB: less data can be under way; run sysctl -w "
                    "net.core.rmem_max=4194304\n");
    f.limits.receive_set = true;
    f.limits.receive_group = "imd";
    assert_fault("buffers fault [imd] receive_buffer is 4 MiB, but sockets get 208 KiB: ");
    f.limits.receive_max_bytes = UINT64_MAX;
    assert_no_fault("buffers unknown");
}

/* Faults add up, and the longest texts are cut, no more. */
TEST(all__is_wrong)
{
    well();
    memset(f.config_error, 'c', sizeof f.config_error - 1);
    memset(f.key.error, 'k', sizeof f.key.error - 1);
    memset(f.manager.error, 'm', sizeof f.manager.error - 1);
    f.limits.memlock_bytes = 0;
    f.limits.receive_max_bytes = 1;
    f.limits.receive_set = true;
    assert_int_equal(judge(), 5);
}
