/* SPDX-License-Identifier: MIT */
/* dodo owner: what this host lends, and how its users pause that. Asks the rmd of this host, by a
 * socket that the network does not reach. */
#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/time.h"
#include "daemon/start.h"
#include "rmd/owner_desk.h"
#include "tools/command.h"
#include "tools/owner_text.h"

enum { PATIENCE_MS = 5000, USUAL_PAUSE_S = 3600 };
static const char usual_socket[] = "/run/dodo-rmd/owner";

typedef struct OwnerOptions {
    CommonOptions common; /* first */
    char *socket;
    bool pause, never, resume, all, allow, json;
} OwnerOptions;

#define FIELD(name) offsetof(OwnerOptions, name)
static const ConfigKey keys[] = {
    {NULL, "pause", "Lend nothing for TIME, as 30min; an hour if no time is given", NULL,
     FIELD(pause), CONFIG_BOOL},
    {NULL, "never", "Lend nothing until --allow", NULL, FIELD(never), CONFIG_BOOL},
    {NULL, "resume", "End your pause", NULL, FIELD(resume), CONFIG_BOOL},
    {NULL, "all", "With --resume, as root: end the pauses of all users", NULL, FIELD(all),
     CONFIG_BOOL},
    {NULL, "allow", "End your pause, if there is one", NULL, FIELD(allow), CONFIG_BOOL},
    {NULL, "json", "Print JSON", NULL, FIELD(json), CONFIG_BOOL},
    {"rmd", "owner_socket", NULL, NULL, FIELD(socket)},
};
static const ConfigTable own = CONFIG_TABLE(keys);
static const ConfigProgram program = {
    .name = "dodo owner",
    .reader = CONF_TOOL,
    .arguments = "[TIME]",
    .summary = "Shows what this host lends now and why, and each day of the last week; lets its "
               "users pause that.",
    .tables = {&own, &config_common, &config_manager_unused},
};

/* ---- the conversation ------------------------------------------------------------------------ */

static int fail(char *error, const char *path, int res)
{
    (void)snprintf(error, CONFIG_ERROR_MAX,
                   "%s: %s: does dodo-rmd run on this host? ([rmd] owner_socket says where it "
                   "listens)",
                   path, strerror(-res));
    return res;
}

/* Our own address is one that the kernel makes up, so that the answer has a way. */
static int open_socket(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const sa_family_t own_address = AF_UNIX;
    const struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    if (strlen(path) >= sizeof at.sun_path)
        return -ENAMETOOLONG;
    (void)strcpy(at.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
        bind(fd, (const void *)&own_address, sizeof own_address) == 0 &&
        connect(fd, (const void *)&at, sizeof at) == 0)
        return fd;
    int res = -errno;
    (void)close(fd);
    return res;
}

static int ask(const char *path, const char *question, OwnerAnswer *ret, char *error)
{
    CLEANUP_CLOSE int fd = open_socket(path);
    g_autofree char *text = g_malloc(OWNER_ANSWER_MAX + 1);
    if (fd < 0)
        return fail(error, path, fd);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (send(fd, question, strlen(question), MSG_NOSIGNAL) < 0)
        return fail(error, path, errno == EAGAIN ? -ETIMEDOUT : -errno);
    int res = poll(&p, 1, PATIENCE_MS);
    ssize_t n = res > 0 ? recv(fd, text, OWNER_ANSWER_MAX, 0) : -1;
    if (n < 0)
        return fail(error, path, res == 0 ? -ETIMEDOUT : -errno);
    text[n] = '\0';
    if (owner_answer_read(ret, text, (uint64_t)time(NULL)))
        return 0;
    (void)snprintf(error, CONFIG_ERROR_MAX, "%s: the answer made no sense: is that dodo-rmd?",
                   path);
    return -EPROTO;
}

/* ---- the command ----------------------------------------------------------------------------- */

static char *user_name(uint32_t uid)
{
    const struct passwd *user = getpwuid(uid);
    return user ? g_strdup(user->pw_name) : g_strdup_printf("user %u", (unsigned)uid);
}

static enum ConfigOutcome complain(char *error, const char *text)
{
    (void)snprintf(error, CONFIG_ERROR_MAX, "%s", text);
    return CONFIG_USAGE;
}

static enum ConfigOutcome make_question(const OwnerOptions *o, int argc, char **argv,
                                        char question[OWNER_ASK_MAX], char *error)
{
    uint64_t ns = USUAL_PAUSE_S * NS_PER_S;
    if (o->pause + o->never + o->resume + o->allow > 1)
        return complain(error, "--pause, --never, --resume and --allow exclude each other");
    if (o->all && !o->resume)
        return complain(error, "--all goes with --resume (see dodo owner --help)");
    if (argc > 2 || (argc > 1 && !o->pause))
        return complain(error, "only --pause takes a time (see dodo owner --help)");
    if (argc > 1 && (parse_time(argv[1], &ns) != 0 || ns < NS_PER_S ||
                     ns / NS_PER_S > (uint64_t)OWNER_PAUSE_MAX_S))
        return complain(error, "--pause TIME: expected a time such as 30min or 8h, a second to a "
                               "year");
    if (o->pause)
        (void)snprintf(question, OWNER_ASK_MAX, "pause %llu", (unsigned long long)(ns / NS_PER_S));
    else
        (void)snprintf(question, OWNER_ASK_MAX, "%s",
                       o->never    ? "pause forever"
                       : o->all    ? "resume all"
                       : o->resume ? "resume"
                       : o->allow  ? "allow"
                                   : "status");
    return CONFIG_OK;
}

static int show(const OwnerOptions *o, const char *question, char *error)
{
    g_autoptr(GString) out = g_string_new(NULL);
    g_autofree OwnerAnswer *a = g_new(OwnerAnswer, 1);
    int res = ask(o->socket ? o->socket : usual_socket, question, a, error);
    if (res < 0)
        return res;
    (o->json ? owner_text_json : owner_text_print)(a, (uint64_t)time(NULL), user_name, out);
    (void)fputs(out->str, stdout);
    (void)snprintf(error, CONFIG_ERROR_MAX, "%s", a->error);
    return *a->error ? -EPERM : 0;
}

static int run(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "", question[OWNER_ASK_MAX] = "";
    OwnerOptions o = {.socket = NULL};
    config_common_init(&o.common);
    o.common.log_level = LOG_LEVEL_WARN;
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    if (outcome == CONFIG_OK)
        outcome = make_question(&o, argc, argv, question, error);
    int status = EXIT_SUCCESS;
    if (outcome != CONFIG_OK)
        status = start_config_failed(&program, outcome, error);
    else if (show(&o, question, error) < 0)
        status = start_failed(&program, EXIT_FAILURE, error);
    config_clear(&program, &o);
    return status;
}

const Command command_owner = {"owner", "Show what this host lends, and pause it", run};
