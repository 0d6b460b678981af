/* SPDX-License-Identifier: MIT */
/* dodo events: what came to pass in the cluster, as its manager keeps it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/time.h"
#include "daemon/start.h"
#include "tools/client.h"
#include "tools/command.h"
#include "tools/event_line.h"

enum { EVERY_US = 1000000 };

static const ConfigKey keys[] = {
    {NULL, "follow", "Go on with what comes, until Ctrl-C", NULL, offsetof(ToolOptions, follow),
     CONFIG_BOOL},
    {NULL, "json", "Print JSON, an object a line", NULL, offsetof(ToolOptions, json), CONFIG_BOOL},
};
static const ConfigTable own = CONFIG_TABLE(keys);
static const ConfigProgram program = {
    .name = "dodo events",
    .reader = CONF_TOOL,
    .summary = "Shows what came to pass in the cluster, the oldest first.",
    .tables = {&own, &config_manager, &tool_timeout, &config_common},
};

typedef struct Follower {
    const ToolOptions *options;
    ToolClient client;
    bool connected;
    uint64_t instance; /* of the manager that @after is of; 0: none yet */
    uint64_t after;
} Follower;

/* Numbers ascend, or the manager could keep us for ever. */
static bool is_sound(const OpEventsReply *r, uint64_t after)
{
    for (uint32_t i = 0; i < r->count; i++) {
        if (r->events[i].number <= after || r->events[i].number > r->last)
            return false;
        after = r->events[i].number;
    }
    return true;
}

/* The next page. 0; 1 after the last; -errno. */
static int fetch_page(Follower *f, OpEventsReply *ret, char *error)
{
    const OpEvents ask = {.after = f->after};
    uint8_t body[WIRE_BODY_MAX];
    int res = tool_client_ask(&f->client, OP_EVENTS, body, wire_events_encode(&ask, body), error);
    if (res < 0)
        return res;
    if (wire_events_reply_decode(f->client.request.answer, f->client.request.answer_len, ret) !=
            0 ||
        !is_sound(ret, f->after)) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "the answer made no sense: is that a manager?");
        return -EPROTO;
    }
    if (f->instance && f->instance != ret->instance)
        f->after = ret->count = 0; /* another start: it counts from 1 again */
    else if (ret->count == 0)
        res = 1;
    f->instance = ret->instance;
    return res;
}

static void print(Follower *f, const OpEventsReply *page)
{
    for (uint32_t i = 0; i < page->count; i++) {
        g_autofree char *line =
            event_line(&page->events[i], g_get_real_time() / 1000, f->options->json);
        (void)fputs(line, stdout);
        f->after = page->events[i].number;
    }
}

/* All that there is after the last. 0; -errno. */
static int catch_up(Follower *f, char *error)
{
    OpEventsReply page;
    int res = 0;
    if (!f->connected)
        res = tool_client_open_manager(&f->client, f->options, NULL, error);
    f->connected = res == 0;
    while (res == 0 && (res = fetch_page(f, &page, error)) == 0)
        print(f, &page);
    (void)fflush(stdout);
    const bool elsewhere = f->connected && tool_client_stands_by(&f->client);
    if (f->connected && (res < 0 || elsewhere)) { /* another one may be active */
        tool_client_close(&f->client);
        f->connected = false;
    }
    return res < 0 ? res : 0;
}

/* Until somebody ends it, or nobody reads it any more. A manager that is away is waited for. */
static void follow(Follower *f)
{
    char error[CONFIG_ERROR_MAX];
    bool away = false;
    while (!ferror(stdout)) {
        g_usleep(EVERY_US);
        int res = catch_up(f, error);
        if (res < 0 && !away)
            (void)fprintf(stderr, "dodo events: %s\n", error);
        away = res < 0;
    }
}

static int events(const ToolOptions *o)
{
    char error[CONFIG_ERROR_MAX] = "";
    Follower f = {.options = o};
    if (catch_up(&f, error) < 0)
        return start_failed(&program, EXIT_START, error);
    if (o->follow)
        follow(&f);
    if (f.connected)
        tool_client_close(&f.client);
    return EXIT_SUCCESS;
}

static int run(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    ToolOptions o;
    tool_options_init(&o);
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    int status = outcome == CONFIG_OK ? events(&o) : start_config_failed(&program, outcome, error);
    config_clear(&program, &o);
    return status;
}

const Command command_events = {"events", "Show what came to pass in the cluster", run};
