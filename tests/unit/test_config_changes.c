/* SPDX-License-Identifier: MIT */
#include "daemon/config_changes.h"

#include <glib.h>
#include <string.h>

#include "base/cleanup.h"
#include "imd/options.h"
#include "tests/lib/case.h"

typedef struct Three {
    ImdOptions before, now, wanted;
} Three;

/* All of them alike. */
static void begin(Three *t)
{
    ImdOptions *const all[] = {&t->before, &t->now, &t->wanted};
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        imd_options_init(all[i]);
        all[i]->common.manager = g_strdup("m:1");
        all[i]->listen.addr = (Addr){.kind = ADDR_IP4, .port = 1};
    }
}

static void end(Three *t)
{
    config_clear(&imd_program, &t->before);
    config_clear(&imd_program, &t->now);
    config_clear(&imd_program, &t->wanted);
}

static void assert_changes(const Three *t, const char *taken, const char *waiting)
{
    ConfigChanges c;
    config_changes(&imd_program, &t->before, &t->now, &t->wanted, &c);
    assert_string_equal(c.taken, taken);
    assert_string_equal(c.waiting, waiting);
}

TEST(changes__none)
{
    Three t;
    begin(&t);
    assert_changes(&t, "", "");
    end(&t);
}

TEST(changes__are_taken_or_wait)
{
    Three t;
    begin(&t);
    t.wanted.rate_bytes = t.now.rate_bytes = 1 << 20;
    t.wanted.beat_ns++;
    g_free(t.wanted.common.manager);
    t.wanted.common.manager = g_strdup("n:1");
    t.wanted.common.log_level = t.now.common.log_level = LOG_LEVEL_DEBUG;
    t.wanted.populate = true;
    t.wanted.listen.addr.port = 2;
    assert_changes(&t, "[imd] rate_bytes, [dodo] log_level",
                   "[dodo] manager, [imd] listen, [imd] populate, [imd] beat");
    end(&t);
}

/* A text that was not there before, or is not there any more. */
TEST(changes__of_texts_that_come_and_go)
{
    Three t;
    begin(&t);
    t.before.common.key = g_strdup("/a");
    t.wanted.common.user = g_strdup("x");
    assert_changes(&t, "[dodo] key", "[daemon] user");
    end(&t);
}

/* Once, though the file has another name too. */
TEST(changes__of_what_is_in_the_key_file)
{
    ConfigChanges c;
    Three t;
    begin(&t);
    config_changes(&imd_program, &t.before, &t.now, &t.wanted, &c);
    config_changes_key(&c);
    assert_string_equal(c.taken, "[dodo] key");
    t.before.common.key = g_strdup("/a");
    t.before.rate_bytes = 1;
    config_changes(&imd_program, &t.before, &t.now, &t.wanted, &c);
    config_changes_key(&c);
    assert_string_equal(c.taken, "[imd] rate_bytes, [dodo] key");
    end(&t);
}

/* What stands on the command line alone. */
TEST(changes__of_what_no_file_has)
{
    Three t;
    begin(&t);
    t.wanted.owner_fd = 7;
    assert_changes(&t, "", "");
    end(&t);
}

TEST(changes__more_than_there_is_room_for)
{
    ConfigChanges c;
    Three t;
    begin(&t);
    memset(&t.wanted.pool_bytes, 1, sizeof t.wanted.pool_bytes);
    t.wanted.threads = t.wanted.nice = t.wanted.data_port = t.wanted.beat_ns = 77;
    t.wanted.manager_dead_ns = t.wanted.retained_age_ns = t.wanted.owner_silence_ns = 77;
    t.wanted.leave_deadline_ns = t.wanted.regions_max = t.wanted.poll_ns = t.wanted.poll_share = 77;
    t.wanted.writes_max = t.wanted.write_age_ns = t.wanted.fills_max = t.wanted.sessions_max = 77;
    t.wanted.receive_bytes = t.wanted.send_bytes = t.wanted.rate_bytes = 77;
    t.wanted.rate_packets = t.wanted.common.hello_retry_ns = 77;
    t.wanted.populate = t.wanted.common.insecure = true;
    t.wanted.metrics.listen.port = 77;
    t.wanted.metrics.token_file = g_strdup("x");
    t.wanted.common.key = g_strdup("x");
    t.wanted.common.user = g_strdup("x");
    config_changes(&imd_program, &t.before, &t.now, &t.wanted, &c);
    assert_true(strlen(c.waiting) < sizeof c.waiting);
    assert_true(g_str_has_suffix(c.waiting, ", ..."));
    end(&t);
}
