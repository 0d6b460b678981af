/* SPDX-License-Identifier: MIT */
/* dodo top: the cluster, again and again. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/num.h"
#include "base/os.h"
#include "base/time.h"
#include "daemon/start.h"
#include "tools/cluster_status.h"
#include "tools/command.h"
#include "tools/top_frame.h"

static const uint64_t EVERY_NS = 2 * NS_PER_S;
enum { WIDTH = 80, HEIGHT = 24 }; /* where nobody says */

static const ConfigKey keys[] = {
    {NULL, "once", "Print one frame, and exit", NULL, offsetof(ToolOptions, once), CONFIG_BOOL},
};
static const ConfigTable own = CONFIG_TABLE(keys);
static const ConfigProgram program = {
    .name = "dodo top",
    .reader = CONF_TOOL,
    .summary = "Shows the cluster every two seconds, hosts with most traffic first. Ends with q or "
               "Ctrl-C.",
    .tables = {&own, &config_manager, &tool_timeout, &config_common},
};

typedef struct Look {
    ClusterStatus status;
    uint64_t at_ns; /* 0: none */
} Look;

/* What is shown, the one before, and room for the next. */
enum { LOOKS = 3 };

typedef struct Top {
    const ToolOptions *options;
    ToolClient client;
    bool connected;
    Look looks[LOOKS];
    unsigned shown;               /* of them; the next place has the one before, if any */
    char fault[CONFIG_ERROR_MAX]; /* the manager's; "": it has answered */
} Top;

/* ---- the terminal ---------------------------------------------------------------------------- */

static struct termios saved, wanted;

static void on_signal(int number)
{
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &saved);
    if (number == SIGINT)
        _exit(EXIT_SUCCESS);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* The shell has changed them. */
static void on_continue(int number)
{
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &wanted);
}

/* Keys come one by one, and are not shown. False: there is no keyboard. */
static bool keyboard_open(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    if (tcgetattr(STDIN_FILENO, &saved) != 0)
        return false;
    wanted = saved;
    wanted.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
        (void)signal(ends[i], on_signal);
    (void)signal(SIGCONT, on_continue);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &wanted);
    return true;
}

/* Until the next frame is due, or q was typed: true. */
static bool wait_for_q(bool *keyboard)
{
    const uint64_t until_ns = os_now_ns() + EVERY_NS;
    for (uint64_t now; (now = os_now_ns()) < until_ns;) {
        struct pollfd fd = {.fd = *keyboard ? STDIN_FILENO : -1, .events = POLLIN};
        char key;
        if (poll(&fd, 1, (int)((until_ns - now) / NS_PER_MS) + 1) <= 0)
            continue;
        if (read(STDIN_FILENO, &key, 1) != 1)
            *keyboard = false; /* it has gone */
        else if (key == 'q' || key == 'Q')
            return true;
    }
    return false;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static Look *look_at(Top *t, unsigned after_shown)
{
    return &t->looks[(t->shown + after_shown) % LOOKS];
}

/* Without an answer all stays as it was. */
static void look(Top *t)
{
    Look *next = look_at(t, LOOKS - 1);
    *t->fault = '\0';
    if (!t->connected)
        t->connected =
            tool_client_open(&t->client, t->options, &t->options->common.manager, t->fault) == 0;
    if (!t->connected)
        return;
    if (cluster_status_fetch(&next->status, &t->client, t->fault) == 0) {
        next->at_ns = os_now_ns();
        t->shown = (t->shown + LOOKS - 1) % LOOKS;
    } else {
        tool_client_close(&t->client);
        t->connected = false;
    }
}

static TopSample sample(const Look *l)
{
    const ClusterStatus *s = &l->status;
    if (l->at_ns == 0)
        return (TopSample){.at_ns = 0};
    return (TopSample){.hosts = (const HostStatus *)(const void *)s->hosts->data,
                       .count = s->hosts->len,
                       .regions = s->last.regions,
                       .clients = s->last.clients,
                       .uptime_ms = s->last.uptime_ms,
                       .at_ns = l->at_ns};
}

static TopView view(Top *t, unsigned width, unsigned height)
{
    return (TopView){.now = sample(look_at(t, 0)),
                     .before = sample(look_at(t, 1)),
                     .manager = &t->options->common.manager,
                     .width = width,
                     .height = height,
                     .fault = *t->fault ? t->fault : NULL};
}

/* Over the last one, and what is left of that is cleared. The last line stays free. */
static void draw(Top *t)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
        size = (struct winsize){.ws_col = WIDTH, .ws_row = HEIGHT};
    const TopView v = view(t, size.ws_col, (unsigned)max_u64(size.ws_row, 2) - 1);
    g_autoptr(GString) frame = top_frame(&v);
    g_string_replace(frame, "\n", "\033[K\n", 0);
    (void)printf("\033[H%s\033[J", frame->str);
    (void)fflush(stdout);
}

static void print_once(Top *t)
{
    const TopView v = view(t, WIDTH, 0);
    g_autoptr(GString) frame = top_frame(&v);
    (void)fputs(frame->str, stdout);
}

static void refresh(Top *t)
{
    bool keyboard = keyboard_open();
    const bool has_settings = keyboard;
    (void)fputs("\033[2J", stdout);
    do {
        draw(t);
        if (wait_for_q(&keyboard))
            break;
        look(t);
    } while (!ferror(stdout));
    if (has_settings)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &saved);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int top(const ToolOptions *o)
{
    Top t = {.options = o};
    int status = EXIT_SUCCESS;
    for (unsigned i = 0; i < LOOKS; i++)
        cluster_status_init(&t.looks[i].status);
    look(&t);
    if (*t.fault)
        status = start_failed(&program, EXIT_START, t.fault);
    else if (o->once)
        print_once(&t);
    else
        refresh(&t);
    if (t.connected)
        tool_client_close(&t.client);
    for (unsigned i = 0; i < LOOKS; i++)
        cluster_status_deinit(&t.looks[i].status);
    return status;
}

static int run(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    ToolOptions o;
    int status;
    tool_options_init(&o);
    o.common.log_level = LOG_LEVEL_ERROR; /* else lines get into the frames */
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    if (outcome == CONFIG_OK && !o.once && !isatty(STDOUT_FILENO)) {
        (void)snprintf(error, sizeof error, "standard output is no terminal: give --once");
        outcome = CONFIG_USAGE;
    }
    status = outcome == CONFIG_OK ? top(&o) : start_config_failed(&program, outcome, error);
    config_clear(&program, &o);
    return status;
}

const Command command_top = {"top", "Show the cluster, again and again", run};
