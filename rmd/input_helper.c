/* SPDX-License-Identifier: MIT */
#include "rmd/input_helper.h"

#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"
#include "daemon/helper.h"
#include "daemon/sandbox.h"
#include "daemon/start.h"
#include "rmd/input_watch.h"
#include "rmd/source_report.h"

enum {
    ANSWERS_MAX = 8, /* that are read for one request; older ones may be among them */
    REQUESTS_MAX = 64,
    EXIT_RMD_GONE = 0,
    EXIT_AGAIN = 1,
    AGAIN_FIRST_S = 1,
    AGAIN_MAX_S = 64,
};
static const uint64_t LASTING_NS =
    60 * NS_PER_S; /* who ran so long is not one that fails at once */

/* ---- the process that opens devices ---------------------------------------------------------- */

/* The newest request, of those that wait. 0; -errno: there is no rmd any more. */
static int take_request(int channel, uint32_t *ret_number)
{
    bool any = false;
    for (unsigned i = 0; i < REQUESTS_MAX; i++) {
        uint32_t number;
        ssize_t n = recv(channel, &number, sizeof number, any ? MSG_DONTWAIT : 0);
        if (n == 0)
            return -EPIPE;
        if (n < 0 && errno != EINTR)
            return any ? 0 : -errno;
        if (n != sizeof number)
            continue;
        *ret_number = number;
        any = true;
    }
    return any ? 0 : -EBADMSG;
}

static void confine(const char *path)
{
    const char *const readable[] = {path, NULL};
    char missing[SANDBOX_TEXT_MAX];
    sandbox_enter(SANDBOX_READ | SANDBOX_INPUT | SANDBOX_GROUPS, readable, missing, sizeof missing);
    if (*missing)
        log_event(LOG_LEVEL_INFO, "not_all_confined", "process=input missing=\"%s\"", missing);
}

/* Who asks more often than @every_ns gets what was seen before: it learns no more of when keys are
 * touched than it has to know. */
__attribute__((noreturn)) static void watch_devices(int channel, const char *path,
                                                    uint64_t every_ns)
{
    const bool was_there = access(path, F_OK) == 0;
    uint8_t bytes[INPUT_REPORT_BYTES];
    uint64_t next_ns = 0;
    uint32_t number = 0;
    InputReport report;
    InputWatch *w = input_watch_new(path);
    confine(path);
    while (w && take_request(channel, &number) == 0) {
        uint64_t now = os_now_ns();
        if (!was_there && access(path, F_OK) == 0)
            _exit(EXIT_AGAIN); /* what was not there cannot be opened by who is confined already */
        if (now >= next_ns) {
            input_watch_look(w, now, &report);
            next_ns = time_add(now, every_ns);
        }
        input_report_encode(&report, number, bytes);
        (void)send(channel, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    _exit(w ? EXIT_RMD_GONE : EXIT_AGAIN);
}

/* ---- the process above it -------------------------------------------------------------------- */

/* Nobody has the other end any more. */
static bool channel_is_gone(int channel, unsigned wait_s)
{
    struct pollfd at = {.fd = channel};
    int res = poll(&at, 1, (int)wait_s * 1000);
    return res > 0 && at.revents & (POLLHUP | POLLERR | POLLNVAL);
}

__attribute__((noreturn)) static void keep_watching(int channel, const char *path,
                                                    uint64_t every_ns)
{
    unsigned again_s = AGAIN_FIRST_S;
    for (;;) {
        uint64_t began = os_now_ns();
        int status = 0;
        pid_t pid = helper_copy("rmd-input");
        if (pid == 0)
            watch_devices(channel, path, every_ns);
        if (pid > 0)
            (void)waitpid(pid, &status, 0);
        if (os_now_ns() - began >= LASTING_NS)
            again_s = AGAIN_FIRST_S;
        if (channel_is_gone(channel, again_s))
            _exit(EXIT_RMD_GONE);
        if (again_s < AGAIN_MAX_S)
            again_s *= 2;
    }
}

/* ---- rmd's side ------------------------------------------------------------------------------ */

int input_helper_start(InputHelper *h, const CommonOptions *o, const char *path, uint64_t every_ns,
                       char error[CONFIG_ERROR_MAX])
{
    *h = (InputHelper){.channel = -1};
    int channel;
    pid_t pid = helper_fork("rmd-keeper", &channel);
    if (pid < 0) {
        start_explain((int)pid, "the process that watches input devices", error);
        return (int)pid;
    }
    if (pid == 0) {
        if (start_as_user(o, error) < 0)
            _exit(EXIT_FAILURE); /* rmd itself says why */
        start_forbid_dumps();
        keep_watching(channel, path, every_ns / 2);
    }
    h->channel = channel;
    h->pid = pid;
    return 0;
}

void input_helper_stop(InputHelper *h)
{
    if (h->channel >= 0)
        (void)close(h->channel);
    h->channel = -1;
    if (h->pid > 0 && kill(h->pid, SIGKILL) == 0)
        (void)waitpid(h->pid, NULL, 0);
    h->pid = 0;
}

static int wait_for_answer(InputHelper *h, uint64_t until_ns, InputReport *ret)
{
    uint8_t bytes[INPUT_REPORT_BYTES + 1];
    for (unsigned i = 0; i < ANSWERS_MAX; i++) {
        uint64_t now = os_now_ns();
        struct pollfd at = {.fd = h->channel, .events = POLLIN};
        if (now >= until_ns || poll(&at, 1, (int)((until_ns - now) / NS_PER_MS) + 1) <= 0)
            break;
        ssize_t n = recv(h->channel, bytes, sizeof bytes, MSG_DONTWAIT);
        uint32_t number;
        if (n <= 0)
            break;
        if (input_report_decode(bytes, (size_t)n, &number, ret) == 0 && number == h->asked)
            return 0;
    }
    return -ETIMEDOUT;
}

static int ask(InputHelper *h, uint64_t awake_ns, InputReport *ret)
{
    if (h->gone)
        return -EPIPE;
    if (awake_ns < h->retry_ns)
        return -EAGAIN;
    h->asked++;
    if (send(h->channel, &h->asked, sizeof h->asked, MSG_DONTWAIT | MSG_NOSIGNAL) ==
            sizeof h->asked &&
        wait_for_answer(h, time_add(os_now_ns(), SOURCE_PATIENCE_NS), ret) == 0)
        return 0;
    h->retry_ns = time_add(awake_ns, SOURCE_RETRY_NS);
    h->gone = channel_is_gone(h->channel, 0);
    return h->gone ? -EPIPE : -ETIMEDOUT;
}

int input_helper_ask(void *ctx, uint64_t awake_ns, InputReport *ret)
{
    InputHelper *h = ctx;
    const bool was_gone = h->gone;
    int res = ask(h, awake_ns, ret);
    if (h->gone && !was_gone)
        log_event(LOG_LEVEL_ERROR, "input_gone",
                  "fix=\"start rmd again: it may not open input devices itself; until then they "
                  "count as touched, and this host is not lent\"");
    else if (res < 0 && !h->silent)
        log_event(LOG_LEVEL_WARN, "input_silent",
                  "fix=\"the process that watches input devices is started again; if this stays, "
                  "start rmd again\"");
    else if (res == 0 && h->silent)
        log_event(LOG_LEVEL_INFO, "input_back", "devices=%u", ret->devices);
    h->silent = res < 0;
    return res;
}

/* ---- what rmd gives up ----------------------------------------------------------------------- */

enum { GROUPS_MAX = INPUT_DEVICES_MAX + 1 };

static size_t add_group(gid_t groups[GROUPS_MAX], size_t count, gid_t group)
{
    for (size_t i = 0; i < count; i++)
        if (groups[i] == group)
            return count;
    if (count < GROUPS_MAX)
        groups[count++] = group;
    return count;
}

/* Those of the devices, and the usual one, whose devices may come later. */
static size_t groups_of(const char *path, gid_t ret[GROUPS_MAX])
{
    glob_t found = {.gl_pathc = 0};
    char pattern[512];
    size_t count = 0;
    const struct group *usual = getgrnam("input");
    if (usual)
        count = add_group(ret, count, usual->gr_gid);
    (void)snprintf(pattern, sizeof pattern, "%s/event*", path);
    if (glob(pattern, 0, NULL, &found) != 0 && glob(path, 0, NULL, &found) != 0)
        return count;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct stat st;
        if (stat(found.gl_pathv[i], &st) == 0)
            count = add_group(ret, count, st.st_gid);
    }
    globfree(&found);
    return count;
}

int input_give_up(const CommonOptions *o, const char *path, char error[CONFIG_ERROR_MAX])
{
    gid_t groups[GROUPS_MAX];
    size_t count = groups_of(path, groups);
    int res = start_as_user_without(o, groups, count, error);
    if (res < 0)
        return res;
    bool kept = start_has_group(groups, count);
    int hidden = sandbox_hide(path);
    if (hidden < 0 && hidden != -ENOENT)
        log_event(kept ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "input_not_hidden",
                  "path=%s group=%s error=\"%s\"", path, kept ? "kept" : "dropped",
                  strerror(-hidden));
    else
        log_event(LOG_LEVEL_DEBUG, "input_hidden", "path=%s group=%s", path,
                  kept ? "kept" : "dropped");
    return 0;
}
