/* SPDX-License-Identifier: MIT */
/* dodo check, the program, against a manager with more hosts than are asked at once. The test plays
 * the manager, and one imd, which is all of the hosts. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"
#include "base/os.h"
#include "proto/conf/defaults.h"
#include "tests/lib/case.h"
#include "usocket/port.h"

enum { OUTPUT_MAX = 4096, STEP_NS = 1000000, HOSTS = 600 };
#define PATIENCE_NS (200 * NS_PER_S)

extern char **environ;
static const char *dodo_path;

typedef struct Played {
    Port manager, imd;
    uint64_t hosts;
} Played;

/* ---- the cluster ----------------------------------------------------------------------------- */

static void on_request(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
    Played *p = ctx;
    WireRequest q;
    OpStatus ask;
    OpStatusReply page = {.clients = 1};
    uint8_t body[WIRE_BODY_MAX], out[WIRE_PAYLOAD_MAX];
    if (type != WIRE_REQUEST || wire_request_decode(payload, len, &q) != 0)
        return;
    assert_int_equal(q.op, OP_STATUS);
    assert_int_equal(wire_status_decode(q.body, q.body_len, &ask), 0);
    for (uint64_t i = ask.cursor; i < p->hosts && page.count < STATUS_HOSTS_MAX; i++)
        page.hosts[page.count++] = (HostStatus){.address = p->imd.transport->local};
    page.next = ask.cursor + page.count < p->hosts ? ask.cursor + page.count : 0;
    WireReply reply = {.id = q.id, .op = q.op, .body = body};
    reply.body_len = wire_status_reply_encode(&page, body);
    port_message(&p->manager, s, WIRE_REPLY, out, wire_reply_encode(&reply, out));
}

static void on_nothing(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len,
                       uint64_t now_ns)
{
}

static const PortOps manager_ops = {.message = on_request}, imd_ops = {.message = on_nothing};

static void play(Port *p, uint8_t role, const PortOps *ops, Played *ctx)
{
    const Addr any = {.kind = ADDR_IP4, .host = {127, 0, 0, 1}};
    EndpointConfig config = {.cluster = cluster_number(DEFAULT_CLUSTER),
                             .role = role,
                             .self = {{role}},
                             .sessions_max = 8,
                             .half_open_max = 8,
                             .hello_retry_ns = NS_PER_S};
    const PortConfig port = {.endpoint = &config, .env = os_env()};
    Transport *t;
    assert_int_equal(transport_udp_open(&any, NULL, &t), 0);
    assert_int_equal(port_open(p, t, &port, ops, ctx), 0);
}

/* ---- the tool -------------------------------------------------------------------------------- */

static pid_t start(const Addr *manager, int *ret_out)
{
    char address[ADDR_TEXT_MAX];
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t pid;
    (void)addr_format(manager, address, sizeof address);
    const char *const argv[] = {"dodo", "check",     "--config", "/dev/null", "--timeout",
                                "150s", "--manager", address,    NULL};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, ends[1], 1), 0);
    assert_int_equal(posix_spawn(&pid, dodo_path, &actions, NULL, (char *const *)argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    *ret_out = ends[0];
    return pid;
}

/* Serves until the tool has ended; what it prints is less than a pipe holds. Its status. */
static int check(Played *p, char output[OUTPUT_MAX])
{
    uint64_t until = os_now_ns() + PATIENCE_NS;
    int out, status;
    size_t len = 0;
    ssize_t n;
    pid_t pid = start(&p->manager.transport->local, &out);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        assert_true(os_now_ns() < until);
        if (transport_wait(p->manager.transport, STEP_NS) == 1)
            (void)port_receive(&p->manager, os_now_ns());
        (void)port_receive(&p->imd, os_now_ns());
    }
    while ((n = read(out, output + len, OUTPUT_MAX - 1 - len)) > 0)
        len += (size_t)n;
    output[len] = '\0';
    (void)close(out);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(hosts__are_more_than_are_asked_at_once)
{
    char output[OUTPUT_MAX];
    Played p = {.hosts = HOSTS};
    play(&p.manager, ROLE_CMD, &manager_ops, &p);
    play(&p.imd, ROLE_IMD, &imd_ops, &p);
    int status = check(&p, output);
    if (status != 0 || !strstr(output, "hosts    ok      600 known, all in order\n"))
        fail_msg("%d: %s", status, output);
    port_close(&p.manager);
    port_close(&p.imd);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    dodo_path = argv[1];
    return cases_run(NULL, NULL);
}
