/* SPDX-License-Identifier: MIT */
/* Nobody reads the log: the daemon goes on, and says later how many lines were lost. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/log.h"
#include "tests/lib/case.h"

enum { PATIENCE_S = 150, TEXT_BYTES = 256 << 10 };

typedef struct Reader {
    int fd;
    int saved; /* our own stderr */
    char text[TEXT_BYTES];
} Reader;

static void reader_open(Reader *r, const int ends[2])
{
    log_init("test", LOG_LEVEL_INFO);
    r->fd = ends[0];
    r->saved = dup(STDERR_FILENO);
    assert_true(r->saved >= 0);
    assert_true(fcntl(r->fd, F_SETFL, O_NONBLOCK) == 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    (void)close(ends[1]);
    (void)alarm(PATIENCE_S); /* who is kept for ever is ended */
}

static void reader_close(Reader *r)
{
    (void)alarm(0);
    assert_true(dup2(r->saved, STDERR_FILENO) >= 0);
    (void)close(r->saved);
    (void)close(r->fd);
    free(r);
}

/* All that has come. */
static const char *reader_take(Reader *r)
{
    size_t len = 0;
    for (ssize_t n; len < TEXT_BYTES - 1; len += (size_t)n)
        if ((n = read(r->fd, r->text + len, TEXT_BYTES - 1 - len)) <= 0)
            break;
    r->text[len] = '\0';
    return r->text;
}

static size_t lines(const char *text)
{
    size_t count = 0;
    for (; (text = strchr(text, '\n')); text++)
        count++;
    return count;
}

static void nobody_reads(const int ends[2])
{
    static const size_t said = 20000; /* more than any pipe or socket holds */
    Reader *r = calloc(1, sizeof *r);
    assert_non_null(r);
    reader_open(r, ends);
    for (size_t i = 0; i < said; i++)
        log_event(LOG_LEVEL_INFO, "word", "number=%zu padding=%032d", i, 0);
    size_t kept = lines(reader_take(r));
    assert_in_range(kept, 1, said - 1);
    log_event(LOG_LEVEL_INFO, "later", "n=1");
    const char *lost = strstr(reader_take(r), "warn test: log_lost lines=");
    assert_non_null(lost);
    assert_int_equal(strtoul(strchr(lost, '=') + 1, NULL, 10), said - kept);
    assert_non_null(strstr(lost, "info test: later n=1\n"));
    log_event(LOG_LEVEL_INFO, "last", "n=2");
    assert_null(strstr(reader_take(r), "log_lost"));
    reader_close(r);
}

TEST(log__quotes_in_a_value_are_escaped)
{
    char text[16];
    assert_string_equal(log_quoted("a \"b\\", text, sizeof text), "a \\\"b\\\\");
    assert_string_equal(log_quoted("a \"b\\", text, 4), "a "); /* never half of a pair */
    assert_string_equal(log_quoted("", text, 1), "");
}

TEST(test_pipe)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    nobody_reads(ends);
}

/* As the journal's. */
TEST(test_socket)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    nobody_reads(ends);
}

TEST(test_file)
{
    char path[] = "/tmp/dodo-log-XXXXXX";
    int ends[2];
    Reader *r = calloc(1, sizeof *r);
    assert_non_null(r);
    ends[1] = mkstemp(path);
    assert_true(ends[1] >= 0);
    ends[0] = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(ends[0] >= 0);
    (void)unlink(path);
    reader_open(r, ends);
    for (unsigned i = 0; i < 100; i++)
        log_event(LOG_LEVEL_INFO, "word", "number=%u", i);
    assert_int_equal(lines(reader_take(r)), 100);
    reader_close(r);
}

TEST(log_event__a_long_line_is_cut_and_ends)
{
    enum { LINE_MAX_BYTES = 1024 };
    int ends[2];
    Reader *r = calloc(1, sizeof *r);
    assert_non_null(r);
    assert_int_equal(pipe(ends), 0);
    reader_open(r, ends);
    log_event(LOG_LEVEL_INFO, "long", "padding=%02000d", 7);
    log_event(LOG_LEVEL_INFO, "next", "%s", "");
    const char *text = reader_take(r);
    assert_int_equal(lines(text), 2);
    assert_int_equal(strcspn(text, "\n"), LINE_MAX_BYTES - 1);
    assert_non_null(strstr(text + LINE_MAX_BYTES, " info test: next"));
    reader_close(r);
}

/* Neither a file's name nor a peer makes a line of its own, or steers the terminal. */
TEST(log_event__is_printable)
{
    int ends[2];
    Reader *r = calloc(1, sizeof *r);
    assert_non_null(r);
    assert_int_equal(pipe(ends), 0);
    reader_open(r, ends);
    log_event(LOG_LEVEL_INFO, "word", "file=%s", "a\nb\x1b[31mc\xff caf\xc3\xa9");
    const char *text = reader_take(r);
    assert_int_equal(lines(text), 1);
    assert_non_null(strstr(text, " info test: word file=a?b?[31mc? caf\xc3\xa9\n"));
    reader_close(r);
}

/* Under systemd each line says how grave it is; to anybody else that would be noise. */
TEST(journal__lines_begin_with_their_priority)
{
    int ends[2];
    char stream[64];
    struct stat st;
    Reader *r = calloc(1, sizeof *r);
    assert_non_null(r);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(fstat(ends[1], &st), 0);
    reader_open(r, ends);
    for (unsigned i = 0; i < 2; i++) { /* not if it is another stream */
        (void)snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)st.st_dev,
                       (unsigned long long)st.st_ino + (i == 0));
        assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
        log_init("test", LOG_LEVEL_DEBUG);
        log_event(LOG_LEVEL_ERROR, "one", "n=1");
        log_event(LOG_LEVEL_WARN, "two", "n=2");
        log_event(LOG_LEVEL_INFO, "three", "n=3");
        log_event(LOG_LEVEL_DEBUG, "four", "n=4");
        const char *text = reader_take(r);
        assert_int_equal(lines(text), 4);
        assert_int_equal(strncmp(text, "<3>20", 5) == 0, i == 1);
        assert_int_equal(strstr(text, "\n<4>20") != NULL, i == 1);
        assert_int_equal(strstr(text, "\n<6>20") != NULL, i == 1);
        assert_int_equal(strstr(text, "\n<7>20") != NULL, i == 1);
    }
    (void)unsetenv("JOURNAL_STREAM");
    reader_close(r);
}
