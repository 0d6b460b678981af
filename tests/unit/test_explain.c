/* SPDX-License-Identifier: MIT */
/* dodo explain, the program, against a monitor that the test plays. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "proto/conf/defaults.h"
#include "proto/request.h"
#include "rmd/pages.h"
#include "tests/lib/case.h"
#include "usocket/port.h"

enum { OUTPUT_MAX = 2 * EXPLAIN_MAX, PATIENCE_NS_STEP = 5 * 1000000 };
#define PATIENCE_NS (200 * NS_PER_S)

extern char **environ;
static const char *dodo_path;

typedef struct Rmd {
    Port port;
    char text[EXPLAIN_MAX + 1];
    uint16_t status;    /* of each answer */
    unsigned asked;     /* pages so far */
    unsigned change_at; /* the text is another from this page on; 0: never */
    uint32_t version;
    char output[OUTPUT_MAX];
    int exit_status;
} Rmd;

/* ---- the monitor ---------------------------------------------------------------------------- */

static PagesText page_text(void *ctx, bool first)
{
    Rmd *r = ctx;
    (void)first;
    if (++r->asked == r->change_at) {
        r->text[0] = 'X'; /* as long as before */
        r->version++;
    }
    return (PagesText){.text = r->text, .len = strlen(r->text), .version = r->version};
}

static void answer(Rmd *r, Session *s, const WireRequest *q)
{
    uint8_t body[WIRE_BODY_MAX], out[WIRE_PAYLOAD_MAX];
    WireReply reply = {.id = q->id, .op = q->op, .status = r->status, .body = body};
    uint16_t status;
    assert_int_equal(q->op, OP_EXPLAIN);
    const size_t len = pages_answer(q, page_text, r, body, &status);
    assert_int_equal(status, STATUS_OK);
    if (r->status == STATUS_OK)
        reply.body_len = len;
    port_message(&r->port, s, WIRE_REPLY, out, wire_reply_encode(&reply, out));
}

static void on_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
    WireRequest q;
    assert_int_equal(s->peer_role, ROLE_TOOL);
    if (type == WIRE_REQUEST && wire_request_decode(payload, len, &q) == 0)
        answer(ctx, s, &q);
}

static const PortOps port_ops = {.message = on_message};

static int set_up(void **state)
{
    Rmd *r = calloc(1, sizeof *r);
    const Addr any = {.kind = ADDR_IP4, .host = {127, 0, 0, 1}};
    EndpointConfig config = {.cluster = cluster_number(DEFAULT_CLUSTER),
                             .role = ROLE_RMD,
                             .self = {{7}},
                             .sessions_max = 8,
                             .half_open_max = 8,
                             .hello_retry_ns = NS_PER_S};
    const PortConfig port = {.endpoint = &config, .env = os_env()};
    Transport *t;
    assert_non_null(r);
    assert_int_equal(transport_udp_open(&any, NULL, &t), 0);
    assert_int_equal(port_open(&r->port, t, &port, &port_ops, r), 0);
    *state = r;
    return 0;
}

static int tear_down(void **state)
{
    Rmd *r = *state;
    port_close(&r->port);
    free(r);
    return 0;
}

/* ---- the tool ------------------------------------------------------------------------------- */

static pid_t start(const char *const *argv, int *ret_out)
{
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t pid;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, ends[1], 1), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, ends[1], 2), 0);
    assert_int_equal(posix_spawn(&pid, dodo_path, &actions, NULL, (char *const *)argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    *ret_out = ends[0];
    return pid;
}

/* Serves until the tool has ended; what it printed is less than a pipe holds. */
static void explain(Rmd *r, const char *host)
{
    const char *const argv[] = {"dodo", "explain", "--timeout", "150s", host, NULL};
    uint64_t until = os_now_ns() + PATIENCE_NS;
    int out, status;
    size_t len = 0;
    ssize_t n;
    pid_t pid = start(argv, &out);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        assert_true(os_now_ns() < until);
        if (transport_wait(r->port.transport, PATIENCE_NS_STEP) == 1)
            (void)port_receive(&r->port, os_now_ns());
    }
    while ((n = read(out, r->output + len, sizeof r->output - 1 - len)) > 0)
        len += (size_t)n;
    r->output[len] = '\0';
    (void)close(out);
    assert_true(WIFEXITED(status));
    r->exit_status = WEXITSTATUS(status);
}

static void explain_this(Rmd *r)
{
    char host[ADDR_TEXT_MAX];
    explain(r, addr_format(&r->port.transport->local, host, sizeof host));
}

static void text_of(Rmd *r, size_t len)
{
    for (size_t i = 0; i < len; i++)
        r->text[i] = i % 60 == 59 ? '\n' : (char)('a' + i * 7 / 60 % 26);
    r->text[len] = '\0';
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

/* ---- tests ---------------------------------------------------------------------------------- */

CASE(explain__prints_what_the_monitor_says)
{
    static const size_t lens[] = {
        0, 1, 60, EXPLAIN_PAGE_MAX - 4, EXPLAIN_PAGE_MAX, EXPLAIN_PAGE_MAX + 1, EXPLAIN_MAX};
    Rmd *r = *state;
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        text_of(r, lens[i]);
        explain_this(r);
        assert_int_equal(r->exit_status, 0);
        size_t shown = strlen(r->output);
        if (shown > lens[i]) { /* a last line is ended */
            assert_int_equal(r->output[--shown], '\n');
            r->output[shown] = '\0';
        }
        assert_string_equal(r->output, r->text);
    }
}

CASE(explain__a_text_that_changes_is_fetched_again)
{
    Rmd *r = *state;
    text_of(r, 3 * EXPLAIN_PAGE_MAX / 60 * 60); /* whole lines */
    r->change_at = 3;
    explain_this(r);
    assert_int_equal(r->exit_status, 0);
    assert_string_equal(r->output, r->text);
    assert_true(r->asked > 4);
}

CASE(explain__a_terminal_is_not_moved)
{
    Rmd *r = *state;
    (void)strcpy(r->text, "idle\033[2J\a\ttab caf\xc3\xa9 \xc2\x9b\xff\n");
    explain_this(r);
    assert_string_equal(r->output, "idle?[2J?\ttab caf\xc3\xa9 ???\n");
}

CASE(explain__another_daemon)
{
    Rmd *r = *state;
    r->status = STATUS_DENIED;
    explain_this(r);
    assert_int_equal(r->exit_status, 1);
    assert_non_null(strstr(r->output, "that is another daemon, not rmd"));
}

CASE(explain__needs_a_host)
{
    Rmd *r = *state;
    explain(r, "local host");
    assert_int_equal(r->exit_status, 2);
    assert_non_null(strstr(r->output, "which host?"));
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    dodo_path = argv[1];
    return cases_run(NULL, NULL);
}
