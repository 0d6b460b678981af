/* SPDX-License-Identifier: MIT */
#include "daemon/resolver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/helper.h"
#include "proto/conf/defaults.h"
#include "daemon/start.h"

typedef struct Question {
    Places places;
    uint32_t moves; /* the answer says them, too */
    uint8_t kind;
    bool loopback_only;
} Question;

typedef struct Answer {
    uint32_t moves;
    Resolved resolved;
} Answer;

/* Questions that wait are one. */
__attribute__((noreturn)) static void serve(int channel)
{
    Question q;
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (;;) {
        ssize_t n = recv(channel, &q, sizeof q, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n != sizeof q)
            _exit(EXIT_SUCCESS);
        Answer answer = {.moves = q.moves};
        resolve_places(&q.places, q.kind, q.loopback_only, &answer.resolved);
        (void)send(channel, &answer, sizeof answer, MSG_NOSIGNAL);
    }
}

int resolver_start(Resolver *r, const CommonOptions *o, const Addr *listen, const Places *places,
                   char error[CONFIG_ERROR_MAX])
{
    *r = (Resolver){
        .fd = -1, .places = *places, .kind = listen->kind, .loopback_only = start_is_bound(o)};
    if (!places_have_names(places))
        return 0;
    pid_t pid = helper_fork("dodo-resolve", &r->fd);
    if (pid == 0)
        serve(r->fd);
    if (pid > 0)
        return 0;
    r->fd = -1;
    start_explain((int)pid, "the process that resolves names", error);
    return (int)pid;
}

void resolver_close(Resolver *r)
{
    if (r->fd >= 0)
        (void)close(r->fd);
    r->fd = -1;
}

int resolver_move(Resolver *r, const Places *places)
{
    Addr all[PLACES_MAX];
    const unsigned count = places_addresses(places, all);
    if (r->fd < 0 && places_have_names(places))
        return -ENOENT;
    for (unsigned i = 0; i < count; i++)
        if (r->loopback_only && !addr_is_loopback(&all[i]))
            return -EACCES;
    r->places = *places;
    r->moves++; /* what is on its way is about others */
    return 0;
}

bool resolver_follow(Resolver *r, const char *text, Places *ret)
{
    int res = places_parse(text, DEFAULT_CMD_PORT, ret);
    if (res == 0)
        res = resolver_move(r, ret);
    if (res < 0)
        log_event(LOG_LEVEL_WARN, "manager_not_moved", "manager=%s fix=\"%s\"", text,
                  res == -EACCES ? "name a cluster key first" : "start the daemon again");
    return res == 0;
}

void resolver_step(const Resolver *r, Finder *f)
{
    if (r->fd < 0 || !finder_take(f))
        return;
    const Question q = {
        .places = r->places, .moves = r->moves, .kind = r->kind, .loopback_only = r->loopback_only};
    if (send(r->fd, &q, sizeof q, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        log_event(LOG_LEVEL_ERROR, "not_resolved", "error=\"%s\"", strerror(errno));
}

static int receive(const Resolver *r, Resolved *ret)
{
    Answer a;
    ssize_t n = r->fd < 0 ? 0 : recv(r->fd, &a, sizeof a, MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return -EAGAIN;
    if (n <= 0)
        return -EPIPE;
    if (n != sizeof a || a.resolved.count > PLACES_FOUND_MAX ||
        !memchr(a.resolved.error, '\0', sizeof a.resolved.error))
        return -EBADMSG;
    if (a.moves != r->moves)
        return -EAGAIN;
    *ret = a.resolved;
    return 0;
}

int resolver_take(Resolver *r, Resolved *ret)
{
    int res = receive(r, ret);
    if (res == -EAGAIN)
        return res;
    if (res < 0) {
        log_event(LOG_LEVEL_ERROR, "not_resolved",
                  "error=\"the process that resolves names has ended: start the daemon again\"");
        return res;
    }
    if (*ret->error && strcmp(ret->error, r->error) != 0)
        log_event(LOG_LEVEL_WARN, "not_resolved", "error=\"%s\"", ret->error);
    memcpy(r->error, ret->error, sizeof r->error);
    return 0;
}
