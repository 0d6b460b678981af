/* SPDX-License-Identifier: MIT */
/* What a port tells becomes one line of the log, with what helps to fix it. */
#include <errno.h>

#include "daemon/log.h"
#include "daemon/port_log.h"
#include "tests/lib/case.h"
#include "tests/lib/stderr_text.h"

/* Whether @e becomes one line and no other, with @words. */
static bool line_has(const PortEvent *e, const char *words)
{
    StderrText s = stderr_catch();
    port_log(NULL, e);
    unsigned all;
    return stderr_lines_of(&s, words, &all) == 1 && all == 1;
}

TEST(event__each_is_a_line)
{
    log_init("test", LOG_LEVEL_INFO);
    const Addr a = addr_sim(3, 7);
    assert_true(line_has(&(PortEvent){.kind = PORT_SEND_FAILED, .error = EBADF},
                         "error test: send_failed error=\"Bad file descriptor\"\n"));
    assert_true(line_has(&(PortEvent){.kind = PORT_RECEIVE_FAILED, .error = EBADF},
                         "error test: receive_failed error=\"Bad file descriptor\"\n"));
    assert_true(line_has(&(PortEvent){.kind = PORT_CUT_OFF, .error = ENETUNREACH, .address = a},
                         "warn test: cut_off local=sim3:7 error=\"Network is unreachable\" fix="));
    assert_true(line_has(&(PortEvent){.kind = PORT_REACHES_AGAIN, .address = a},
                         "info test: reaches_others_again local=sim3:7\n"));
    assert_true(line_has(&(PortEvent){.kind = PORT_VERSION, .version = 99, .datagrams = 4},
                         "warn test: version_mismatch theirs=99 ours="));
    assert_true(line_has(&(PortEvent){.kind = PORT_CLUSTER, .datagrams = 4},
                         "warn test: other_cluster datagrams=4 fix="));
    assert_true(line_has(&(PortEvent){.kind = PORT_DENIED, .datagrams = 4, .address = a},
                         "warn test: not_authentic datagrams=4 last_from=sim3:7 fix="));
    assert_true(line_has(&(PortEvent){.kind = PORT_LIMITED, .datagrams = 4, .address = a},
                         "warn test: sessions_limited datagrams=4 last_from=sim3:7 fix="));
}
