/* SPDX-License-Identifier: MIT */
/* dodo-socket: options, start, stop. It stands on nothing but libc: it has a privilege. */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <linux/capability.h>
#include <net/if.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/notify.h"
#include "base/os.h"
#include "base/parse.h"
#include "base/printable.h"
#include "base/written.h"
#include "daemon/log.h"
#include "usocket/helper/raw_open.h"
#include "usocket/helper/server.h"
#include "usocket/raw/mac.h"

enum { EXIT_START = 1, EXIT_USAGE = 2, LISTEN_FIRST_FD = 3, SHOWN_MAX = 200 };
enum { DESCRIPTORS = SERVER_CLIENTS_MAX + 16 }; /* connections, and what it opens itself */

static const char program[] = "dodo-socket";
static const char run_dir[] = "/run/dodo-socket";
static const char help[] =
    "Usage: dodo-socket --interface NAME [OPTION...]\n"
    "Gives sockets for raw frames of one interface to programs that use libusocket,\n"
    "so that they need no privilege. Needs CAP_NET_RAW; see dodo-socket(8).\n"
    "\n"
    "  --interface=NAME   the interface, of Ethernet\n"
    "  --group=NAME       who is in it may ask (default: dodo-socket)\n"
    "  --socket=PATH      where programs ask (default: /run/dodo-socket/INTERFACE, or\n"
    "                     what the service manager passes)\n"
    "  --state=FILE       what was given is kept there for the next start\n"
    "  --log-level=LEVEL  error, warn, info (default) or debug\n"
    "  -h, --help         show this\n"
    "  --version          show the version\n";

typedef struct Options {
    const char *interface, *group, *socket, *state;
    enum LogLevel level;
    bool done; /* --help or --version has been shown */
} Options;

static int fail(int status, const char *what, int error)
{
    (void)fprintf(stderr, "%s: %s%s%s\n", program, what, error ? ": " : "",
                  error ? strerror(error) : "");
    return status;
}

/* @word of the command line, and what is wrong with it. */
static int refuse(const char *word, const char *what)
{
    char shown[SHOWN_MAX];
    (void)fprintf(stderr, "%s: %s %s; see dodo-socket --help\n", program,
                  printable_short(word, shown, sizeof shown), what);
    return EXIT_USAGE;
}

/* What cannot be used, and what to do. */
static int cannot(const char *what, int error, const char *advice)
{
    char shown[SHOWN_MAX];
    (void)fprintf(stderr, "%s: %s: %s; %s\n", program, printable_short(what, shown, sizeof shown),
                  strerror(error), advice);
    return EXIT_START;
}

/* ---- options --------------------------------------------------------------------------------- */

static bool take_option(int c, Options *o)
{
    switch (c) {
    case 'i':
        o->interface = optarg;
        break;
    case 'g':
        o->group = optarg;
        break;
    case 's':
        o->socket = optarg;
        break;
    case 't':
        o->state = optarg;
        break;
    case 'l':
        return log_level_parse(optarg, &o->level) == 0;
    case 'h':
        (void)fputs(help, stdout);
        o->done = true;
        break;
    case 'v':
        (void)printf("%s %s\n", program, DODO_VERSION);
        o->done = true;
        break;
    default:
        return false;
    }
    return true;
}

/* Of those that take no empty value. */
static bool is_empty(const char *value)
{
    return value && !*value;
}

static int parse_options(int argc, char **argv, Options *o)
{
    static const struct option options[] = {
        {"interface", required_argument, NULL, 'i'}, {"group", required_argument, NULL, 'g'},
        {"socket", required_argument, NULL, 's'},    {"state", required_argument, NULL, 't'},
        {"log-level", required_argument, NULL, 'l'}, {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},         {NULL, 0, NULL, 0}};
    opterr = 0; /* its words would name the program by its path */
    while (!o->done) {
        const char *word = argv[optind];
        const int c = getopt_long(argc, argv, "+:h", options, NULL);
        if (c < 0)
            break;
        if (c == ':')
            return refuse(word, "needs a value");
        if (!take_option(c, o))
            return c == 'l' ? refuse(optarg, "is no level: expected error, warn, info or debug")
                            : refuse(word, "is not understood");
    }
    if (o->done)
        return 0;
    if (optind < argc)
        return refuse(argv[optind], "is no option, and nothing else is taken");
    if (!o->interface || !interface_name_good(o->interface))
        return fail(EXIT_USAGE, "give --interface NAME, of at most 15 letters", 0);
    if (is_empty(o->socket) || is_empty(o->state))
        return refuse(is_empty(o->socket) ? "--socket" : "--state", "needs a value");
    return 0;
}

/* ---- start ----------------------------------------------------------------------------------- */

/* Without enough of them, those who connect and say nothing could keep others out. */
static int check_descriptors(void)
{
    char what[120];
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS)
        return 0;
    limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
    if (limit.rlim_cur == DESCRIPTORS && setrlimit(RLIMIT_NOFILE, &limit) == 0)
        return 0;
    (void)snprintf(what, sizeof what,
                   "it may have only %ju files open, and needs %d: raise ulimit -n (LimitNOFILE=)",
                   (uintmax_t)limit.rlim_cur, DESCRIPTORS);
    return fail(EXIT_START, what, 0);
}

/* Programs ask by the interface's own name: nobody would find who serves another one of it. */
static int check_name(const char *name, uint32_t interface)
{
    char own[IF_NAMESIZE], what[120];
    if (!if_indextoname(interface, own) || strcmp(own, name) == 0)
        return 0;
    (void)snprintf(what, sizeof what, "%s is another name of %s: give --interface %s", name, own,
                   own);
    return fail(EXIT_START, what, 0);
}

/* A new file takes its place: that is not for a device, and a FIFO keeps nothing. */
static int check_state(const char *path)
{
    struct stat st;
    if (!path || lstat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
        return 0;
    return cannot(path, S_ISDIR(st.st_mode) ? EISDIR : EINVAL, "give --state a file");
}

/* The group's number. If there is no such group, (gid_t)-1: no user has that one. */
static gid_t find_group(const char *name)
{
    uint64_t number;
    const struct group *g = getgrnam(name);
    if (g)
        return g->gr_gid;
    if (parse_u64(name, 0, UINT32_MAX - 1, &number) == 0)
        return (gid_t)number;
    log_event(LOG_LEVEL_WARN, "no_group",
              "group=%s fix=\"make it, or give --group: only root and the helper's user may ask\"",
              name);
    return (gid_t)-1;
}

/* What the service manager listens on for us, as sd_listen_fds(3) has it; -1: nothing. */
static int passed_listener(void)
{
    uint64_t pid, count;
    const char *of = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    if (!of || !fds || parse_u64(of, 0, UINT32_MAX, &pid) != 0 || pid != (uint64_t)getpid() ||
        parse_u64(fds, 1, 1, &count) != 0)
        return -1;
    return LISTEN_FIRST_FD;
}

/* A socket file of a helper that has gone is in the way; one that is served stays. */
static bool is_left_over(const struct sockaddr_un *at)
{
    struct stat st;
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return fd >= 0 && lstat(at->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
           connect(fd, (const struct sockaddr *)at, sizeof *at) != 0 && errno == ECONNREFUSED;
}

static int own_listener(const char *path, gid_t group)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof at.sun_path)
        return -ENAMETOOLONG;
    memcpy(at.sun_path, path, strlen(path));
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (is_left_over(&at))
        (void)unlink(path);
    (void)umask(0117);
    if (bind(fd, (const struct sockaddr *)&at, sizeof at) != 0)
        return -errno;
    if (chown(path, (uid_t)-1, group) != 0)
        log_event(LOG_LEVEL_WARN, "group_not_set",
                  "file=%s error=\"%s\" fix=\"only root and the helper's user may ask\"", path,
                  strerror(errno));
    return listen(fd, SERVER_CLIENTS_MAX) == 0 ? STEAL_FD(fd) : -errno;
}

/* Gives up all but the right to open raw sockets. */
static int keep_net_raw_only(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}, {0}};
    data[0].effective = data[0].permitted = 1u << CAP_NET_RAW;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_capset, &head, data) != 0)
        return -errno;
    return 0;
}

/* A descriptor that is readable when the helper is to end. */
static int stop_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* a log that nobody reads any more */
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static void say_ready(const Options *o, const char *path)
{
    (void)printf("%s ready: interface=%s socket=%s\n", program, o->interface, path);
    (void)fflush(stdout);
    notify(-1, "READY=1", NOTIFY_READY_WAIT_S);
}

static int serve(const Options *o, int listener, gid_t group, const char *path, int stop)
{
    static Server server;
    server.interface = o->interface;
    server.state = o->state;
    server.group = group;
    int res = keep_net_raw_only();
    if (res == -EPERM)
        return fail(EXIT_START, "needs CAP_NET_RAW: start it as root, or by its service", 0);
    if (res == 0)
        res = server_begin(&server);
    if (res < 0)
        return fail(EXIT_START, "cannot start (/proc/self/net/packet must be readable)", -res);
    say_ready(o, path);
    res = server_run(&server, listener, stop);
    return res < 0 ? fail(EXIT_START, "cannot go on", -res) : 0;
}

static int run(const Options *o)
{
    char path[108];
    uint32_t interface;
    uint8_t mac[FRAME_MAC];

    log_init(program, o->level);
    (void)snprintf(path, sizeof path, "%s/%s", run_dir, o->interface);
    const char *at = o->socket ? o->socket : path;
    const gid_t group = find_group(o->group);
    int res = raw_interface(o->interface, &interface, mac);
    if (res < 0)
        return cannot(o->interface, -res, "give an interface of Ethernet: see ip link");
    res = check_name(o->interface, interface);
    if (res == 0)
        res = check_state(o->state);
    if (res != 0)
        return res;
    CLEANUP_CLOSE int listener = passed_listener();
    bool own = listener < 0;
    if (own && !o->socket)
        (void)mkdir(run_dir, 0755); /* it is there, or binding fails */
    if (own)
        listener = own_listener(at, group);
    if (listener < 0)
        return cannot(at, -listener,
                      "give another --socket PATH, if no helper of this interface runs already");
    CLEANUP_CLOSE int stop = stop_signals();
    if (stop < 0)
        return fail(EXIT_START, "signalfd", errno);
    int status = serve(o, listener, group, own ? at : "passed", stop);
    if (own)
        (void)unlink(at);
    return status;
}

int main(int argc, char **argv)
{
    Options o = {.group = program, .level = LOG_LEVEL_INFO};
    os_keep_standard();
    (void)signal(SIGXFSZ, SIG_IGN); /* of a log that is as long as a file may be */
    int status = parse_options(argc, argv, &o);
    if (status != 0 || o.done)
        return written_check(program, status);
    status = check_descriptors();
    return status != 0 ? status : run(&o);
}
