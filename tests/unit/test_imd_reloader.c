/* SPDX-License-Identifier: MIT */
/* The process that reads an imd's files again, and an imd that hears from another one. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os.h"
#include "daemon/log.h"
#include "imd/reloader.h"
#include "tests/lib/case.h"
#include "tests/lib/child.h"
#include "tests/lib/tmpdir.h"

enum { PATIENCE_MS = 150000 };

typedef struct Fixture {
    TmpDir dir;
    ImdOptions options;
    Resolver resolver;
    Reloader reloader;
    const char *manager; /* of the files to come */
    ImdSettings got;
    char error[CONFIG_ERROR_MAX];
} Fixture;

/* A key whose bytes all are @digit, twice. */
static void key_write(Fixture *f, char digit)
{
    char text[66], path[256], next[256];
    memset(text, digit, 64);
    text[64] = '\n';
    text[65] = '\0';
    tmpdir_text(&f->dir, "next", text); /* another file takes the name, as an editor has it */
    (void)tmpdir_path(&f->dir, "next", next);
    assert_int_equal(chmod(next, 0600), 0);
    assert_int_equal(rename(next, tmpdir_path(&f->dir, "key", path)), 0);
}

static void config_write(Fixture *f, const char *level, const char *rate)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "[dodo]\nmanager = %s\nkey = %s/key\nlog_level = %s\n[imd]\n"
                   "listen = 127.0.0.1:0\npool = 1M\nrate_bytes = %s\nrate_packets = 777\n",
                   f->manager, f->dir.path, level, rate);
    tmpdir_text(&f->dir, "dodo.conf", text);
}

/* imd starts, with the configuration of that name. */
static void start(Fixture *f, const char *config)
{
    char path[256], name[] = "imd", option[] = "--config";
    char *argv[] = {name, option, path, NULL}, **rest = argv;
    int argc = 3;
    Places places;
    (void)snprintf(path, sizeof path, "%s/%s", f->dir.path, config);
    imd_options_init(&f->options);
    assert_int_equal(config_load(&imd_program, &argc, &rest, &f->options, f->error), CONFIG_OK);
    assert_int_equal(imd_options_check(&f->options, f->error), 0);
    assert_true(start_places(&f->options.common, &places));
    assert_int_equal(resolver_start(&f->resolver, &f->options.common, &f->options.listen.addr,
                                    &places, f->error),
                     0);
    assert_int_equal(reloader_start(&f->reloader, &f->options, &f->resolver, f->error), 0);
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    log_init("test", LOG_LEVEL_ERROR);
    tmpdir_make(&f->dir);
    key_write(f, '1');
    f->manager = "127.0.0.1:9";
    config_write(f, "info", "0");
    start(f, "dodo.conf");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    reloader_close(&f->reloader);
    resolver_close(&f->resolver);
    config_clear(&imd_program, &f->options);
    tmpdir_remove(&f->dir);
    free(f);
    return 0;
}

static int take(Fixture *f)
{
    struct pollfd at = {.fd = f->reloader.fd, .events = POLLIN};
    assert_int_equal(poll(&at, 1, PATIENCE_MS), 1);
    *f->error = '\0';
    return reloader_take(&f->reloader, &f->got, f->error);
}

static int reload(Fixture *f)
{
    assert_int_equal(reloader_ask(&f->reloader), 0);
    return take(f);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(reads__what_is_there_now)
{
    Fixture *f = *state;
    assert_int_equal(reload(f), 0);
    assert_int_equal(f->got.keys.count, 1);
    assert_int_equal(((uint8_t *)&f->got.keys.keys[0])[31], 0x11);
    assert_int_equal(f->got.log_level, LOG_LEVEL_INFO);
    assert_int_equal(f->got.rate_bytes, 0);
    key_write(f, '2');
    config_write(f, "debug", "1M");
    assert_int_equal(reload(f), 0);
    assert_int_equal(((uint8_t *)&f->got.keys.keys[0])[31], 0x22);
    assert_int_equal(f->got.log_level, LOG_LEVEL_DEBUG);
    assert_int_equal(f->got.rate_bytes, 1 << 20);
    assert_int_equal(f->got.rate_packets, 777);
    assert_string_equal(f->got.manager, "127.0.0.1:9");
    assert_string_equal(f->got.changes.taken, "[imd] rate_bytes, [dodo] log_level");
    assert_string_equal(f->got.changes.waiting, "");
}

/* What cannot change is said each time; what can, once. */
CASE(changes__are_named)
{
    Fixture *f = *state;
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "[dodo]\nmanager = 10.0.0.2,10.0.0.1\nkey = %s/key\n[imd]\n"
                   "listen = 127.0.0.1:0\npool = 2M\nrate_packets = 888\n",
                   f->dir.path);
    tmpdir_text(&f->dir, "dodo.conf", text);
    assert_int_equal(reload(f), 0);
    assert_string_equal(f->got.manager, "10.0.0.2,10.0.0.1");
    assert_string_equal(f->got.changes.taken, "[dodo] manager, [imd] rate_packets");
    assert_string_equal(f->got.changes.waiting, "[imd] pool");
    assert_int_equal(reload(f), 0);
    assert_string_equal(f->got.changes.taken, "");
    assert_string_equal(f->got.changes.waiting, "[imd] pool");
}

/* They may appear later, and their directory with them. */
CASE(more_files__are_read_too)
{
    Fixture *f = *state;
    tmpdir_text(&f->dir, "dodo.conf.d/a.conf", "[imd]\nrate_bytes = 3M\n");
    assert_int_equal(reload(f), 0);
    assert_int_equal(f->got.rate_bytes, 3 << 20);
    assert_string_equal(f->got.changes.taken, "[imd] rate_bytes");
}

/* Directories and files may be links to elsewhere. */
CASE(links__are_followed)
{
    Fixture *f = *state;
    TmpDir elsewhere;
    char path[256], text[512];
    reloader_close(&f->reloader);
    config_clear(&imd_program, &f->options);
    tmpdir_make(&elsewhere);
    tmpdir_path(&f->dir, "key", path);
    tmpdir_path(&elsewhere, "key", text);
    assert_int_equal(rename(path, text), 0);
    assert_int_equal(symlink(text, path), 0); /* the key */
    (void)snprintf(path, sizeof path, "%s/etc", f->dir.path);
    assert_int_equal(symlink(f->dir.path, path), 0); /* the directory */
    (void)snprintf(text, sizeof text,
                   "[dodo]\nmanager = 127.0.0.1:9\nkey = %s/key\n[imd]\nlisten = 127.0.0.1:0\n"
                   "pool = 1M\n",
                   path);
    tmpdir_text(&f->dir, "dodo.conf", text);
    start(f, "etc/dodo.conf");
    assert_int_equal(reload(f), 0);
    assert_int_equal(((uint8_t *)&f->got.keys.keys[0])[31], 0x11);
    tmpdir_remove(&elsewhere);
}

CASE(wrong__says_why)
{
    Fixture *f = *state;
    char path[256];
    tmpdir_text(&f->dir, "key", "rubbish\n");
    assert_true(reload(f) < 0);
    assert_non_null(strstr(f->error, "/key"));
    assert_int_equal(unlink(tmpdir_path(&f->dir, "key", path)), 0);
    assert_true(reload(f) < 0);
    assert_non_null(strstr(f->error, "there is no key file"));
    key_write(f, '3');
    tmpdir_text(&f->dir, "dodo.conf", "[imd]\nrubbish = 1\n");
    assert_true(reload(f) < 0);
    assert_non_null(strstr(f->error, "rubbish"));
    config_write(f, "info", "1"); /* too little */
    assert_true(reload(f) < 0);
    assert_non_null(strstr(f->error, "rate_bytes"));
    config_write(f, "info", "0");
    assert_int_equal(reload(f), 0); /* it goes on */
    assert_int_equal(((uint8_t *)&f->got.keys.keys[0])[31], 0x33);
}

/* The questions of a moment have one answer at least, and each answer is read as what it is. */
CASE(many__questions)
{
    Fixture *f = *state;
    for (unsigned i = 0; i < 100; i++)
        if (reloader_ask(&f->reloader) != 0)
            break;
    assert_int_equal(take(f), 0);
    assert_int_equal(f->got.keys.count, 1);
}

/* ---- where the manager is -------------------------------------------------------------------- */

/* This imd was started without the process that resolves names. */
CASE(manager__with_a_name_waits_for_a_start)
{
    Fixture *f = *state;
    f->manager = "manager.example";
    config_write(f, "info", "0");
    assert_int_equal(reload(f), 0);
    assert_string_equal(f->got.manager, "127.0.0.1:9");
    assert_string_equal(f->got.changes.taken, "");
    assert_string_equal(f->got.changes.waiting, "[dodo] manager");
}

/* ---- another process ------------------------------------------------------------------------- */

enum { ANSWER_MAX = 4096 }; /* larger than any */

/* What imd makes of these bytes. */
static int hear(Fixture *f, const void *bytes, size_t len)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    reloader_close(&f->reloader);
    f->reloader.fd = pair[0];
    assert_int_equal(send(pair[1], bytes, len, 0), len);
    int res = take(f);
    (void)close(pair[1]);
    return res;
}

/* As large as an answer, which is known to no one else: the size that is understood. */
static size_t answer_size(Fixture *f)
{
    uint8_t bytes[ANSWER_MAX] = {0};
    size_t size = 0;
    for (size_t len = 1; len <= sizeof bytes; len++) {
        int res = hear(f, bytes, len);
        if (res == 0)
            assert_int_equal(size, 0);
        else
            assert_int_equal(res, -EBADMSG);
        size = res == 0 ? len : size;
    }
    return size;
}

CASE(hostile__answers)
{
    Fixture *f = *state;
    uint8_t bytes[ANSWER_MAX];
    const size_t size = answer_size(f);
    assert_true(size > sizeof(ImdSettings));
    for (unsigned i = 0; i < 2000; i++) {
        os_random(NULL, bytes, sizeof bytes);
        if (i % 2) /* no error, in its first words */
            memset(bytes, 0, 4);
        bytes[size - 1] = '\0';
        if (hear(f, bytes, size) == 0)
            assert_true(f->got.keys.count <= CLUSTER_KEYS_MAX && f->got.log_level < LOG_LEVEL_MAX);
        assert_true(memchr(f->error, '\0', sizeof f->error) != NULL);
    }
    memset(bytes, 'x', sizeof bytes); /* an error without an end */
    assert_int_equal(hear(f, bytes, size), -EBADMSG);
}

/* Of itself it cannot say that it has not answered yet, or that it has ended. */
CASE(hostile__errors)
{
    Fixture *f = *state;
    static const int32_t errors[] = {-EAGAIN, -EPIPE, -EACCES};
    uint8_t bytes[ANSWER_MAX] = {0};
    const size_t size = answer_size(f);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        memcpy(bytes, &errors[i], sizeof errors[i]);
        assert_int_equal(hear(f, bytes, size), errors[i] == -EACCES ? -EACCES : -EIO);
    }
}

CASE(gone__is_said)
{
    Fixture *f = *state;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    reloader_close(&f->reloader);
    f->reloader.fd = pair[0];
    assert_int_equal(reloader_take(&f->reloader, &f->got, f->error), -EAGAIN);
    (void)close(pair[1]);
    assert_int_equal(take(f), -EPIPE);
    assert_non_null(strstr(f->error, "start imd again"));
    assert_true(reloader_ask(&f->reloader) < 0);
}
