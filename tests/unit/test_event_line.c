/* SPDX-License-Identifier: MIT */
/* Lines of dodo events, word for word. */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/case.h"
#include "tools/event_line.h"

static const gint64 NOW_MS = 1700000000000; /* 2023-11-14T22:13:20Z */

static EventEntry lost(void)
{
    EventEntry e = {.number = 7,
                    .age_ms = 20000,
                    .kind = EVENT_HOST_LOST,
                    .id = 0xab,
                    .regions = 3,
                    .reason = {"it was silent for too long"}};
    assert_int_equal(addr_parse("10.0.0.3:7701", 0, &e.address), 0);
    return e;
}

static void assert_line(const EventEntry *e, bool json, const char *wanted)
{
    g_autofree char *line = event_line(e, NOW_MS, json);
    assert_string_equal(line, wanted);
}

TEST(line__for_people)
{
    EventEntry e = lost();
    assert_int_equal(setenv("TZ", "UTC", 1), 0);
    assert_line(&e, false,
                "2023-11-14 22:13:00  host_lost        10.0.0.3:7701          it was silent for "
                "too long (3 regions)\n");
    e.regions = 1;
    assert_line(&e, false,
                "2023-11-14 22:13:00  host_lost        10.0.0.3:7701          it was silent for "
                "too long (1 region)\n");
    e = (EventEntry){.number = 1, .kind = EVENT_MANAGER_STARTED, .reason = {"it has"}};
    assert_line(&e, false, "2023-11-14 22:13:20  manager_started  -                      it has\n");
}

TEST(line__of_json)
{
    EventEntry e = lost();
    assert_line(&e, true,
                "{\"number\":7,\"time\":\"2023-11-14T22:13:00Z\",\"age_ms\":20000,"
                "\"kind\":\"host_lost\",\"address\":\"10.0.0.3:7701\",\"id\":\"00000000000000ab\","
                "\"regions\":3,\"reason\":\"it was silent for too long\"}\n");
    e.reason = (Reason){"\"}<"};
    e.address = (Addr){.kind = ADDR_NONE};
    g_autofree char *line = event_line(&e, NOW_MS, true);
    assert_non_null(strstr(line, "\"address\":\"\","));
    assert_non_null(strstr(line, "\"reason\":\"\\u0022}\\u003c\"}\n"));
}

/* All as long as it can be, and older than time is. */
TEST(line__of_the_largest)
{
    EventEntry e = lost();
    e.number = e.age_ms = e.id = e.regions = UINT64_MAX;
    e.address.kind = ADDR_IP6;
    memset(e.address.host, 0xfe, sizeof e.address.host);
    e.address.scope = UINT32_MAX;
    memset(e.reason.text, '"', REASON_MAX);
    g_autofree char *json = event_line(&e, NOW_MS, true), *text = event_line(&e, NOW_MS, false);
    assert_true(g_str_has_suffix(json, "\\u0022\"}\n"));
    assert_non_null(strstr(json, "\"time\":\"1970-01-01T00:00:00Z\""));
    assert_true(g_str_has_suffix(text, "(18446744073709551615 regions)\n"));
}
