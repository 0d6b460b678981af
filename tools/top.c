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
    ToolWatch keyboard; /* q ends a wait for the manager, too */
    ToolClient client;
    Addr manager; /* who answered last */
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

/* Where there is no keyboard. */
static void on_interrupt(int number)
{
    _exit(EXIT_SUCCESS);
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

/* A key was typed, or the keyboard has gone. */
static bool is_q(void *ctx)
{
    ToolWatch *keyboard = ctx;
    char key;
    if (read(keyboard->fd, &key, 1) == 1)
        return key == 'q' || key == 'Q';
    keyboard->fd = -1;
    return false;
}

/* Until the next frame is due, or q was typed: true. */
static bool wait_for_q(const ToolWatch *keyboard)
{
    const uint64_t until_ns = os_now_ns() + EVERY_NS;
    for (uint64_t now; (now = os_now_ns()) < until_ns;) {
        struct pollfd fd = {.fd = keyboard->fd, .events = POLLIN};
        if (poll(&fd, 1, (int)((until_ns - now) / NS_PER_MS) + 1) > 0 &&
            keyboard->ends(keyboard->ctx))
            return true;
    }
    return false;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static Look *look_at(Top *t, unsigned after_shown)
{
    return &t->looks[(t->shown + after_shown) % LOOKS];
}

/* Without an answer all stays as it was. False: q was typed. */
static bool look(Top *t)
{
    Look *next = look_at(t, LOOKS - 1);
    int res = 0;
    *t->fault = '\0';
    if (!t->connected)
        res = tool_client_open_manager(&t->client, t->options, &t->keyboard, t->fault);
    t->connected = res == 0;
    if (t->connected)
        res = cluster_status_fetch(&next->status, &t->client, t->fault);
    if (res == 0) {
        t->manager = t->client.peer;
        next->at_ns = os_now_ns();
        t->shown = (t->shown + LOOKS - 1) % LOOKS;
    }
    const bool elsewhere = t->connected && tool_client_stands_by(&t->client);
    if (t->connected && (res != 0 || elsewhere)) { /* another one may be active */
        tool_client_close(&t->client);
        t->connected = false;
    }
    return !t->client.ended;
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
                       .number = s->number,
                       .at_ns = l->at_ns};
}

static TopView view(Top *t, unsigned width, unsigned height)
{
    return (TopView){.now = sample(look_at(t, 0)),
                     .before = sample(look_at(t, 1)),
                     .manager = &t->manager,
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
    (void)fputs("\033[2J", stdout);
    do
        draw(t);
    while (!wait_for_q(&t->keyboard) && look(t) && !ferror(stdout));
}

static int show(Top *t)
{
    if (!look(t))
        return EXIT_SUCCESS;
    if (*t->fault)
        return start_failed(&program, EXIT_START, t->fault);
    if (t->options->once)
        print_once(t);
    else
        refresh(t);
    return EXIT_SUCCESS;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int top(const ToolOptions *o)
{
    const bool has_keyboard = !o->once && keyboard_open();
    Top t = {.options = o, .keyboard = {.fd = has_keyboard ? STDIN_FILENO : -1, .ends = is_q}};
    t.keyboard.ctx = &t.keyboard;
    if (!o->once && !has_keyboard)
        (void)signal(SIGINT, on_interrupt);
    for (unsigned i = 0; i < LOOKS; i++)
        cluster_status_init(&t.looks[i].status);
    int status = show(&t);
    if (has_keyboard)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &saved);
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
