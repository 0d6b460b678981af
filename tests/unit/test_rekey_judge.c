/* SPDX-License-Identifier: MIT */
#include "tools/rekey_judge.h"

#include <string.h>

#include "tests/lib/case.h"

static RekeyHost hosts[2];
static RekeyFacts f;

static void begin(enum RekeyStage stage)
{
    for (size_t i = 0; i < G_N_ELEMENTS(hosts); i++)
        hosts[i] = (RekeyHost){
            .address = {.kind = ADDR_IP4, .port = 7700, .host = {10, 0, 0, (uint8_t)(1 + i)}},
            .manager = i == 0,
            .takes_next = true};
    f = (RekeyFacts){.stage = stage,
                     .path = "/k",
                     .old_path = "/k.old",
                     .old_print = 0xa,
                     .new_print = 0xb,
                     .hosts = hosts,
                     .hosts_count = 2};
}

static void assert_says(unsigned behind, const char *want)
{
    g_autoptr(GString) out = g_string_new(NULL);
    assert_int_equal(rekey_judge(&f, out), behind);
    if (!strstr(out->str, want))
        fail_msg("not \"%s\" but\n%s", want, out->str);
}

TEST(begun__waits_for_all)
{
    begin(REKEY_BEGUN);
    hosts[1] = (RekeyHost){.address = hosts[1].address, .takes_old = true};
    assert_says(1, "10.0.0.1:7700            has the next key (the manager)\n"
                   "10.0.0.2:7700            has only the old key: copy");
    assert_says(1, "\n1 of 2 daemons do not have the right keys yet.\n");
    hosts[1].takes_old = false;
    assert_says(1, "10.0.0.2:7700            does not answer\n");
    hosts[1].takes_next = true;
    assert_says(0, "All have the next key, 0000000b. Go on here with: dodo rekey --finish\n");
}

TEST(begun__waits_until_the_manager_knows_all)
{
    begin(REKEY_BEGUN);
    f.known_ms = 15000;
    f.uptime_ms = 14999;
    assert_says(
        1, "\nThe manager has started 14s ago, and may not know all hosts before 15s: ask again "
           "then.\n");
    f.uptime_ms = 15000;
    assert_says(0, "All have the next key, ");
    f.stage = REKEY_FINISHED;
    f.uptime_ms = 1;
    assert_says(1, "may not know all hosts before 15s");
    f.stage = REKEY_IDLE;
    assert_says(0, "No change is under way");
}

TEST(begun__speaks_of_programs)
{
    begin(REKEY_BEGUN);
    f.programs = 3;
    assert_says(0, "Programs are not asked, and there are 3: ");
    begin(REKEY_FINISHED);
    f.programs = 3;
    assert_says(0, "10.0.0.2:7700            has the new key alone\nNobody takes the old key, "
                   "0000000a, any more. Remove it: rm /k.old\n");
}

TEST(finished__old_key_must_be_gone)
{
    begin(REKEY_FINISHED);
    hosts[0].takes_old = true;
    assert_says(1, "10.0.0.1:7700            takes the old key, too: copy the file there");
    hosts[0].takes_next = false;
    assert_says(1, "10.0.0.1:7700            has only the old key: copy");
}

TEST(nobody__is_no_success)
{
    begin(REKEY_BEGUN);
    f.hosts_count = 0;
    assert_says(1, "No daemon is known.\n");
}
