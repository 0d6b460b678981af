/* SPDX-License-Identifier: MIT */
/* dodo drain: takes a host out of service, and waits until nothing is left there. */
#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/id.h"
#include "base/os.h"
#include "base/printable.h"
#include "base/time.h"
#include "daemon/start.h"
#include "proto/conf/defaults.h"
#include "tools/client.h"
#include "tools/command.h"
#include "tools/drain_carry.h"
#include "tools/drain_here.h"
#include "tools/drain_judge.h"

static const uint64_t LINE_NS = 5 * NS_PER_S; /* where lines are not rewritten */
enum { SOON_MS = 50, EVERY_MS = 500, WIDTH = 80 };

typedef struct DrainOptions {
    ToolOptions tool; /* first */
    bool cancel, drop, here;
    uint64_t rate;      /* 0: no limit */
    uint64_t within_ns; /* 0: no limit */
} DrainOptions;

#define FIELD(name) offsetof(DrainOptions, name)
static const ConfigKey keys[] = {
    {NULL, "drop", "Free what is kept there for a next run, too", NULL, FIELD(drop), CONFIG_BOOL},
    {NULL, "rate", "Bytes a second that all programs may copy; any number if not given", "SIZE",
     FIELD(rate), CONFIG_SIZE, 1, (uint64_t)1 << 40},
    {NULL, "within", "Wait no longer than this", "TIME", FIELD(within_ns), CONFIG_TIME, NS_PER_MS,
     86400 * NS_PER_S},
    {NULL, "here", "This host, instead of HOST", NULL, FIELD(here), CONFIG_BOOL},
    {NULL, "cancel", "The host gets new regions again", NULL, FIELD(cancel), CONFIG_BOOL},
    {NULL, "json", "Print JSON, an object a line", NULL, FIELD(tool.json), CONFIG_BOOL},
};
static const ConfigTable own = CONFIG_TABLE(keys);
static const ConfigProgram program = {
    .name = "dodo drain",
    .reader = CONF_TOOL,
    .arguments = "HOST[:PORT]",
    .summary =
        "Takes a host out of service: it gets no new regions, programs move those that they "
        "have there\nto other hosts. Waits until nothing is left; exits with 1 if that cannot "
        "be.",
    .tables = {&own, &config_manager, &tool_timeout, &config_common},
};

typedef struct Drain {
    const DrainOptions *options;
    uint64_t until_ns; /* 0: there is no limit */
    ToolWatch signals; /* one ends a wait for the manager, too */
    ToolClient client;
    bool connected;
    Addr host;
    char name[ADDR_TEXT_MAX]; /* as the manager lists it */
    DrainJudge judge;
    DrainCarry carry;
    bool rewrites;     /* lines, on a terminal */
    uint64_t shown_ns; /* the last line; 0: none */
    OpDrainReply shown;
    char fault[CONFIG_ERROR_MAX];
} Drain;

/* ---- the manager ----------------------------------------------------------------------------- */

/* How long one answer may take. */
static uint64_t patience_ns(const Drain *d)
{
    const uint64_t most_ns = d->options->tool.timeout_ns;
    return d->until_ns == 0
               ? most_ns
               : min_u64(most_ns, max_u64(sub_u64(d->until_ns, os_now_ns()), NS_PER_MS));
}

/* 0; 1: it knows no such host; -errno. */
static int ask(Drain *d, enum DrainWhat what, OpDrainReply *ret, char *error)
{
    const OpDrain op = {.host = d->host,
                        .what = (uint8_t)what,
                        .drop = what == DRAIN_START && d->options->drop,
                        .rate = what == DRAIN_START ? d->options->rate : 0};
    uint8_t body[WIRE_BODY_MAX];
    const Request *answer = &d->client.request;
    d->client.timeout_ns = patience_ns(d);
    int res = tool_client_ask(&d->client, OP_DRAIN, body, wire_drain_encode(&op, body), error);
    if (res == -EPROTO && answer->status == STATUS_GONE)
        return 1;
    if (res == -EPROTO && answer->status == STATUS_BUSY)
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "%d hosts are being drained, and that is the most: cancel one of those that "
                       "are done",
                       MOVES_MAX);
    if (res == 0 && wire_drain_reply_decode(answer->answer, answer->answer_len, ret) != 0) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "the answer made no sense: is that a manager?");
        res = -EPROTO;
    }
    return res;
}

static int connect_manager(Drain *d, char *error)
{
    ToolOptions tool = d->options->tool;
    tool.timeout_ns = patience_ns(d);
    int res = d->connected ? 0 : tool_client_open_manager(&d->client, &tool, &d->signals, error);
    if (res == 0 && tool_client_stands_by(&d->client)) {
        tool_client_close(&d->client);
        d->connected = false;
        (void)snprintf(error, CONFIG_ERROR_MAX, "no manager is active");
        return -EAGAIN;
    }
    d->connected = res == 0;
    return res;
}

static void disconnect(Drain *d)
{
    if (d->connected)
        tool_client_close(&d->client);
    d->connected = false;
}

/* Another number with each start of the manager, and with each lease. */
static uint64_t manager_number(const Drain *d)
{
    const Session *s = d->client.session;
    return s ? mix64(get_u64(s->peer_id.bytes) ^ mix64(s->peer_epoch)) : 0;
}

/* What is kept there is brought elsewhere, unless it is to be dropped. */
static void carry(Drain *d, DrainLook *l)
{
    if (!l->answered || l->gone || l->reply.state != DRAIN_ON || d->options->drop)
        return;
    drain_carry_step(&d->carry, &d->client, &d->host, &l->reply, l->at_ns);
    l->kept_stay = drain_carry_rests(&d->carry, l->at_ns);
}

static DrainLook look(Drain *d, enum DrainWhat what)
{
    DrainLook l = {.at_ns = 0};
    int res = connect_manager(d, d->fault);
    if (res == 0) {
        res = ask(d, what, &l.reply, d->fault);
        l.manager = manager_number(d); /* now: another start may have answered in this session */
        if (res < 0)
            disconnect(d); /* another one may be active */
    }
    l.answered = res >= 0;
    l.gone = res == 1;
    l.at_ns = os_now_ns();
    carry(d, &l);
    return l;
}

/* The address among @found that the manager knows. 0; -errno, and @error says what to do. */
static int find_host(Drain *d, const Resolved *found, enum DrainWhat what, DrainLook *ret,
                     const char *text, char *error)
{
    int res = connect_manager(d, error);
    if (res < 0)
        return res;
    res = d->options->here ? drain_find_here(&d->client, &d->host, error) : 1;
    if (res == 0)
        res = ask(d, what, &ret->reply, error);
    for (unsigned i = 0; res == 1 && i < found->count; i++) {
        d->host = found->found[i];
        res = ask(d, what, &ret->reply, error);
    }
    char shown[128];
    if (res == 1) {
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "the manager knows no host %s that lends memory: dodo status lists them",
                       printable_short(text, shown, sizeof shown));
        res = -ENOENT;
    }
    (void)addr_format(&d->host, d->name, sizeof d->name);
    *ret = (DrainLook){.at_ns = os_now_ns(),
                       .answered = res == 0,
                       .manager = manager_number(d),
                       .reply = ret->reply};
    return res;
}

/* ---- what is shown --------------------------------------------------------------------------- */

static volatile sig_atomic_t ended;
static int ended_fd = -1; /* readable from then on */

static void on_signal(int number)
{
    static const uint64_t one = 1;
    const int error = errno;
    ended = number;
    if (write(ended_fd, &one, sizeof one) < 0) /* then it is seen after the wait */
        errno = error;
}

static bool has_ended(void *ctx)
{
    (void)ctx;
    return ended != 0;
}

/* The first one ends the command in order, so that what it carries is kept; the next one at once.
 */
static void watch_signals(ToolWatch *w)
{
    w->fd = ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
}

/* This ends the command alone, and it says so. */
static int say_goodbye(const Drain *d)
{
    (void)fprintf(
        stderr,
        "%sdodo drain: %s is still being drained: it gets no new regions. To end that: dodo "
        "drain --cancel %s\n",
        d->rewrites && d->shown_ns ? "\n" : "", d->name, d->name);
    return EXIT_FAILURE;
}

static int width(void)
{
    struct winsize w;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : WIDTH;
}

/* Of what programs read each change counts. */
static bool is_due(const Drain *d, const DrainLook *l)
{
    return d->rewrites || !d->shown_ns || l->at_ns >= time_add(d->shown_ns, LINE_NS) ||
           (d->options->tool.json && l->answered &&
            memcmp(&d->shown, &l->reply, sizeof d->shown) != 0);
}

static void show_line(Drain *d, const DrainLook *l, enum DrainVerdict v)
{
    g_autoptr(GString) line = g_string_new(NULL);
    if (!is_due(d, l))
        return;
    d->shown_ns = l->at_ns;
    d->shown = l->reply;
    if (d->options->tool.json && l->answered)
        drain_say_json(&d->judge, v, line);
    else if (l->answered)
        drain_say_progress(&d->judge, line);
    else
        g_string_append_printf(line, "%s: %s", d->name, d->fault);
    if (d->rewrites)
        printf("\r\033[K%.*s", width() - 1, line->str);
    else if (d->options->tool.json)
        (void)fputs(l->answered ? line->str : "", stdout);
    else
        (void)puts(line->str);
    (void)fflush(stdout);
}

static int show_end(const Drain *d, enum DrainVerdict v)
{
    g_autoptr(GString) text = g_string_new(NULL);
    if (d->options->tool.json)
        drain_say_json(&d->judge, v, text);
    else
        drain_say_end(&d->judge, v, text);
    if (d->rewrites && d->shown_ns)
        (void)fputs("\r\033[K", stdout);
    (void)fputs(text->str, stdout);
    return v == DRAIN_DONE ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int watch(Drain *d, DrainLook l)
{
    unsigned pause_ms = SOON_MS;
    while (!ended) {
        const enum DrainVerdict v = drain_judge(&d->judge, &l);
        if (v != DRAIN_GOES_ON && v != DRAIN_AGAIN)
            return show_end(d, v);
        if (v == DRAIN_GOES_ON) {
            show_line(d, &l, v);
            struct pollfd signal = {.fd = d->signals.fd, .events = POLLIN};
            (void)poll(&signal, 1, (int)pause_ms);
            pause_ms = 2 * pause_ms < EVERY_MS ? 2 * pause_ms : EVERY_MS;
        }
        if (!ended)
            l = look(d, v == DRAIN_AGAIN ? DRAIN_START : DRAIN_LOOK);
    }
    return say_goodbye(d);
}

static int wait_until_over(Drain *d, const DrainLook *first)
{
    d->judge = (DrainJudge){.host = d->name, .drop = d->options->drop, .until_ns = d->until_ns};
    d->rewrites = !d->options->tool.json && isatty(STDOUT_FILENO);
    start_tell_library(&d->options->tool.common);
    watch_signals(&d->signals);
    const int status = watch(d, *first);
    drain_carry_end(&d->carry);
    return status;
}

static int drain(const DrainOptions *o, const Resolved *found, const char *text)
{
    char error[CONFIG_ERROR_MAX] = "";
    Drain d = {.options = o,
               .signals = {.fd = -1, .ends = has_ended},
               .until_ns = o->within_ns ? time_add(os_now_ns(), o->within_ns) : 0};
    DrainLook first = {.at_ns = 0};
    int status;
    if (find_host(&d, found, o->cancel ? DRAIN_CANCEL : DRAIN_START, &first, text, error) < 0) {
        status = start_failed(&program, EXIT_START, error);
    } else if (o->cancel) {
        printf(o->tool.json ? "{\"host\":\"%s\",\"state\":\"cancelled\"}\n"
                            : "%s: gets new regions as any other host\n",
               d.name);
        status = EXIT_SUCCESS;
    } else {
        status = wait_until_over(&d, &first);
    }
    disconnect(&d);
    return status;
}

static enum ConfigOutcome take_host(const DrainOptions *o, int argc, char **argv, Resolved *ret,
                                    char *error)
{
    int res = argc == (o->here ? 1 : 2) ? 0 : -EINVAL;
    if (res == 0 && !o->here)
        res = tool_find_host(argv[1], DEFAULT_IMD_PORT, ret, error);
    if (res == -EINVAL && o->here)
        (void)snprintf(error, CONFIG_ERROR_MAX, "--here is this host: give no other");
    else if (res == -EINVAL)
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "which host? give its name or address, as dodo status lists it, such as "
                       "host.example or 10.0.0.2:7701");
    else if (o->cancel && (o->drop || o->rate || o->within_ns))
        (void)snprintf(error, CONFIG_ERROR_MAX, "--cancel goes without --drop, --rate, --within");
    else
        return res < 0 ? CONFIG_BAD : CONFIG_OK;
    return CONFIG_USAGE;
}

static int run(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    DrainOptions o = {.cancel = false};
    Resolved found = {.count = 0};
    tool_options_init(&o.tool);
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    if (outcome == CONFIG_OK)
        outcome = take_host(&o, argc, argv, &found, error);
    const int status = outcome == CONFIG_OK ? drain(&o, &found, o.here ? "here" : argv[1])
                                            : start_config_failed(&program, outcome, error);
    config_clear(&program, &o);
    return status;
}

const Command command_drain = {"drain", "Take a host out of service", run};
