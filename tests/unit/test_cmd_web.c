/* SPDX-License-Identifier: MIT */
/* What the manager's page reads: bounded, page by page, and sound whatever peers say. */
#include <stdio.h>

#include "cmd/web.h"
#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture.h"

enum { KIB = 1 << 10, MANY = 2 * WEB_HOSTS_MAX + 100 };
static char text[WEB_ROOM + 1];

/* ---- a reader of JSON, which only counts ------------------------------------------------------
 */

static const char *skip_string(const char *p)
{
    assert_int_equal(*p++, '"');
    for (; *p != '"'; p++) {
        assert_true(*p >= ' ' && *p <= '~' && !strchr("<>&'", *p));
        if (*p == '\\' && *++p == 'u')
            p += 4;
    }
    return p + 1;
}

/* A value, up to its end; all of the text is one. */
static const char *skip_value(const char *p)
{
    if (*p == '"')
        return skip_string(p);
    if (*p != '{' && *p != '[')
        return p + strspn(p, "0123456789abcdefghijklmnopqrstuvwxyz");
    const char end = *p == '{' ? '}' : ']';
    for (p++; *p != end;) {
        if (end == '}') {
            p = skip_string(p);
            assert_int_equal(*p++, ':');
        }
        const char *value = p;
        p = skip_value(p);
        assert_true(p > value);
        assert_true(*p == end || (*p == ',' && p[1] != end));
        p += *p == ',';
    }
    return p + 1;
}

static void assert_is_json(size_t len)
{
    assert_int_equal(strlen(text), len);
    assert_true(len > 0 && *text == '{');
    assert_string_equal(skip_value(text), "\n");
}

static unsigned count_of(const char *words)
{
    unsigned count = 0;
    for (const char *p = text; (p = strstr(p, words)) != NULL; p++)
        count++;
    return count;
}

static uint64_t next_cursor(void)
{
    const char *p = strstr(text, "\"next\":\"");
    assert_non_null(p);
    return strtoull(p + strlen("\"next\":\""), NULL, 10);
}

static void status(Rig *rig, uint64_t cursor)
{
    assert_is_json(web_status(rig->m, cursor, text, WEB_ROOM));
}

static void events(Rig *rig, uint64_t after)
{
    assert_is_json(web_events(rig->m, after, text, WEB_ROOM));
}

/* ---- peers ------------------------------------------------------------------------------------
 */

static void owner_says(Rig *rig, unsigned n, enum HostOwner state, const char *reason)
{
    Session s = {
        .peer = {.kind = ADDR_IP4, .port = 7702, .host = {10, 9, (uint8_t)(n >> 8), (uint8_t)n}},
        .peer_id = {{0xDD, (uint8_t)(n >> 8), (uint8_t)n}},
        .peer_role = ROLE_RMD,
        .up = true};
    Numbers ids;
    OpHost op = {.state = (uint8_t)state, .lendable_bytes = 5};
    uint8_t body[WIRE_BODY_MAX];
    numbers_init(&ids, 1);
    (void)snprintf(op.reason.text, sizeof op.reason.text, "%s", reason);
    (void)rig_request(rig, &s, &ids, OP_HOST, body, wire_host_encode(&op, body));
}

/* ---- status -----------------------------------------------------------------------------------
 */

TEST(status__of_nobody)
{
    Rig *rig = rig_new();
    status(rig, 0);
    assert_non_null(strstr(text, "\"hosts\":[],\"clients\":[],\"next\":\"0\"}"));
    assert_non_null(strstr(text, "\"instance\":\"0000000000000001\""));
    rig_free(rig);
}

TEST(status__has_what_a_host_has)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    char address[ADDR_TEXT_MAX], wanted[512];
    assert_int_equal(client_open(rig, c, &open, NULL), STATUS_OK);
    (void)imd_beat(rig, imd);
    rig_pump(rig);
    status(rig, 0);
    (void)snprintf(wanted, sizeof wanted,
                   "{\"address\":\"%s\",\"state\":\"idle\",\"reason\":\"\",\"epoch\":\"%016llx\","
                   "\"pool_bytes\":65536,\"free_bytes\":61440,\"largest_free_bytes\":61440,"
                   "\"regions\":1,\"read_bytes\":11,\"write_bytes\":22,\"fill_bytes\":33,"
                   "\"reads\":44,\"reads_unfilled\":4,\"set_aside\":false,\"draining\":false}",
                   addr_format(&imd->session.peer, address, sizeof address),
                   (unsigned long long)imd->session.peer_epoch);
    assert_non_null(strstr(text, wanted));
    assert_non_null(strstr(text, "\"clients\":1,\"opens\":1,\"opens_failed\":0"));
    assert_non_null(strstr(text, "\"regions\":1,\"bytes\":4096,\"heard_ms\":0}"));

    const OpReport report = {.epoch = imd->session.peer_epoch, .fault = HOST_FAULT_SLOW};
    uint8_t body[WIRE_BODY_MAX];
    (void)client_request(rig, c, OP_REPORT, body, wire_report_encode(&report, body));
    status(rig, 0);
    assert_int_equal(count_of("\"set_aside\":true"), 1);
    rig_free(rig);
}

TEST(status__counts_hosts_by_state)
{
    Rig *rig = rig_new();
    for (unsigned i = 0; i < 6; i++)
        (void)imd_up(rig, 64 * KIB);
    rig->imds[4]->dead = rig->imds[5]->dead = true;
    rig_live(rig, 16);
    imd_part(rig, rig->imds[0]);
    status(rig, 0);
    assert_int_equal(count_of("\"idle\":3,\"silent\":2,\"leaving\":1,"), 1);
    rig_free(rig);
}

TEST(status__of_who_does_not_lend)
{
    Rig *rig = rig_new();
    (void)imd_up(rig, 64 * KIB);
    owner_says(rig, 1, HOST_OWNER_BUSY, "\"><script>alert(1)</script>\\");
    owner_says(rig, 2, HOST_OWNER_IDLE, "");
    status(rig, 0);
    assert_int_equal(count_of("\"address\":"), 2);
    assert_non_null(strstr(text, "{\"address\":\"10.9.0.1:7702\",\"state\":\"busy\",\"reason\":"
                                 "\"\\u0022\\u003e\\u003cscript\\u003ealert(1)\\u003c/script\\u003e"
                                 "\\u005c\",\"lendable_bytes\":5}"));
    assert_non_null(strstr(text, "\"monitors\":2,\"busy\":1"));
    rig_free(rig);
}

/* Hosts and busy owners, all of them, each once, however many: and never more than has room. */
TEST(status__of_many_goes_on)
{
    ManagerConfig config = rig_config();
    char longest[REASON_MAX + 1];
    unsigned seen = 0, pages = 0;
    uint64_t cursor = 0;
    config.hosts_max = 2 * MANY;
    Rig *rig = rig_new_with(config, 1);
    memset(longest, '"', REASON_MAX);
    longest[REASON_MAX] = '\0';
    for (unsigned i = 0; i < IMDS_MAX; i++)
        (void)imd_up(rig, 64 * KIB);
    for (unsigned i = 0; i < MANY; i++)
        owner_says(rig, i, HOST_OWNER_BUSY, longest);
    do {
        status(rig, cursor);
        unsigned count = count_of("\"address\":");
        assert_true(count > 0 && count <= WEB_HOSTS_MAX);
        assert_int_equal(count_of("\"clients\":["), cursor == 0);
        seen += count;
        pages++;
        cursor = next_cursor();
    } while (cursor != 0);
    assert_int_equal(seen, IMDS_MAX + MANY);
    assert_int_equal(pages, (IMDS_MAX + MANY + WEB_HOSTS_MAX - 1) / WEB_HOSTS_MAX);
    status(rig, UINT64_MAX);
    assert_int_equal(count_of("\"address\":"), 0);
    rig_free(rig);
}

static void program(Rig *rig, unsigned n)
{
    Session s = {.peer = addr_sim(5, 5),
                 .peer_role = ROLE_CLIENT,
                 .peer_id = {{0xCC, (uint8_t)(n >> 8), (uint8_t)n}},
                 .up = true};
    Numbers ids;
    const OpAlive op = {.regions = 0};
    uint8_t body[WIRE_BODY_MAX];
    numbers_init(&ids, 1);
    (void)rig_request(rig, &s, &ids, OP_ALIVE, body, wire_alive_encode(&op, body));
}

TEST(status__lists_programs_up_to_so_many)
{
    ManagerConfig config = rig_config();
    config.clients_max = WEB_CLIENTS_MAX + 1;
    Rig *rig = rig_new_with(config, 1);
    for (unsigned i = 0; i < WEB_CLIENTS_MAX; i++)
        program(rig, i);
    status(rig, 0);
    assert_int_equal(count_of("\"heard_ms\":"), WEB_CLIENTS_MAX);
    program(rig, WEB_CLIENTS_MAX);
    status(rig, 0);
    assert_int_equal(count_of("\"heard_ms\":"), 0);
    assert_int_equal(count_of("\"clients\":["), 0);
    rig_free(rig);
}

/* It is remembered for a while. */
TEST(status__lists_no_program_that_left)
{
    Rig *rig = rig_new();
    (void)imd_up(rig, 64 * KIB);
    FakeClient *gone = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    assert_int_equal(client_open(rig, gone, &open, NULL), STATUS_OK);
    assert_int_equal(client_open(rig, client_new(rig), &open, NULL), STATUS_OK);
    (void)client_request(rig, gone, OP_LEAVE, NULL, 0);
    rig_pump(rig);
    status(rig, 0);
    assert_int_equal(count_of("\"heard_ms\":"), 1);
    assert_int_equal(count_of("\"clients\":1,"), 1);
    rig_free(rig);
}

/* ---- events -----------------------------------------------------------------------------------
 */

TEST(events__go_on_where_the_last_ended)
{
    Rig *rig = rig_new();
    const Addr from = {.kind = ADDR_IP4, .port = 1, .host = {10, 0, 0, 66}};
    for (unsigned i = 0; i < 2 * WEB_EVENTS_MAX; i++)
        manager_stranger(rig->m, &from, "7 <datagrams>", rig->now_ns);
    events(rig, 0);
    assert_int_equal(count_of("\"number\":"), WEB_EVENTS_MAX);
    assert_non_null(strstr(text, "\"last\":513,\"events\":[{\"number\":2,\"age_ms\":0,"
                                 "\"kind\":\"stranger\",\"address\":\"10.0.0.66:1\",\"id\":"
                                 "\"0000000000000000\",\"regions\":0,"
                                 "\"reason\":\"7 \\u003cdatagrams\\u003e\"},"));
    events(rig, 512);
    assert_int_equal(count_of("\"number\":"), 1);
    events(rig, 513);
    assert_non_null(strstr(text, "\"events\":[]}"));
    rig_free(rig);
}

/* ---- room -------------------------------------------------------------------------------------
 */

TEST(room__is_kept_or_there_is_nothing)
{
    Rig *rig = rig_new();
    (void)imd_up(rig, 64 * KIB);
    owner_says(rig, 1, HOST_OWNER_BUSY, "\"");
    const size_t len = web_status(rig->m, 0, text, WEB_ROOM);
    for (size_t cap = 0; cap <= len + 1; cap++) {
        memset(text, '#', len + 2);
        assert_int_equal(web_status(rig->m, 0, text, cap), cap > len ? len : 0);
        assert_int_equal(text[cap], '#');
    }
    rig_free(rig);
}
