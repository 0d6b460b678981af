/* SPDX-License-Identifier: MIT */
/* What a client logs of its life: each event gives one line, however many calls find out about it,
 * and however many regions it costs. */
#include "libdodo/client.h"
#include "libdodo/loss.h"
#include "libdodo/run.h"
#include "libdodo/story.h"
#include "tests/lib/case.h"
#include "tests/unit/client_fixture.h"

#include <stdio.h>

enum { LINES_MAX = 256, LINE_MAX_BYTES = 600 };

static char lines[LINES_MAX][LINE_MAX_BYTES];
static int levels[LINES_MAX];
static unsigned lines_count;
static int wanted; /* the highest level that anybody reads */

static void on_line(void *ctx, int level, const char *text)
{
    (void)ctx;
    assert_true(lines_count < LINES_MAX);
    assert_true(level <= wanted);
    levels[lines_count] = level;
    (void)snprintf(lines[lines_count++], LINE_MAX_BYTES, "%s", text);
}

static bool log_wanted(void *ctx, int level)
{
    (void)ctx;
    return level <= wanted;
}

static int story_set_up(void **state)
{
    int result = set_up(state);
    lines_count = 0;
    wanted = DODO_LOG_INFO;
    w.client->hooks.log = on_line;
    w.client->hooks.log_wanted = log_wanted;
    return result;
}

/* The lines of this event. */
static unsigned logged(const char *event)
{
    unsigned n = 0;
    size_t len = strlen(event);
    for (unsigned i = 0; i < lines_count; i++)
        n += strncmp(lines[i], event, len) == 0 && (lines[i][len] == ' ' || !lines[i][len]);
    return n;
}

/* The only line of this event; it is of this level and has this in it. */
static void assert_logged_once(const char *event, int level, const char *part)
{
    size_t len = strlen(event);
    assert_int_equal(logged(event), 1);
    for (unsigned i = 0; i < lines_count; i++) {
        if (strncmp(lines[i], event, len) != 0 || lines[i][len] != ' ')
            continue;
        assert_int_equal(levels[i], level);
        if (!strstr(lines[i], part))
            fail_msg("no %s in: %s", part, lines[i]);
    }
}

static void assert_no_worse_than_info(void)
{
    for (unsigned i = 0; i < lines_count; i++)
        if (levels[i] < DODO_LOG_INFO)
            fail_msg("%s", lines[i]);
}

#define STORY_TEST(name) TEST_WITH(name, story_set_up, tear_down)

STORY_TEST(story__of_a_healthy_run)
{
    int rd = open_at(100000, 8192, 0);
    assert_reads_file(rd, 8192, 0, 100000);
    settle();
    for (unsigned i = 0; i < 1000; i++)
        assert_reads_file(rd, 8192, 0, 100);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(lines_count, 3);
    assert_no_worse_than_info();
    assert_logged_once("manager_found", DODO_LOG_INFO, " after_ms=");
    assert_logged_once("region_opened", DODO_LOG_INFO, " offset=8192 bytes=100000 memory=new");
    assert_logged_once(
        "region_closed", DODO_LOG_INFO,
        " remote_bytes=100000 file_bytes=100000 written_bytes=0 memory=freed result=ok");
}

/* Not a line is made that nobody reads. */
STORY_TEST(story__is_silent_where_nobody_reads)
{
    wanted = DODO_LOG_WARN;
    assert_int_equal(close_rd(open_at(100000, 0, 0)), 0);
    assert_int_equal(lines_count, 0);
}

/* The program has closed it: so what was still being filled is gone, and that is no loss. */
STORY_TEST(story__fills_that_a_close_overtakes)
{
    static uint8_t buf[50000];
    Call call;
    int rd = open_at(100000, 0, DODO_FALLBACK);
    assert_reads_file(rd, 0, 0, 50000);
    settle();
    assert_int_equal(read_at(rd, 50000, buf, 50000), 50000);
    channel_step(w.channels[0], w.now);
    assert_int_equal(calls_on(w.channels[0]), 1); /* a fill is under way */
    call_close_start(&call, w.channels[1], rd, w.now);
    channel_step(w.channels[1], w.now);
    imd_data_drop(w.data, w.cmd.last.region); /* as the manager asks of the host */
    assert_int_equal(done(&call), 0);
    settle();
    assert_int_equal(logged("region_lost"), 0);
    assert_logged_once("region_closed", DODO_LOG_INFO, " memory=freed result=ok");
    assert_int_equal(stats().regions_lost, 0);
}

STORY_TEST(story__why_regions_are_not_retained_is_said_once)
{
    w.disk.lease = LEASE_REFUSED;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(close_rd(open_at(8192, i * 8192, DODO_RETAIN)), 0);
    assert_logged_once("region_not_retained", DODO_LOG_WARN, " reason=");
}

STORY_TEST(manager__lost_and_back_are_logged_once)
{
    int rd = open_at(8192, 0, 0);
    w.cmd.dead = true;
    run_until(w.now + 100 * NS_PER_S); /* keep-alives go unanswered */
    assert_logged_once("manager_lost", DODO_LOG_WARN, " silent_ms=");
    w.cmd.dead = false;
    run_until(w.now + 100 * NS_PER_S);
    assert_logged_once("manager_back", DODO_LOG_INFO, " after_ms=");
    assert_int_equal(logged("manager_found"), 1);
    assert_int_equal(close_rd(rd), 0);
}

/* Nobody knows what becomes of the memory. */
STORY_TEST(manager__that_is_gone_at_the_end)
{
    int rd = open_at(8192, 0, 0);
    w.cmd.dead = true;
    assert_int_equal(close_rd(rd), -1);
    assert_logged_once("region_closed", DODO_LOG_INFO,
                       " memory=unknown result=\"the manager does not answer\"");
}

STORY_TEST(manager__that_never_answers_is_logged_once)
{
    w.cmd.dead = true;
    assert_int_equal(open_at(8192, 0, 0), -1);
    assert_logged_once("manager_lost", DODO_LOG_WARN, " reason=");
    assert_logged_once("region_refused", DODO_LOG_WARN, " errno=ENOMEM reason=");
    assert_int_equal(logged("manager_found"), 0);
}

STORY_TEST(refusal__is_logged_once_a_refraction_period)
{
    w.cmd.open_status = STATUS_NO_MEMORY;
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(open_at(8192, 0, 0), -1);
    assert_logged_once("region_refused", DODO_LOG_WARN, " fix=");
}

STORY_TEST(fallback__without_memory_is_opened_on_its_file)
{
    w.cmd.open_status = STATUS_NO_MEMORY;
    int rd = open_at(8192, 0, DODO_FALLBACK);
    assert_logged_once("region_opened", DODO_LOG_INFO, " memory=none reason=");
    w.cmd.open_status = STATUS_OK;
    run_until(w.now + 30 * NS_PER_S);
    assert_logged_once("region_back", DODO_LOG_INFO, " host=");
    assert_int_equal(close_rd(rd), 0);
}

STORY_TEST(host__that_is_gone_is_one_line)
{
    uint8_t byte;
    int rd = open_at(8192, 0, 0), other = open_at(8192, 8192, DODO_FALLBACK);
    char part[128];
    w.net.imd_dead = true;
    w.cmd.open_status = STATUS_NO_MEMORY;
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(read_at(rd, 0, &byte, 1), -1);
        assert_int_equal(read_at(other, 0, &byte, 1), 1);
    }
    (void)snprintf(part, sizeof part,
                   " reason=\"no answer\" regions=2 rds=%d,%d reads_file=1 reads_enomem=1", rd,
                   other);
    assert_logged_once("host_lost", DODO_LOG_WARN, part);
    assert_int_equal(logged("region_lost"), 0);
    w.cmd.open_status = STATUS_OK;
    w.net.imd_dead = false;
    run_until(w.now + 100 * NS_PER_S);
    assert_int_equal(logged("region_back"), 1);
}

/* How many regions the lines of this event are about. */
static unsigned regions_logged(const char *event)
{
    unsigned n = 0;
    size_t len = strlen(event);
    for (unsigned i = 0; i < lines_count; i++) {
        if (strncmp(lines[i], event, len) != 0)
            continue;
        const char *many = strstr(lines[i], " regions=");
        n += many ? (unsigned)strtoul(many + strlen(" regions="), NULL, 10) : 1;
    }
    return n;
}

enum { MANY = 1000 };

static void open_many(int rds[MANY], unsigned flags)
{
    for (unsigned i = 0; i < MANY; i++) {
        rds[i] = open_at(4096, (uint64_t)i % 256 * 4096, flags);
        lines_count = 0;
    }
}

/* The regions come back one by one: the first is named, those of each period are counted. */
STORY_TEST(host__of_many_regions_writes_few_lines)
{
    int rds[MANY];
    uint8_t byte;
    open_many(rds, DODO_FALLBACK);
    w.net.imd_dead = true;
    assert_int_equal(read_at(rds[0], 0, &byte, 1), 1);
    assert_logged_once("host_lost", DODO_LOG_WARN, " regions=1000 ");
    assert_logged_once("host_lost", DODO_LOG_WARN, ",... reads_file=1000 reads_enomem=0");
    assert_int_equal(lines_count, 1);
    for (unsigned i = 0; i < MANY; i++)
        imd_data_drop(w.data, i + 1);
    w.net.imd_dead = false;
    w.pool_used = 0;
    run_until(w.now + 3600 * NS_PER_S);
    assert_int_equal(stats().active, MANY);
    assert_int_equal(regions_logged("region_back"), MANY);
    if (logged("region_back") > 10)
        fail_msg("%u lines", logged("region_back"));
}

STORY_TEST(regions__that_are_dropped_one_by_one_are_counted)
{
    int rds[MANY];
    uint8_t byte;
    open_many(rds, 0);
    for (unsigned i = 0; i < MANY; i++)
        imd_data_drop(w.data, i + 1);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(read_at(rds[i], 0, &byte, 1), -1);
    run_until(w.now + 20 * NS_PER_S);
    assert_int_equal(regions_logged("region_lost"), MANY);
    assert_int_equal(logged("region_lost"), 2);
    if (!strstr(lines[1], "regions=999 ") || levels[1] != DODO_LOG_WARN)
        fail_msg("%s", lines[1]);
}

/* One that is counted alone is named. */
STORY_TEST(regions__the_second_of_two_is_named)
{
    uint8_t byte;
    char part[32];
    int rd = open_at(4096, 0, 0), other = open_at(4096, 4096, 0);
    imd_data_drop(w.data, 1);
    imd_data_drop(w.data, 2);
    assert_int_equal(read_at(rd, 0, &byte, 1), -1);
    assert_int_equal(read_at(other, 0, &byte, 1), -1);
    assert_int_equal(logged("region_lost"), 1);
    run_until(w.now + 20 * NS_PER_S);
    assert_int_equal(logged("region_lost"), 2);
    (void)snprintf(part, sizeof part, "region_lost rd=%d host=", other);
    assert_ptr_equal(strstr(lines[lines_count - 1], part), lines[lines_count - 1]);
}

/* More kinds at once than there are counters: nothing is left out. */
STORY_TEST(regions__of_more_hosts_than_counters_are_all_logged)
{
    enum { HOSTS = 3 * STORY_SUMS_MAX, EACH = 3 };
    for (unsigned i = 0; i < HOSTS * EACH; i++) {
        StoryLoss l = {.loss = LOSS_DROPPED, .host = addr_sim((uint16_t)(100 + i / EACH), 1)};
        story_region_lost(w.client, &l, w.now + i);
    }
    run_until(w.now + 20 * NS_PER_S);
    assert_int_equal(regions_logged("region_lost"), HOSTS * EACH);
}

/* ---- why ------------------------------------------------------------------------------------ */

STORY_TEST(loss__is_named_by_its_cause)
{
    assert_int_equal(loss_of(RUN_TIMED_OUT, STATUS_GONE), LOSS_SILENT);
    assert_int_equal(loss_of(RUN_HOST_CHANGED, STATUS_GONE), LOSS_RESTARTED);
    assert_int_equal(loss_of(RUN_REFUSED, STATUS_EPOCH), LOSS_RESTARTED);
    assert_int_equal(loss_of(RUN_REFUSED, STATUS_LEAVING), LOSS_LEAVING);
    assert_int_equal(loss_of(RUN_REFUSED, STATUS_BUSY), LOSS_SLOW);
    assert_int_equal(loss_of(RUN_REFUSED, STATUS_GONE), LOSS_DROPPED);
    assert_int_equal(loss_of(RUN_REFUSED, STATUS_DENIED), LOSS_REFUSED);
}

STORY_TEST(loss__with_a_host_that_was_restarted)
{
    uint8_t byte;
    int rd = open_at(8192, 0, 0);
    imd_stop();
    imd_start(78);
    assert_int_equal(read_at(rd, 0, &byte, 1), -1);
    assert_logged_once("host_lost", DODO_LOG_WARN, " reason=\"restarted\" ");
}

STORY_TEST(loss__with_a_host_that_leaves)
{
    uint8_t byte;
    int rd = open_at(8192, 0, 0);
    imd_data_leave(w.data);
    assert_int_equal(read_at(rd, 0, &byte, 1), -1);
    assert_logged_once("host_lost", DODO_LOG_WARN, " reason=\"leaving: its owner is back");
}

/* Whatever a read is refused with, the region is lost, and once. */
STORY_TEST(loss__by_each_status_of_a_read)
{
    static const uint16_t statuses[] = {STATUS_GONE,    STATUS_EPOCH,  STATUS_STALE,
                                        STATUS_INVALID, STATUS_DENIED, STATUS_LEAVING,
                                        STATUS_PROTOCOL};
    uint8_t byte;
    for (unsigned i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        int rd = open_at(4096, i * 4096, 0);
        w.net.refuse = statuses[i];
        assert_int_equal(read_at(rd, 0, &byte, 1), -1);
        assert_false(info(rd).active);
        assert_int_equal(stats().regions_lost, i + 1);
        w.net.refuse = 0;
    }
    run_until(w.now + 20 * NS_PER_S);
    assert_int_equal(regions_logged("region_lost") + logged("host_lost"),
                     sizeof statuses / sizeof *statuses);
}

/* It is lost once, also when others notice; and what follows is the work of the background. */
STORY_TEST(host__is_lost_once_if_it_held_something)
{
    ClientRegionInfo i = info(open_at(8192, 0, 0));
    (void)open_at(8192, 8192, 0);
    unsigned wakes = w.background_wakes;
    client_host_lost(w.client, i.address.epoch + 1, LOSS_SILENT, w.now);
    assert_int_equal(w.background_wakes, wakes);
    assert_int_equal(logged("host_lost"), 0);
    client_host_lost(w.client, i.address.epoch, LOSS_SILENT, w.now);
    assert_true(w.background_wakes > wakes);
    wakes = w.background_wakes;
    client_host_lost(w.client, i.address.epoch, LOSS_SILENT, w.now);
    assert_logged_once("host_lost", DODO_LOG_WARN, " regions=2 ");
    assert_int_equal(w.background_wakes, wakes);
    assert_int_equal(stats().hosts_lost, 1);
    assert_int_equal(stats().regions_lost, 2);
}

/* What one fault has logged keeps no other silent. */
STORY_TEST(refusal__is_news_once_a_refraction_period)
{
    static const char why[] = "no host has room";
    const uint64_t period_ns = w.client->config.refraction_ns;
    story_refused(w.client, 1, 0, 4096, ENOMEM, why, w.now);
    assert_int_equal(logged("region_refused"), 1);
    story_refused(w.client, 1, 0, 4096, ENOMEM, why, w.now + period_ns - 1);
    assert_int_equal(logged("region_refused"), 1);
    story_refused(w.client, 1, 0, 4096, ENOMEM, why, w.now + period_ns);
    assert_int_equal(logged("region_refused"), 2);
}

/* Another thread has closed the region meanwhile: the manager hears of its host all the same. */
STORY_TEST(host__of_a_closed_region_is_reported)
{
    (void)open_at(8192, 8192, 0);
    int rd = open_at(8192, 0, 0);
    const ClientRegionInfo i = info(rd);
    assert_int_equal(close_rd(rd), 0);
    client_region_corrupt(w.client, rd, &i.address, w.now);
    run_until(w.now + 10 * NS_PER_S);
    assert_int_equal(w.heard.reports, 1);
    assert_int_equal(logged("host_corrupt"), 0); /* of no region that anybody has */
}

STORY_TEST(region__is_opened_at_a_host)
{
    char text[ADDR_TEXT_MAX], part[2 * ADDR_TEXT_MAX];
    const ClientRegionInfo i = info(open_at(8192, 0, 0));
    (void)snprintf(part, sizeof part, " memory=new hosts=%s",
                   addr_format(&i.named, text, sizeof text));
    assert_logged_once("region_opened", DODO_LOG_INFO, part);
}

STORY_TEST(host__that_is_lost_and_was_corrupt_is_two_lines)
{
    int rd = open_at(8192, 0, 0);
    ClientRegionInfo i = info(rd);
    client_host_lost(w.client, i.address.epoch, LOSS_SILENT, w.now);
    client_region_corrupt(w.client, rd, &i.address, w.now);
    assert_logged_once("host_lost", DODO_LOG_WARN, " regions=1 ");
    assert_logged_once("host_corrupt", DODO_LOG_WARN, " fix=");
    assert_int_equal(logged("region_lost"), 0);
}

STORY_TEST(region__that_its_host_drops_is_logged_once)
{
    uint8_t byte;
    int rd = open_at(8192, 0, 0);
    imd_data_drop(w.data, w.cmd.last.region);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(read_at(rd, 0, &byte, 1), -1);
    assert_logged_once("region_lost", DODO_LOG_WARN,
                       " reason=\"dropped by its host\" reads=ENOMEM");
    assert_int_equal(logged("host_lost"), 0);
}

STORY_TEST(host__that_is_slow_is_logged_once)
{
    int rd = open_at(8192, 0, DODO_FALLBACK), other = open_at(8192, 8192, DODO_FALLBACK);
    ClientRegionInfo first = info(rd), second = info(other);
    client_region_slow(w.client, rd, &first.address, w.now);
    client_region_slow(w.client, rd, &first.address, w.now);
    client_region_slow(w.client, other, &second.address, w.now);
    assert_logged_once("host_slow", DODO_LOG_WARN, " seen=");
    assert_logged_once("region_lost", DODO_LOG_INFO, " reason=\"too slow\" reads=file");
    run_until(w.now + 20 * NS_PER_S);
    assert_int_equal(logged("host_slow"), 1);
    assert_int_equal(logged("region_lost"), 2);
    assert_int_equal(logged("host_lost"), 0);
    rd = open_at(8192, 16384, 0); /* the host may be chosen again; if it is as slow, that is news */
    first = info(rd);
    client_region_slow(w.client, rd, &first.address, w.now);
    assert_int_equal(logged("host_slow"), 2);
}

STORY_TEST(host__that_returns_other_bytes_is_logged_once)
{
    int rd = open_at(8192, 0, 0);
    ClientRegionInfo i = info(rd);
    client_region_corrupt(w.client, rd, &i.address, w.now);
    client_region_corrupt(w.client, rd, &i.address, w.now);
    assert_logged_once("host_corrupt", DODO_LOG_WARN, " fix=");
    assert_logged_once("region_lost", DODO_LOG_WARN, " reads=ENOMEM");
    assert_int_equal(stats().corrupt, 2);
}

/* Lines of one host do not stand for another's. */
STORY_TEST(regions__of_two_hosts_are_two_lines)
{
    for (unsigned i = 0; i < 4; i++) {
        const StoryLoss l = {.loss = LOSS_DROPPED,
                             .host = addr_sim(50 + i % 2, 1),
                             .regions = 1,
                             .rds = {(int)i},
                             .stripe = -1};
        story_region_lost(w.client, &l, w.now);
    }
    assert_int_equal(logged("region_lost"), 2);
    run_until(w.now + 20 * NS_PER_S);
    assert_int_equal(regions_logged("region_lost"), 4);
}

/* The user's descriptor is named, and which stripe of it. */
STORY_TEST(stripes__are_logged_as_their_region)
{
    int rd = open_at(3 * STRIPE_BYTES, 0, DODO_STRIPE | DODO_FALLBACK);
    ClientRegionInfo i;
    char host[ADDR_TEXT_MAX], part[2 * ADDR_TEXT_MAX];
    assert_int_equal(client_stripe_info(w.client, rd, 1, &i), 0);
    (void)snprintf(part, sizeof part, " hosts=%s stripes=3",
                   addr_format(&i.named, host, sizeof host));
    assert_logged_once("region_opened", DODO_LOG_INFO, part); /* it has them all */
    client_region_lost(w.client, rd + 2, &i.address, LOSS_DROPPED, w.now);
    (void)snprintf(part, sizeof part, "region_lost rd=%d stripe=1 ", rd);
    assert_logged_once("region_lost", DODO_LOG_INFO, part);
    client_host_lost(w.client, i.address.epoch, LOSS_SILENT, w.now);
    (void)snprintf(part, sizeof part, " regions=1 rds=%d reads_file=1 ", rd);
    assert_logged_once("host_lost", DODO_LOG_WARN, part);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(logged("region_closed"), 1);
}

/* Their memory is given up one by one, and then the line is written. */
STORY_TEST(stripes__are_closed_with_what_becomes_of_their_memory)
{
    int rd = open_at(3 * STRIPE_BYTES, 0, DODO_STRIPE | DODO_RETAIN);
    assert_reads_file(rd, 0, 0, 3 * STRIPE_BYTES);
    assert_int_equal(close_rd(rd), 0);
    assert_int_equal(w.heard.releases, 3);
    assert_logged_once("region_closed", DODO_LOG_INFO, " memory=retained result=ok");
    lines_count = 0;
    assert_int_equal(close_rd(open_at(3 * STRIPE_BYTES, 0, DODO_STRIPE)), 0);
    assert_logged_once("region_closed", DODO_LOG_INFO, " memory=freed result=ok");
}

STORY_TEST(stripes__that_lost_all_their_memory_are_closed_with_none)
{
    ClientRegionInfo i;
    int rd = open_at(2 * STRIPE_BYTES, 0, DODO_STRIPE | DODO_FALLBACK);
    for (unsigned stripe = 0; stripe < 2; stripe++) {
        assert_int_equal(client_stripe_info(w.client, rd, stripe, &i), 0);
        client_region_lost(w.client, rd + 1 + (int)stripe, &i.address, LOSS_DROPPED, w.now);
    }
    assert_int_equal(close_rd(rd), 0);
    assert_logged_once("region_closed", DODO_LOG_INFO, " memory=none result=ok");
}

/* Asked again and again, it has been silent since it was asked first. */
STORY_TEST(manager__is_silent_since_it_was_asked)
{
    const Addr manager = addr_sim(1, 7700);
    for (unsigned i = 0; i < 2; i++) {
        lines_count = 0;
        story_manager_asked(w.client, w.now);
        story_manager_asked(w.client, w.now + 5 * NS_PER_S);
        story_manager_silent(w.client, &manager, w.now + 7 * NS_PER_S);
        assert_logged_once("manager_lost", DODO_LOG_WARN, " silent_ms=7000");
        story_manager_heard(w.client, &manager, w.now + 9 * NS_PER_S);
        assert_logged_once("manager_back", DODO_LOG_INFO, " after_ms=9000");
        w.now += 20 * NS_PER_S;
    }
}

/* The end of the process is no loss. */
STORY_TEST(stop__is_no_loss)
{
    (void)open_at(8192, 0, 0);
    client_stop(w.client, w.now);
    assert_int_equal(logged("region_lost"), 0);
    assert_no_worse_than_info();
}
