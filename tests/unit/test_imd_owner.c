/* SPDX-License-Identifier: MIT */
/* What imd and the owner's monitor say to each other, over a real socket pair. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/places.h"
#include "base/time.h"
#include "daemon/log.h"
#include "imd/owner_socket.h"
#include "tests/lib/case.h"

typedef struct Pair {
    Owner owner;
    int imd, rmd;
    char text[OWNER_TEXT_MAX + 1];
} Pair;

static int set_up(void **state)
{
    Pair *p = calloc(1, sizeof *p);
    int ends[2];
    char error[256] = "";
    log_init("test", LOG_LEVEL_ERROR);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    p->rmd = ends[0];
    assert_int_equal(owner_socket_take(ends[1], error, sizeof error), 0);
    p->imd = ends[1];
    p->owner.on = true;
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    Pair *p = *state;
    (void)close(p->imd);
    if (p->rmd >= 0)
        (void)close(p->rmd);
    free(p);
    return 0;
}

/* What rmd heard next; NULL: nothing. */
static const char *heard(Pair *p)
{
    ssize_t n = recv(p->rmd, p->text, OWNER_TEXT_MAX, MSG_DONTWAIT);
    if (n < 0)
        return NULL;
    p->text[n] = '\0';
    return p->text;
}

static void say(Pair *p, const char *text)
{
    assert_int_equal(send(p->rmd, text, strlen(text), 0), strlen(text));
}

enum { NOTHING = -1, GONE = -2 };
/* What imd hears next: an OwnerEvent; NOTHING for now; GONE. */
static int receive(Pair *p, uint64_t *ret_limit, uint64_t now_ns)
{
    char text[OWNER_TEXT_MAX + 1];
    ssize_t len = owner_socket_receive(p->imd, text);
    if (len <= 0)
        return len == 0 ? GONE : NOTHING;
    return (int)owner_heard(&p->owner, text, (size_t)len, ret_limit, now_ns);
}

/* imd says what is in use, if it is time to. */
static void tell(Pair *p, uint64_t used, uint64_t limit, uint64_t now_ns)
{
    if (now_ns >= owner_deadline(&p->owner, used, limit))
        owner_told(&p->owner, used, limit, owner_socket_used(p->imd, used, limit), now_ns);
}

TEST(parse__reload)
{
    static const char *const wrong[] = {
        "reload",        "reload ",       "reload 2 0",  "reload 2 0 ",
        "reload 4 0 0",  "reload 2 0 0 ", "reload 2  0", "reload 2 0 18446744073709551616",
        "reload -1 0 0", "reload 2 x 0"};
    static const char good[] = "reload 3 1048576 18446744073709551615";
    OwnerReload r;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (owner_parse_reload(wrong[i], strlen(wrong[i]), &r))
            fail_msg("%s", wrong[i]);
    assert_true(owner_parse_reload(good, sizeof good - 1, &r));
    assert_int_equal(r.log_level, LOG_LEVEL_DEBUG);
    assert_int_equal(r.rate_bytes, 1 << 20);
    assert_true(r.rate_packets == UINT64_MAX);
    assert_string_equal(r.manager, "");
    static const char named[] = "reload 2 0 7 manager.example:7700,10.0.0.1";
    assert_true(owner_parse_reload(named, sizeof named - 1, &r));
    assert_int_equal(r.rate_packets, 7);
    assert_string_equal(r.manager, "manager.example:7700,10.0.0.1");
}

TEST(parse__limits)
{
    static const struct {
        const char *text;
        bool good;
        uint64_t bytes;
    } cases[] = {
        {"limit 0", true, 0},
        {"limit 4096", true, 4096},
        {"limit 18446744073709551615", true, UINT64_MAX},
        {"limit 18446744073709551616", false, 0},
        {"limit 99999999999999999999", false, 0},
        {"limit ", false, 0},
        {"limit", false, 0},
        {"limit -1", false, 0},
        {"limit 1 ", false, 0},
        {"limit 1\n", false, 0},
        {"limit 0x10", false, 0},
        {"Limit 1", false, 0},
        {"used 1", false, 0},
        {"", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t n = 77;
        assert_int_equal(owner_parse_limit(cases[i].text, strlen(cases[i].text), &n),
                         cases[i].good);
        assert_int_equal(n, cases[i].good ? cases[i].bytes : 77);
    }
}

TEST(open__wants_a_socket_of_packets)
{
    char error[256];
    int ends[2];
    assert_true(owner_socket_take(-1, error, sizeof error) < 0);
    assert_int_equal(pipe(ends), 0);
    assert_true(owner_socket_take(ends[0], error, sizeof error) < 0);
    assert_non_null(strstr(error, "--owner-fd"));
    (void)close(ends[0]);
    (void)close(ends[1]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_true(owner_socket_take(ends[0], error, sizeof error) < 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

/* All that rmd's configuration may name, and not a byte more. */
CASE(parse__reload_of_many_managers)
{
    static const char words[] = "reload 2 0 0 ";
    enum { FIRST = sizeof words - 1, LONGEST = PLACES_TEXT_MAX - 1 };
    Pair *p = *state;
    uint64_t limit;
    char text[FIRST + LONGEST + 2] = "";
    memcpy(text, words, FIRST);
    memset(text + FIRST, 'm', LONGEST);
    say(p, text);
    assert_int_equal(receive(p, &limit, 1), OWNER_RELOAD);
    assert_string_equal(p->owner.reload.manager, text + FIRST);
    text[FIRST + LONGEST] = 'm';
    say(p, text);
    assert_int_equal(receive(p, &limit, 1), OWNER_UNKNOWN);
}

CASE(ready__is_said)
{
    Pair *p = *state;
    owner_socket_ready(p->imd, 0x1234abcd, 4096);
    assert_string_equal(heard(p), "ready epoch=000000001234abcd pool=4096");
}

CASE(limits__come_in_order_and_hang_up_last)
{
    Pair *p = *state;
    uint64_t limit = 1;
    assert_int_equal(receive(p, &limit, 1), NOTHING);
    say(p, "limit 8192");
    say(p, "what is this");
    say(p, "limit 0");
    assert_int_equal(receive(p, &limit, 1), OWNER_LIMIT);
    assert_int_equal(limit, 8192);
    assert_int_equal(receive(p, &limit, 1), OWNER_UNKNOWN);
    assert_int_equal(receive(p, &limit, 1), OWNER_LIMIT);
    assert_int_equal(limit, 0);
    assert_int_equal(receive(p, &limit, 1), NOTHING);
    say(p, "limit 4");
    (void)close(p->rmd);
    p->rmd = -1;
    assert_int_equal(receive(p, &limit, 1), OWNER_LIMIT);
    assert_int_equal(receive(p, &limit, 1), GONE);
}

/* It is looked at as often as imd has to. */
static bool silent_at(Pair *p, uint64_t at_ns)
{
    const uint64_t silence_ns = 10 * NS_PER_S;
    for (uint64_t due; (due = owner_silent_ns(&p->owner, silence_ns)) < at_ns;)
        if (owner_is_silent(&p->owner, silence_ns, due))
            return true;
    return owner_is_silent(&p->owner, silence_ns, at_ns);
}

CASE(silence__counts_from_the_first_beat_on)
{
    Pair *p = *state;
    uint64_t limit;
    say(p, "limit 8192");
    assert_int_equal(receive(p, &limit, NS_PER_S), OWNER_LIMIT);
    assert_int_equal(owner_silent_ns(&p->owner, 10 * NS_PER_S), TIME_NEVER);
    assert_false(owner_is_silent(&p->owner, 10 * NS_PER_S, 100 * NS_PER_S));
    say(p, "beat");
    assert_int_equal(receive(p, &limit, 2 * NS_PER_S), OWNER_BEAT);
    assert_false(silent_at(p, 5 * NS_PER_S));
    say(p, "limit 4096"); /* anything is a sign of life */
    assert_int_equal(receive(p, &limit, 5 * NS_PER_S), OWNER_LIMIT);
    assert_int_equal(receive(p, &limit, 6 * NS_PER_S), NOTHING);
    assert_false(silent_at(p, 15 * NS_PER_S - 1));
    assert_true(silent_at(p, 15 * NS_PER_S));
}

/* Who stood still, perhaps together with rmd, has not listened. */
CASE(silence__counts_while_imd_itself_runs)
{
    Pair *p = *state;
    uint64_t limit;
    say(p, "beat");
    assert_int_equal(receive(p, &limit, NS_PER_S), OWNER_BEAT);
    assert_false(silent_at(p, 9 * NS_PER_S));
    assert_false(owner_is_silent(&p->owner, 10 * NS_PER_S, 60 * NS_PER_S));
    assert_false(silent_at(p, 70 * NS_PER_S - 1));
    assert_true(silent_at(p, 70 * NS_PER_S));
}

CASE(used__is_reported_once_a_second_while_it_changes)
{
    Pair *p = *state;
    uint64_t now = 50 * NS_PER_S;
    tell(p, 0, 100, now);
    assert_string_equal(heard(p), "used 0 limit 100");
    assert_int_equal(owner_deadline(&p->owner, 0, 100), TIME_NEVER);
    tell(p, 10, 100, now);
    assert_null(heard(p));
    assert_int_equal(owner_deadline(&p->owner, 10, 100), now + NS_PER_S);
    tell(p, 20, 100, now + NS_PER_S);
    assert_string_equal(heard(p), "used 20 limit 100");
    tell(p, 20, 100, now + 9 * NS_PER_S);
    assert_null(heard(p));
}

CASE(used__is_reported_at_once_when_a_limit_is_reached)
{
    Pair *p = *state;
    uint64_t now = 50 * NS_PER_S, limit = 0;
    tell(p, 90, 100, now);
    assert_non_null(heard(p));
    say(p, "limit 40");
    assert_int_equal(receive(p, &limit, 1), OWNER_LIMIT);
    tell(p, 90, limit, now + 1);
    assert_null(heard(p)); /* not yet reached, and told a moment ago */
    assert_true(owner_deadline(&p->owner, 40, limit) <= now);
    tell(p, 40, limit, now + 2);
    assert_string_equal(heard(p), "used 40 limit 40");
    /* The same limit again is answered again. */
    say(p, "limit 40");
    assert_int_equal(receive(p, &limit, 1), OWNER_LIMIT);
    tell(p, 40, limit, now + 3);
    assert_string_equal(heard(p), "used 40 limit 40");
}

/* A report on the way down does not stand for the one that the limit is reached. */
CASE(used__on_the_way_down_is_not_yet_the_limit)
{
    Pair *p = *state;
    uint64_t now = 50 * NS_PER_S, limit = 0;
    tell(p, 90, 100, now);
    assert_non_null(heard(p));
    say(p, "limit 40");
    assert_int_equal(receive(p, &limit, now), OWNER_LIMIT);
    now += NS_PER_S;
    tell(p, 60, limit, now);
    assert_string_equal(heard(p), "used 60 limit 40");
    tell(p, 50, limit, now + 1);
    assert_null(heard(p));
    tell(p, 40, limit, now + 2); /* not a second later */
    assert_string_equal(heard(p), "used 40 limit 40");
}

/* A monitor that has stopped listening costs nothing; one that listens again hears how it is. */
CASE(deaf_monitor__is_informed_again_a_second_later)
{
    Pair *p = *state;
    uint64_t now = 50 * NS_PER_S, limit = 0;
    say(p, "limit 40");
    assert_int_equal(receive(p, &limit, 1), OWNER_LIMIT);
    while (send(p->imd, "x", 1, MSG_DONTWAIT) == 1)
        ;
    tell(p, 40, limit, now);
    assert_int_equal(owner_deadline(&p->owner, 40, limit), now + NS_PER_S);
    tell(p, 40, limit, now + NS_PER_S);
    assert_int_equal(owner_deadline(&p->owner, 40, limit), now + 2 * NS_PER_S);
    while (heard(p))
        ;
    tell(p, 40, limit, now + 2 * NS_PER_S);
    assert_string_equal(heard(p), "used 40 limit 40");
    assert_int_equal(owner_deadline(&p->owner, 40, limit), TIME_NEVER);
}

TEST(none__hears_nothing)
{
    const Owner none = {.beats = true};
    assert_int_equal(owner_deadline(&none, 1, 2), TIME_NEVER);
    assert_int_equal(owner_silent_ns(&none, 1), TIME_NEVER);
}
