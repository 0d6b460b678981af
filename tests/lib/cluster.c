/* SPDX-License-Identifier: MIT */
#include "tests/lib/cluster.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"

static const char *cmd_path, *imd_path;

void cluster_programs(const char *cmd, const char *imd)
{
    cmd_path = cmd;
    imd_path = imd;
}

void cluster_arguments(int argc, char **argv)
{
    if (argc != 3) {
        (void)fprintf(stderr, "usage: %s CMD IMD\n", argv[0]);
        exit(2);
    }
    cluster_programs(argv[1], argv[2]);
}

static void die(const char *what)
{
    (void)fprintf(stderr, "cluster: %s: %s\n", what, strerror(errno));
    abort();
}

int64_t now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- daemons -------------------------------------------------------------------------------- */

/* @inherit: a descriptor that the program gets; -1: none. */
static void daemon_exec(const char *const *argv, int out, int inherit, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* gone before that was asked for */
        _exit(1);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(out, STDERR_FILENO);
    if (inherit >= 0)
        (void)fcntl(inherit, F_SETFD, 0);
    (void)execv(argv[0], (char *const *)argv);
    _exit(127);
}

/* Its output goes into a pipe that never holds it up: what nobody reads in time is lost. */
static void daemon_start(Daemon *d, const char *const *argv, int inherit)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0)
        die("pipe");
    (void)fflush(NULL);
    *d = (Daemon){.out = ends[0], .pid = fork()};
    if (d->pid < 0)
        die("fork");
    if (d->pid == 0)
        daemon_exec(argv, ends[1], inherit, parent);
    (void)close(ends[1]);
}

static void daemon_failed(const Daemon *d, const char *word)
{
    (void)fprintf(stderr, "cluster: nothing with \"%s\" was said:\n%.*s", word, (int)d->said_len,
                  d->said);
    abort();
}

/* The end of the first line with @word in it, taken out together with all before it. */
static bool line_take(Daemon *d, const char *word, char *line, size_t cap)
{
    d->said[d->said_len] = '\0';
    const char *at = strstr(d->said, word);
    const char *end = at ? strchr(at, '\n') : NULL;
    if (!end)
        return false;
    (void)snprintf(line, cap, "%.*s", (int)(end - at), at);
    d->said_len -= (size_t)(end + 1 - d->said);
    memmove(d->said, end + 1, d->said_len);
    return true;
}

static void daemon_line(Daemon *d, const char *word, char *line, size_t cap)
{
    int64_t until = now_ms() + CLUSTER_PATIENCE_MS;
    while (!line_take(d, word, line, cap)) {
        struct pollfd p = {.fd = d->out, .events = POLLIN};
        if (d->said_len > sizeof d->said / 2) { /* old lines */
            d->said_len -= sizeof d->said / 4;
            memmove(d->said, d->said + sizeof d->said / 4, d->said_len);
        }
        if (now_ms() > until)
            daemon_failed(d, word);
        if (poll(&p, 1, 1000) <= 0)
            continue;
        ssize_t n = read(d->out, d->said + d->said_len, sizeof d->said - 1 - d->said_len);
        if (n <= 0)
            daemon_failed(d, word);
        d->said_len += (size_t)n;
    }
}

void daemon_says(Daemon *d, const char *word)
{
    char line[1024];
    daemon_line(d, word, line, sizeof line);
}

void daemon_kill(Daemon *d)
{
    if (d->pid == 0)
        return;
    (void)kill(d->pid, SIGKILL);
    (void)waitpid(d->pid, NULL, 0);
    (void)close(d->out);
    d->pid = 0;
}

/* ---- the cluster ---------------------------------------------------------------------------- */

static void file_put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd) != 0)
        die(path);
}

/* The test's directory counts as one with honest time stamps: nobody but the test changes it. */
static void config_put(const Cluster *c, const char *config)
{
    char path[128], text[4096];
    struct statfs fs;
    if (statfs(c->dir, &fs) != 0)
        die(c->dir);
    (void)snprintf(path, sizeof path, "%s/dodo.conf", c->dir);
    (void)snprintf(text, sizeof text, "[client]\nhonest_filesystems = %llx\n%s",
                   (unsigned long long)fs.f_type, config ? config : "");
    file_put(path, text);
    (void)setenv("DODO_CONFIG", path, 1);
}

static void key_put(const Cluster *c)
{
    char path[128], text[66];
    unsigned char key[32];
    if (getrandom(key, sizeof key, 0) != sizeof key)
        die("getrandom");
    for (size_t i = 0; i < sizeof key; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", key[i]);
    explicit_bzero(key, sizeof key);
    (void)strcpy(text + 64, "\n");
    (void)snprintf(path, sizeof path, "%s/key", c->dir);
    file_put(path, text);
    (void)setenv("DODO_KEY", path, 1);
}

void cluster_key(const Cluster *c, unsigned char ret_key[32])
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/key", c->dir);
    FILE *f = fopen(path, "re");
    for (int i = 0; f && i < 32; i++)
        if (fscanf(f, "%2hhx", &ret_key[i]) != 1)
            die(path);
    if (!f || fclose(f) != 0)
        die(path);
}

static void cmd_start(Cluster *c, const char *listen)
{
    char line[256];
    const char *argv[] = {cmd_path, "--listen", listen, NULL};
    daemon_start(&c->cmd, argv, -1);
    daemon_line(&c->cmd, "listen=", line, sizeof line);
    if (sscanf(line, "listen=%63s", c->manager) != 1)
        daemon_failed(&c->cmd, "listen=ADDRESS");
}

void cluster_start(Cluster *c, const char *config, bool sealed)
{
    const char *tmp = getenv("TMPDIR");
    *c = (Cluster){.imds_count = 0};
    (void)snprintf(c->dir, sizeof c->dir, "%s/dodo-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(c->dir))
        die(c->dir);
    (void)setenv("XDG_STATE_HOME", c->dir, 1); /* what the library keeps goes with it */
    (void)setenv("XDG_RUNTIME_DIR", c->dir, 1);
    (void)unsetenv("DODO_KEY");
    (void)unsetenv("DODO_MANAGER");
    (void)unsetenv("DODO_LOG");
    config_put(c, config);
    if (sealed)
        key_put(c);
    cmd_start(c, "127.0.0.1:0");
    (void)setenv("DODO_MANAGER", c->manager, 1);
}

void cluster_cmd_again(Cluster *c)
{
    char listen[sizeof c->manager];
    memcpy(listen, c->manager, sizeof listen);
    cmd_start(c, listen);
}

static Daemon *imd_start(Cluster *c, const char *pool, int owner)
{
    if (c->imds_count == CLUSTER_IMDS_MAX)
        abort();
    char number[16];
    (void)snprintf(number, sizeof number, "%d", owner);
    const char *argv[] = {
        imd_path, "--manager", c->manager, "--listen", "127.0.0.1:0",
        "--pool", pool,        "--nice",   "0",        owner >= 0 ? "--owner-fd" : NULL,
        number,   NULL};
    Daemon *d = &c->imds[c->imds_count++];
    char line[512], said[512];
    daemon_start(d, argv, owner);
    daemon_line(d, "listen=", line, sizeof line);
    if (sscanf(line, "listen=%63s", d->address) != 1)
        daemon_failed(d, "listen=ADDRESS");
    daemon_line(d, "joined", said, sizeof said);
    return d;
}

Daemon *cluster_imd(Cluster *c, const char *pool)
{
    return imd_start(c, pool, -1);
}

Daemon *cluster_imd_owned(Cluster *c, const char *pool, int *ret_owner)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        die("socketpair");
    Daemon *d = imd_start(c, pool, ends[1]);
    (void)close(ends[1]);
    *ret_owner = ends[0];
    return d;
}

bool cluster_is_host(const Daemon *imd, const char *host)
{
    return strcmp(imd->address, host) == 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

void cluster_end(Cluster *c)
{
    for (unsigned i = 0; i < c->imds_count; i++)
        daemon_kill(&c->imds[i]);
    daemon_kill(&c->cmd);
    (void)nftw(c->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- for a test that waits in vain ----------------------------------------------------------- */

static void file_tell(const char *path)
{
    char text[1024];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (fd >= 0)
        (void)close(fd);
    if (n > 0)
        (void)fprintf(stderr, "%s: %.*s\n", path, (int)n, text);
}

static void process_tell(pid_t pid)
{
    static const char *const files[] = {"comm", "wchan", "syscall", "stack"};
    char dir[64], path[512];
    (void)snprintf(dir, sizeof dir, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(dir);
    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        for (size_t i = 0; e->d_name[0] != '.' && i < sizeof files / sizeof *files; i++) {
            (void)snprintf(path, sizeof path, "%s/%s/%s", dir, e->d_name, files[i]);
            file_tell(path);
        }
    }
    if (tasks)
        (void)closedir(tasks);
    /* The frames, where somebody has a debugger. */
    (void)snprintf(path, sizeof path,
                   "! command -v gdb > /dev/null || timeout 30 gdb -p %d -batch -ex "
                   "'thread apply all backtrace' >&2 2> /dev/null",
                   (int)pid);
    (void)fflush(stderr);
    (void)!system(path);
}

static void daemon_tell(Daemon *d)
{
    struct pollfd p = {.fd = d->out, .events = POLLIN};
    process_tell(d->pid);
    (void)fprintf(stderr, "%.*s", (int)d->said_len, d->said);
    while (poll(&p, 1, 0) == 1 && p.revents & POLLIN) {
        ssize_t n = read(d->out, d->said, sizeof d->said);
        if (n <= 0)
            break;
        (void)fprintf(stderr, "%.*s", (int)n, d->said);
    }
    d->said_len = 0;
}

void cluster_tell(Cluster *c, pid_t pid)
{
    process_tell(pid);
    daemon_tell(&c->cmd);
    for (unsigned i = 0; i < c->imds_count; i++)
        daemon_tell(&c->imds[i]);
}

/* ---- files -------------------------------------------------------------------------------- */

void file_settle(int fd)
{
    struct stat st;
    struct timespec now;
    if (fstat(fd, &st) < 0)
        die("fstat");
    do {
        (void)sched_yield();
        (void)clock_gettime(CLOCK_REALTIME, &now);
    } while (time_from_timespec(now) < time_from_timespec(st.st_ctim) + 100 * NS_PER_MS);
}

int cluster_file(Cluster *c, char ret_path[128])
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/data-XXXXXX", c->dir);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        die(path);
    if (ret_path)
        memcpy(ret_path, path, sizeof path);
    return fd;
}

uint64_t cluster_memory_available(void)
{
    char line[128];
    uint64_t kib = 0;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
            break;
    if (f)
        (void)fclose(f);
    return kib << 10;
}

/* ---- child processes ------------------------------------------------------------------------ */

pid_t child_start(const char *const *args)
{
    const char *argv[16] = {"/proc/self/exe", "child"};
    pid_t parent = getpid();
    for (unsigned i = 0; args[i]; i++)
        argv[2 + i] = args[i];
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0)
        daemon_exec(argv, STDERR_FILENO, -1, parent);
    return pid;
}

static bool stands_still(pid_t pid)
{
    char path[300], line[512];
    bool still = true;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    if (!threads)
        die("no such process");
    for (struct dirent *d; (d = readdir(threads));) {
        if (d->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)pid, d->d_name);
        FILE *f = fopen(path, "re");
        const char *name_end = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
        if (f)
            (void)fclose(f);
        still &= !name_end || strncmp(name_end, ") T", 3) == 0;
    }
    (void)closedir(threads);
    return still;
}

void process_pause(pid_t pid)
{
    (void)kill(pid, SIGSTOP);
    for (unsigned looks = 0; !stands_still(pid); looks++) {
        if (looks == 1000000)
            die("it does not stop");
        (void)sched_yield();
    }
}

enum { CHILD_LAST_WORDS_MS = 10000 };

int child_wait(pid_t pid)
{
    int status, fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (fd < 0)
        die("pidfd_open");
    bool ended = poll(&p, 1, CLUSTER_PATIENCE_MS) == 1;
    if (!ended) {
        (void)kill(pid, SIGABRT); /* a sanitizer prints where it is */
        (void)poll(&p, 1, CHILD_LAST_WORDS_MS);
        (void)kill(pid, SIGKILL);
    }
    (void)close(fd);
    if (waitpid(pid, &status, 0) != pid)
        die("waitpid");
    return ended ? status : -1;
}

void child_must_succeed(pid_t pid, const char *what)
{
    int status = child_wait(pid);
    if (status == 0)
        return;
    if (status == -1)
        (void)fprintf(stderr, "%s: the child did not end in time\n", what);
    else if (WIFSIGNALED(status))
        (void)fprintf(stderr, "%s: the child died of signal %d\n", what, WTERMSIG(status));
    else
        (void)fprintf(stderr, "%s: the child exited with %d\n", what, WEXITSTATUS(status));
    abort();
}
