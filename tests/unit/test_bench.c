/* SPDX-License-Identifier: MIT */
/* dodo bench on a cluster of real programs: what it prints, how it ends, what it leaves behind. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/common.h"
#include "tests/lib/case.h"
#include "tests/lib/cluster.h"

static const char *dodo_path;
static Cluster cluster;

/* ---- running it ------------------------------------------------------------------------------ */

typedef struct Run {
    pid_t pid;
    int out, err;
    char said[2][16384]; /* on standard output, standard error; ends with NUL */
    size_t len[2];
} Run;

static Run run;
static int run_lacks = -1; /* the descriptor that it is started without */

/* @words: its options, separated by spaces. */
static void run_start(const char *words)
{
    int out[2], err[2];
    char copy[512];
    static char name[] = "bench";
    char *argv[32] = {(char *)dodo_path, name}, *at = copy;
    (void)snprintf(copy, sizeof copy, "%s", words);
    for (unsigned i = 2; i < ARRAY_SIZE(argv) - 1 && (argv[i] = strsep(&at, " ")); i++)
        ;
    assert_int_equal(pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
    memset(&run, 0, sizeof run);
    run.pid = fork();
    assert_true(run.pid >= 0);
    if (run.pid == 0) {
        (void)dup2(out[1], STDOUT_FILENO);
        (void)dup2(err[1], STDERR_FILENO);
        if (run_lacks >= 0)
            (void)close(run_lacks);
        (void)execv(dodo_path, argv);
        _exit(127);
    }
    (void)close(out[1]);
    (void)close(err[1]);
    run.out = out[0];
    run.err = err[0];
}

/* Reads what it says until @word is in it; NULL: until it ends. */
static void run_read(const char *word)
{
    for (bool open[2] = {true, true}; open[0] || open[1];) {
        struct pollfd p[2] = {{.fd = open[0] ? run.out : -1, .events = POLLIN},
                              {.fd = open[1] ? run.err : -1, .events = POLLIN}};
        if (word && (strstr(run.said[0], word) || strstr(run.said[1], word)))
            return;
        if (poll(p, 2, CLUSTER_PATIENCE_MS) <= 0) {
            cluster_tell(&cluster, run.pid);
            fail_msg("it hangs after: %s%s", run.said[0], run.said[1]);
        }
        for (unsigned i = 0; i < 2; i++) {
            if (!p[i].revents)
                continue;
            ssize_t n =
                read(p[i].fd, run.said[i] + run.len[i], sizeof run.said[i] - 1 - run.len[i]);
            assert_true(n >= 0);
            open[i] = n > 0;
            run.len[i] += (size_t)n;
        }
    }
    if (word)
        fail_msg("it did not say \"%s\" but: %s%s", word, run.said[0], run.said[1]);
}

/* Its exit status, or -SIGNAL. */
static int run_end(void)
{
    int status;
    run_read(NULL);
    assert_int_equal(waitpid(run.pid, &status, 0), run.pid);
    (void)close(run.out);
    (void)close(run.err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void assert_run(const char *words, int status)
{
    run_start(words);
    int is = run_end();
    if (is != status)
        fail_msg("\"%s\" ended with %d: %s%s", words, is, run.said[0], run.said[1]);
}

static unsigned count(const char *text, const char *word)
{
    unsigned n = 0;
    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

static void assert_says(const char *word)
{
    if (!strstr(run.said[0], word))
        fail_msg("\"%s\" is not in: %s", word, run.said[0]);
}

/* One line on standard error, with @word in it, and nothing else. */
static void assert_complains(const char *word)
{
    if (!strstr(run.said[1], word) || count(run.said[1], "\n") != 1 || run.len[0] > 0)
        fail_msg("expected one line with \"%s\": %s%s", word, run.said[0], run.said[1]);
}

/* The number after each "NAME": the least of them. */
static double least(const char *name)
{
    char word[64];
    double min = 1e300;
    (void)snprintf(word, sizeof word, "\"%s\":", name);
    for (const char *at = run.said[0]; (at = strstr(at, word));) {
        double v = strtod(at += strlen(word), NULL);
        min = v < min ? v : min;
    }
    return min;
}

static unsigned files(void)
{
    unsigned n = 0;
    DIR *d = opendir(cluster.dir);
    for (struct dirent *e; d && (e = readdir(d));)
        n += strstr(e->d_name, "bench") != NULL;
    if (d)
        (void)closedir(d);
    return n;
}

/* ---- with a cluster -------------------------------------------------------------------------- */

static int set_up(void **state)
{
    (void)state;
    cluster_start(&cluster,
                  "transfer_deadline = 60s\nrequest_deadline = 60s\n"
                  "[cmd]\nrequest_deadline = 20s\nhost_dead = 120s\n",
                  true);
    (void)cluster_imd(&cluster, "8M");
    (void)cluster_imd(&cluster, "8M");
    (void)setenv("TMPDIR", cluster.dir, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unsetenv("TMPDIR");
    cluster_end(&cluster);
    return 0;
}

/* Each host once, however many data threads it has, by the address that dodo status shows. */
static void assert_names_hosts(void)
{
    char list[512], hosts[256];
    const char *at = strstr(run.said[0], "\"hosts\":["), *end = at ? strchr(at, ']') : NULL;
    unsigned named = 0;
    assert_non_null(end);
    (void)snprintf(list, sizeof list, "%.*s", (int)(end - at), at);
    for (unsigned i = 0; i < 2; i++) {
        (void)snprintf(hosts, sizeof hosts, "\"%s\"", cluster.imds[i].address);
        named += strstr(list, hosts) != NULL;
    }
    assert_true(named >= 1);
    assert_int_equal(count(list, "127.0.0.1:"), named);
}

TEST(bench__measures_reads_and_writes)
{
    assert_run(
        "--json --read --write --size 1000,4K,300K --seconds 50ms --area 5M --region-size 1M "
        "--threads 2 --pause 1us",
        0);
    assert_int_equal(count(run.said[0], "\n"), 1);
    assert_int_equal(count(run.said[0], "\"call\":\"read\""), 3);
    assert_int_equal(count(run.said[0], "\"call\":\"write\""), 3);
    assert_int_equal(count(run.said[0], "\"size_bytes\":307200"), 2);
    assert_says("\"regions\":5,\"threads\":2,\"pattern\":\"random\",\"seconds\":0.050,\"pause_us\":"
                "1.000,\"hosts\":[\"");
    assert_says("\"wrong_bytes\":0}\n");
    assert_names_hosts();
    assert_true(least("calls") >= 2);
    assert_true(least("p50_us") > 0);
    assert_true(least("mb_per_s") > 0);
    assert_true(least("cpu_us_per_mib") > 0);
    assert_true(least("remote_bytes") > 0);
    assert_true(least("checked_bytes") >= 1000);
    assert_int_equal(run.len[1], 0); /* no terminal: no progress */
    assert_int_equal(files(), 0);
}

TEST(bench__prints_a_table)
{
    assert_run("--size 4K,64K --seconds 10ms --area 256K --pattern sequential --progress", 0);
    assert_int_equal(count(run.said[0], "\n"), 4);
    assert_says("256 KiB in 1 region of 256 KiB on 1 host: 127.0.0.1:");
    assert_says(" 1 thread, sequential\nCALL");
    assert_says("\nread       4 KiB ");
    assert_says("\nread      64 KiB ");
    assert_true(strstr(run.said[1], "progress: 100%  filling\n") != NULL);
}

/* Its own file is at neither, so it reads what it has written, and the report is lost. */
TEST(bench__is_started_without_an_output)
{
    static const char words[] = "--json --progress --write --read --seconds 100ms --area 1M";
    run_lacks = STDERR_FILENO;
    assert_run(words, 0);
    assert_says("\"wrong_bytes\":0}\n");
    run_lacks = STDOUT_FILENO;
    assert_run(words, 1);
    assert_true(strstr(run.said[1], "dodo bench: cannot write to the standard output: ") != NULL);
    run_lacks = -1;
}

/* Of a file that is there: it stays as it is. */
TEST(bench__reads_a_file)
{
    enum { SIZE = 3 * (1 << 20) + 1234 };
    char path[128], words[256];
    int fd = cluster_file(&cluster, path);
    assert_int_equal(bench_file_write(fd, 7, SIZE - 7), 0);
    (void)snprintf(words, sizeof words, "--json --seconds 10ms --region-size 1M --file %s", path);
    assert_run(words, 0);
    assert_says("\"area_bytes\":3146962,");
    assert_says("\"remote_share\":1.0");
    assert_int_equal(lseek(fd, 0, SEEK_END), SIZE);
    (void)close(fd);
}

/* What no cluster can help: the file is changed behind its back. */
TEST(bench__tells_of_wrong_bytes)
{
    enum { SIZE = 1 << 20 };
    char path[128], words[256];
    int fd = cluster_file(&cluster, path);
    assert_int_equal(bench_file_write(fd, 0, SIZE), 0);
    (void)snprintf(words, sizeof words,
                   "--size 4K,8K,12K,16K,20K,24K,28K,32K --seconds 1s --file %s", path);
    run_start(words);
    run_read("CALL"); /* all of it is in remote memory, and the first size has been measured */
    assert_int_equal(bench_file_write(fd, 1, SIZE / 2), 0);
    char other[1] = {0};
    for (off_t at = 0; at < SIZE; at += 100)
        assert_int_equal(pwrite(fd, other, 1, at), 1);
    assert_int_equal(run_end(), 1);
    assert_true(strstr(run.said[1], "bytes were wrong\n") != NULL);
    (void)close(fd);
}

TEST(bench__needs_room)
{
    assert_run("--area 64M", 1);
    assert_complains("no host has that much idle memory; see dodo status");
    assert_int_equal(files(), 0);
    assert_run("--area 1M --seconds 1ms", 0); /* it has given back what it got */
}

/* Ctrl-C, while it measures: it says so, ends of the signal, and its regions are free again. It has
 * so many sizes to measure that a busy machine gets to send the signal before their end. */
TEST(bench__ends_at_a_signal)
{
    enum { SIZES = 16 };
    run_start("--size 4K,8K,12K,16K,20K,24K,28K,32K,36K,40K,44K,48K,52K,56K,60K,64K --seconds 1s "
              "--area 12M --region-size 1M");
    run_read("CALL"); /* after the first size */
    assert_int_equal(kill(run.pid, SIGINT), 0);
    assert_int_equal(run_end(), -SIGINT);
    assert_in_range(count(run.said[0], "read "), 1, SIZES - 1);
    assert_true(strstr(run.said[1], "dodo bench: interrupted\n") != NULL);
    assert_int_equal(files(), 0);
    assert_run("--area 12M --region-size 1M --seconds 1ms", 0);
}

TEST(bench__refuses_bad_options)
{
    static const char *const bad[][2] = {
        {"--size 4X", "--size 4X: expected"},
        {"--size 8K,", "--size 8K,: expected"},
        {"--size 65M", "up to 16 sizes"},
        {"--pattern wild", "--pattern wild: expected sequential or random"},
        {"--threads 0", "--threads 0: expected a number, 1 to 256"},
        {"--seconds never", "--seconds never: expected a time"},
        {"--area 0", "--area 0: expected a size"},
        {"--area 1M --region-size 1", "give larger ones"},
        {"--size 1M --region-size 512K", "calls of 1 MiB do not fit"},
        {"--area 64K --threads 9", "calls of 8 KiB do not fit"},
        {"--write --file x", "--file is only read"},
        {"--lots", "Unknown option --lots"},
        {"lots", "unexpected argument"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_run(bad[i][0], 2);
        assert_complains(bad[i][1]);
    }
}

TEST(bench__needs_its_file)
{
    assert_run("--file /nowhere/at/all", 1);
    assert_complains("/nowhere/at/all: No such file");
    assert_run("--file /dev/null", 1);
    assert_complains("/dev/null: expected a regular file");
    assert_run("--dir /nowhere/at/all", 1);
    assert_complains("cannot make a file of 67108864 bytes in /nowhere/at/all: No such file");
}

/* ---- without --------------------------------------------------------------------------------- */

TEST(bench__says_what_to_fix)
{
    (void)unsetenv("DODO_MANAGER");
    (void)unsetenv("DODO_KEY");
    (void)setenv("DODO_CONFIG", "/dev/null", 1);
    assert_run("--seconds 1ms", 1);
    assert_complains("give --manager HOST:PORT");
    assert_run("--manager 127.0.0.1:1 --timeout 50ms", 1);
    assert_complains("127.0.0.1:1 does not answer within 50ms: is the daemon running there");
    assert_run("--manager 192.0.2.1:1", 1);
    assert_complains("give --key FILE");
}

/* In the words of the thread that lost it. The last case: it ends the cluster that the others had,
 * where nobody loses a host soon. */
TEST(bench__says_why_a_host_is_lost)
{
    cluster_end(&cluster);
    (void)unsetenv("TMPDIR"); /* it was in there */
    cluster_start(&cluster, "transfer_deadline = 500ms\n", true);
    (void)cluster_imd(&cluster, "8M");
    run_start("--size 4K,8K,12K,16K --seconds 1s --threads 2 --area 1M");
    run_read("CALL"); /* the first size is over */
    daemon_kill(&cluster.imds[0]);
    assert_int_equal(run_end(), 1);
    assert_true(strstr(run.said[1], " is lost (") != NULL);
    assert_true(strstr(run.said[1], "no call has failed") == NULL);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        (void)fprintf(stderr, "usage: test-bench CMD IMD DODO\n");
        return 2;
    }
    cluster_programs(argv[1], argv[2]);
    dodo_path = argv[3];
    return cases_run(set_up, tear_down);
}
