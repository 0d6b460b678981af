/* SPDX-License-Identifier: MIT */
/* Who a daemon is, where it may listen, and how it tells that it is ready. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <grp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "proto/conf/defaults.h"
#include "daemon/start.h"
#include "tests/lib/addr_of.h"
#include "tests/lib/case.h"
#include "tests/lib/child.h"
#include "tests/lib/needs.h"
#include "tests/lib/stderr_text.h"

static char *dir; /* of the test under way */

static int set_up(void **state)
{
    g_unsetenv("NOTIFY_SOCKET");
    dir = g_dir_make_tmp("dodo-start-XXXXXX", NULL);
    return dir ? 0 : -1;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"key", "notify", "out"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(dir, names[i], NULL);
        (void)g_unlink(path);
    }
    int res = g_rmdir(dir);
    g_clear_pointer(&dir, g_free);
    return res;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(failure__is_one_printable_line)
{
    static const ConfigProgram program = {.name = "prog"};
    unsigned all;
    StderrText text = stderr_catch();
    assert_int_equal(start_failed(&program, 7, "/a\nb\x1b[31m: is bad"), 7);
    assert_int_equal(stderr_lines_of(&text, "prog: /a?b?[31m: is bad\n", &all), 1);
    assert_int_equal(all, 1);
}

/* What cannot be started names the limit that may be too low. */
CASE(lack__is_explained)
{
    static const struct {
        int res;
        const char *says;
    } cases[] = {
        {-EAGAIN, "cannot start it: Resource temporarily unavailable; raise ulimit -u"},
        {-ENOMEM, "cannot start it: Cannot allocate memory; raise ulimit -v"},
        {-EMFILE, "cannot start it: Too many open files; raise ulimit -n"},
        {-EPERM, "cannot start it: Operation not permitted"},
    };
    char error[CONFIG_ERROR_MAX];
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        start_explain(cases[i].res, "it", error);
        assert_true(g_str_has_prefix(error, cases[i].says));
    }
}

/* ---- descriptors ------------------------------------------------------------------------------
 */

static rlim_t descriptors_limit(void)
{
    struct rlimit limit = {0, 0};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

/* It becomes as high as it may, and is not lowered. */
static int raise_descriptors(void)
{
    const struct rlimit low = {12, 40};
    char error[CONFIG_ERROR_MAX] = "";
    if (setrlimit(RLIMIT_NOFILE, &low) < 0 || start_descriptors(10, error) != 0 ||
        descriptors_limit() != 12)
        return 1;
    if (start_descriptors(40, error) != 0 || *error || descriptors_limit() != 40)
        return 2;
    if (start_descriptors(41, error) != -EMFILE)
        return 3;
    return strcmp(error, "it may have only 40 files open, and needs 41: raise ulimit -n "
                         "(LimitNOFILE=)") == 0
               ? 0
               : 4;
}

CASE(descriptors__are_as_many_as_it_needs)
{
    assert_int_equal(in_a_child(raise_descriptors), 0);
}

/* ---- who it is ---------------------------------------------------------------------------------
 */

CASE(identity__without_a_key_only_loopback)
{
    static const struct {
        const char *listen, *manager;
        bool insecure, fine;
    } cases[] = {
        {"127.0.0.1:0", "127.0.0.1:7700", false, true}, {"[::1]:0", "[::1]:7700", false, true},
        {"10.0.0.1:0", "127.0.0.1:7700", false, false}, {"127.0.0.1:0", "10.0.0.1", false, false},
        {"[fe80::1]:0", "[::1]:7700", false, false},    {"10.0.0.1:0", "10.0.0.2:1", true, true},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char error[CONFIG_ERROR_MAX] = "";
        CommonOptions o = {
            .cluster = (char *)"blue", .insecure = cases[i].insecure, .hello_retry_ns = 17};
        Addr listen = addr_of(cases[i].listen), manager = addr_of(cases[i].manager);
        const Addr *const all[] = {&listen, &manager};
        EndpointConfig c;
        assert_int_equal(start_identity(&o, all, 2, &c, error), cases[i].fine ? 0 : -EACCES);
        assert_int_equal(strstr(error, "--insecure") != NULL, !cases[i].fine);
        if (!cases[i].fine)
            continue;
        assert_int_equal(c.keys_count, 0);
        assert_int_equal(c.cluster, cluster_number("blue"));
        assert_int_equal(c.hello_retry_ns, 17);
    }
}

/* What no key helps is not answered with the advice to give one. */
CASE(identity__of_an_address_that_none_is)
{
    static const char *const listens[] = {"0.0.0.0", "[::]", "224.0.0.1", "255.255.255.255",
                                          "[ff02::1]"};
    CommonOptions o = {.cluster = (char *)"blue"};
    Places places;
    assert_int_equal(places_parse("127.0.0.1:7700", 7700, &places), 0);
    for (size_t i = 0; i < G_N_ELEMENTS(listens); i++) {
        char error[CONFIG_ERROR_MAX] = "";
        Addr listen = addr_of(listens[i]);
        EndpointConfig c;
        assert_int_equal(start_member_identity(&o, &listen, &places, &c, error), -EINVAL);
        assert_non_null(strstr(error, "name the one address"));
    }
}

CASE(identity__with_a_key)
{
    char error[CONFIG_ERROR_MAX] = "";
    g_autofree char *path = g_build_filename(dir, "key", NULL);
    CommonOptions o = {.cluster = (char *)"dodo", .key = path};
    Addr listen = addr_of("10.0.0.1:0");
    const Addr *const all[] = {&listen};
    EndpointConfig c;
    assert_int_equal(start_identity(&o, all, 1, &c, error), -ENOENT);
    assert_non_null(strstr(error, "dodo keygen"));
    g_autofree char *digits = g_strnfill(64, 'a');
    g_autofree char *text = g_strdup_printf("%s\n%s\n", digits, digits);
    assert_true(g_file_set_contents(path, text, -1, NULL));
    assert_int_equal(g_chmod(path, 0644), 0);
    assert_int_equal(start_identity(&o, all, 1, &c, error), -EACCES);
    assert_int_equal(g_chmod(path, 0640), 0);
    assert_int_equal(start_identity(&o, all, 1, &c, error), 0);
    assert_int_equal(c.keys_count, 2);
    assert_int_equal(c.keys[0].bytes[0], 0xaa);
    assert_int_equal(c.keys[1].bytes[31], 0xaa);
}

static bool logs_debug(void)
{
    StderrText s = stderr_catch();
    log_event(LOG_LEVEL_DEBUG, "word", "%s", "");
    return stderr_lines(&s, "word") == 1;
}

/* What is wrong changes nothing. */
CASE(reload__takes_keys_and_level)
{
    char error[CONFIG_ERROR_MAX] = "";
    g_autofree char *path = g_build_filename(dir, "key", NULL);
    g_autofree char *digits = g_strnfill(64, 'a');
    const Env env = os_env();
    CommonOptions o = {.cluster = (char *)"dodo", .key = path, .log_level = LOG_LEVEL_DEBUG};
    Addr listen = addr_of("10.0.0.1:0");
    const Addr *const all[] = {&listen};
    EndpointConfig c;
    assert_true(g_file_set_contents_full(path, digits, -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
    assert_int_equal(start_identity(&o, all, 1, &c, error), 0);
    c.sessions_max = 1;
    Endpoint *e = endpoint_new(&c, &env);
    assert_non_null(e);
    log_init("test", LOG_LEVEL_INFO);

    assert_int_equal(g_chmod(path, 0644), 0);
    assert_int_equal(start_reload(&o, e, 1, error), -EACCES);
    assert_false(logs_debug());
    assert_int_equal(g_chmod(path, 0600), 0);
    o.key = NULL;
    assert_int_equal(start_reload(&o, e, 1, error), -EINVAL);
    assert_non_null(strstr(error, "started again"));
    assert_false(logs_debug());
    o.key = path;
    assert_int_equal(start_reload(&o, e, 1, error), 0);
    assert_true(logs_debug());
    digits[0] = 'b';
    assert_true(g_file_set_contents_full(path, digits, -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
    assert_int_equal(start_reload(&o, e, 1, error), 1);
    assert_int_equal(start_reload(&o, e, 1, error), 0);
    log_set_level(LOG_LEVEL_INFO);
    endpoint_free(e);
}

CASE(cluster_number__is_fnv_1a)
{
    assert_int_equal(cluster_number(""), 2166136261u);
    assert_int_equal(cluster_number("a"), 0xe40c292cu);
    assert_int_equal(cluster_number("foobar"), 0xbf9cf968u);
}

CASE(listen__says_what_to_fix)
{
    static const char *const anywhere[] = {"0.0.0.0:0", "[::]:0"};
    char error[CONFIG_ERROR_MAX] = "";
    Transport *t, *second;
    for (size_t i = 0; i < G_N_ELEMENTS(anywhere); i++) {
        Addr a = addr_of(anywhere[i]);
        assert_int_equal(start_listen(&a, NULL, &t, error), -EINVAL);
        assert_non_null(strstr(error, "name the one address of this host"));
    }
    Addr a = addr_of("[fe80::1]:0");
    assert_int_equal(start_listen(&a, NULL, &t, error), -EINVAL);
    assert_non_null(strstr(error, "give one of another kind"));
    a = addr_of("127.0.0.1:0");
    assert_int_equal(start_listen(&a, NULL, &t, error), 0);
    assert_int_equal(start_listen(&t->local, NULL, &second, error), -EADDRINUSE);
    assert_non_null(strstr(error, "the port is in use"));
    a = addr_of("198.51.100.77:0");
    assert_int_equal(start_listen(&a, NULL, &second, error), 0); /* it may come yet */
    assert_true(second->late);
    assert_false(t->late);
    transport_close(second);
    transport_close(t);
}

/* The line on stdout, and READY=1 to the service manager. */
static void check_ready(const char *notify_path, int receiver)
{
    char line[64] = "", told[32] = "";
    g_autofree char *out = g_build_filename(dir, "out", NULL);
    int file = open(out, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    (void)fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    assert_true(file >= 0 && saved >= 0 && dup2(file, STDOUT_FILENO) >= 0);
    g_setenv("NOTIFY_SOCKET", notify_path, TRUE);
    start_ready("imd ready: listen=%s", "here");
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    assert_true(pread(file, line, sizeof line - 1, 0) > 0);
    assert_string_equal(line, "imd ready: listen=here\n");
    assert_true(recv(receiver, told, sizeof told - 1, MSG_DONTWAIT) > 0);
    assert_string_equal(told, "READY=1");
    start_stopping();
    memset(told, 0, sizeof told);
    assert_true(recv(receiver, told, sizeof told - 1, MSG_DONTWAIT) > 0);
    assert_string_equal(told, "STOPPING=1");
    (void)close(saved);
    (void)close(file);
}

CASE(ready__tells_the_service_manager)
{
    g_autofree char *path = g_build_filename(dir, "notify", NULL);
    for (int abstract = 0; abstract < 2; abstract++) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        size_t len = strlen(path);
        assert_true(len < sizeof a.sun_path);
        memcpy(a.sun_path, path, len);
        if (abstract)
            a.sun_path[0] = '\0';
        int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        assert_true(s >= 0);
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
        assert_int_equal(bind(s, (struct sockaddr *)&a, size), 0);
        g_autofree char *name = g_strdup(path);
        if (abstract)
            name[0] = '@';
        check_ready(name, s);
        (void)close(s);
    }
    g_setenv("NOTIFY_SOCKET", "/nonexistent/socket", TRUE);
    start_stopping(); /* nobody there: nothing happens */
    g_setenv("NOTIFY_SOCKET", "vsock:2:1", TRUE);
    start_stopping();
    g_unsetenv("NOTIFY_SOCKET");
}

/* Until it waits, or has ended; then it waits no more for what it waits for. */
static void wait_asleep(pid_t pid)
{
    char text[512], state = ' ';
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid);
    while (state != 'S' && state != 'Z') {
        int file = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = file >= 0 ? read(file, text, sizeof text - 1) : -1;
        assert_true(n > 0);
        text[n] = '\0';
        (void)close(file);
        const char *name_end = strrchr(text, ')');
        assert_non_null(name_end);
        state = name_end[2];
        (void)sched_yield();
    }
}

/* The service manager has much else to read first. */
CASE(ready__is_not_lost_in_a_crowd)
{
    g_autofree char *path = g_build_filename(dir, "notify", NULL);
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char told[32] = "";
    assert_true(strlen(path) < sizeof a.sun_path);
    memcpy(a.sun_path, path, strlen(path));
    int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int others = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(s >= 0 && others >= 0);
    assert_int_equal(bind(s, (struct sockaddr *)&a, sizeof a), 0);
    while (sendto(others, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&a, sizeof a) == 1)
        ;
    (void)fflush(stdout);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        g_setenv("NOTIFY_SOCKET", path, TRUE);
        (void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
        start_ready("rmd ready");
        _exit(0);
    }
    wait_asleep(pid);
    bool ended = false, ready = false;
    while (!ended || !ready) {
        ssize_t n = recv(s, told, sizeof told - 1, MSG_DONTWAIT);
        told[n > 0 ? n : 0] = '\0';
        ready = ready || strcmp(told, "READY=1") == 0;
        if (n < 0 && ended)
            break;
        ended = ended || waitpid(pid, NULL, WNOHANG) == pid;
    }
    assert_true(ready);
    (void)close(s);
    (void)close(others);
}

CASE(size__is_exact_and_can_be_read_again)
{
    static const struct {
        uint64_t bytes;
        const char *want;
    } cases[] = {{0, "0"},
                 {1, "1"},
                 {1024, "1K"},
                 {64 << 20, "64M"},
                 {1536ull << 20, "1536M"},
                 {3ull << 30, "3G"},
                 {1ull << 50, "1024T"},
                 {1025, "1025"}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        char text[32];
        assert_string_equal(start_size(cases[i].bytes, text, sizeof text), cases[i].want);
    }
}

/* ---- whose rights it has --------------------------------------------------------------------- */

static char error_of_child[CONFIG_ERROR_MAX];

static int as(const char *name)
{
    CommonOptions o = {.user = (char *)name};
    return start_as_user(&o, error_of_child);
}

/* What is left of root; 0: nothing. */
static int become_nobody(void)
{
    const gid_t groups[] = {4242, 4243};
    gid_t left[64];
    uid_t real, effective, saved;
    if (setgroups(2, groups) != 0 || as("nobody") != 0)
        return 1;
    int count = getgroups(64, left);
    for (int i = 0; i < count; i++)
        if (left[i] == 4242 || left[i] == 4243 || left[i] == 0)
            return 2;
    if (getresuid(&real, &effective, &saved) != 0 || !real || !effective || !saved)
        return 3;
    if (setuid(0) == 0 || getgid() == 0 || setgid(0) == 0)
        return 4;
    return as("nobody") == 0 ? 0 : 5; /* as imd, which rmd starts with the same file */
}

/* Without its own group among the others, too: what it is not to have is no exception. */
static int become_nobody_without_its_group(void)
{
    const gid_t without[] = {65534};
    gid_t left[64];
    CommonOptions o = {.user = (char *)"nobody"};
    if (start_as_user_without(&o, without, 1, error_of_child) != 0)
        return 1;
    int count = getgroups(64, left);
    for (int i = 0; i < count; i++)
        if (left[i] == 65534)
            return 2;
    return geteuid() != 0 ? 0 : 3;
}

/* It says so, in one line. */
static int stay_root(void)
{
    char text[512] = "";
    FILE *said = tmpfile();
    if (!said || dup2(fileno(said), STDERR_FILENO) < 0 || as(NULL) != 0 || geteuid() != 0)
        return 1;
    start_ready("# ready"); /* standard output is the test's report */
    rewind(said);
    return fgets(text, sizeof text, said) && strstr(text, "runs_as_root") &&
                   strstr(text, "--user") && !fgets(text, sizeof text, said)
               ? 0
               : 2;
}

static int be_nobody_and_become_root(void)
{
    return setuid(65534) == 0 && as("root") == -EPERM && strstr(error_of_child, "only root") ? 0
                                                                                             : 1;
}

TEST(user__is_dropped_to)
{
    assert_int_equal(in_a_child(become_nobody), 0);
    assert_int_equal(in_a_child(become_nobody_without_its_group), 0);
    assert_int_equal(in_a_child(stay_root), 0);
    assert_int_equal(in_a_child(be_nobody_and_become_root), 0);
}

CASE(user__must_be_there)
{
    assert_int_equal(as("no-such-user-here"), -ENOENT);
    assert_non_null(strstr(error_of_child, "no such user"));
    assert_int_equal(as(NULL), 0);
}

int main(void)
{
    case_if(geteuid() == 0, user__is_dropped_to, "no root");
    return cases_run(NULL, NULL);
}
