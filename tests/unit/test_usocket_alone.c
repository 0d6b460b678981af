/* SPDX-License-Identifier: MIT */
/* libusocket where there is no helper, or one that is none: what programs get to know. */
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/lib/tmpdir.h"
#include "tests/unit/usocket_fixture.h"
#include "usocket/raw/grant.h"

static TmpDir dir;

/* A MAC address on the loopback: whether it can have one is for the helper to say. */
static int bind_raw(void)
{
    int s = u_socket(0, 0);
    macaddr_t a = u_aton("any/7%lo");
    assert_int_equal(a.kind, DODO_U_MAC);
    int res = u_bind(s, &a, 1), error = errno;
    assert_int_equal(res, -1);
    assert_int_equal(u_close(s), 0);
    return error;
}

TEST(bind__without_a_helper)
{
    assert_int_equal(bind_raw(), ECONNREFUSED);
    assert_non_null(strstr(dodo_u_last_error(), "dodo-socket(8)"));
    assert_non_null(strstr(dodo_u_last_error(), "UDP"));
}

TEST(bind__where_the_directory_is_none)
{
    tmpdir_text(&dir, "lo", "no socket");
    assert_int_equal(bind_raw(), ECONNREFUSED);
    tmpdir_delete(&dir, "lo");
}

TEST(aton__interfaces)
{
    char text[DODO_U_TEXT_MAX];
    macaddr_t a = u_aton("02:00:00:00:00:01/7%lo");
    assert_int_not_equal(a.scope, 0);
    assert_string_equal(u_ntoa(a, text), "02:00:00:00:00:01/7%lo");
    assert_ptr_equal(u_ntoa(a, text), text);
    assert_string_equal(u_ntoa(a, NULL), text);
    macaddr_t ip6 = u_aton("[fe80::1%lo]:7"); /* link-local */
    assert_int_equal(ip6.scope, a.scope);
    assert_string_equal(u_ntoa(ip6, text), "[fe80::1%lo]:7");
    assert_int_equal(u_aton("[fe80::1%nothere]:7").kind, DODO_U_NONE);
    errno = 0;
    assert_int_equal(u_aton("02:00:00:00:00:01/7%nothere").kind, DODO_U_NONE);
    assert_int_equal(errno, ENODEV);
    assert_int_equal(u_aton("02:00:00:00:00:01").kind, DODO_U_NONE);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(u_aton(NULL).kind, DODO_U_NONE);
    a.scope = 1234567; /* gone */
    assert_string_equal(u_ntoa(a, text), "02:00:00:00:00:01/7%1234567");
    macaddr_t back = u_aton(text);
    assert_memory_equal(&back, &a, sizeof a);
}

/* ---- a helper that is none ------------------------------------------------------------------- */

typedef struct Impostor {
    pthread_t thread;
    int listener;
    GrantReply reply;
    size_t len; /* of the reply; 0: hangs up */
    int passed; /* descriptor to pass; -1: none */
    int magic;  /* to add to the first byte */
} Impostor;

static void *impostor_run(void *ctx)
{
    Impostor *im = ctx;
    uint8_t bytes[GRANT_MESSAGE + 1] = {0};
    GrantRequest asked;
    int fd = accept(im->listener, NULL, NULL);
    ssize_t n = recv(fd, bytes, sizeof bytes, 0);
    if (n == GRANT_MESSAGE && grant_request_decode(bytes, (size_t)n, &asked) == 0 &&
        asked.port == 7 && strcmp(asked.interface, "lo") == 0 && im->len > 0) {
        union {
            struct cmsghdr header;
            char bytes[CMSG_SPACE(sizeof(int))];
        } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
                                .cmsg_level = SOL_SOCKET,
                                .cmsg_type = SCM_RIGHTS}};
        grant_reply_encode(&im->reply, bytes);
        bytes[0] = (uint8_t)(bytes[0] + im->magic);
        struct iovec iov = {bytes, im->len};
        struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
        if (im->passed >= 0) {
            memcpy(CMSG_DATA(&control.header), &im->passed, sizeof im->passed);
            m.msg_control = &control;
            m.msg_controllen = sizeof control.bytes;
        }
        (void)sendmsg(fd, &m, MSG_NOSIGNAL);
    }
    (void)close(fd);
    return NULL;
}

/* What bind() says to such an answer. */
static int bind_with(Impostor im)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s/lo", dir.path);
    im.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(im.listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(im.listener, 1), 0);
    assert_int_equal(pthread_create(&im.thread, NULL, impostor_run, &im), 0);
    int error = bind_raw();
    assert_int_equal(pthread_join(im.thread, NULL), 0);
    assert_int_equal(close(im.listener), 0);
    tmpdir_delete(&dir, "lo");
    return error;
}

TEST(bind__the_helpers_refusals_come_through)
{
    const int errors[] = {EACCES, EADDRINUSE, EADDRNOTAVAIL, EDQUOT, ENODEV};
    for (int i = 0; i < 5; i++) {
        const Impostor im = {.reply = {.error = errors[i]}, .len = GRANT_MESSAGE, .passed = -1};
        assert_int_equal(bind_with(im), errors[i]);
    }
}

TEST(bind__answers_that_are_none)
{
    const macaddr_t lo = u_aton("any/7%lo");
    const GrantReply fine = {.mac = {2, 0, 0, 0, 0, 1}, .port = 7, .interface = lo.scope};
    int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    Impostor im = {.reply = fine, .len = GRANT_MESSAGE, .passed = -1};
    assert_int_equal(bind_with(im), EPROTO); /* no socket with it */
    im.passed = udp;
    assert_int_equal(bind_with(im), EPROTO); /* a socket of another kind */
    im.reply.interface++;
    assert_int_equal(bind_with(im), EPROTO); /* another network namespace */
    im.reply = fine;
    im.len = GRANT_MESSAGE - 1;
    assert_int_equal(bind_with(im), EPROTO);
    im.len = GRANT_MESSAGE + 1;
    assert_int_equal(bind_with(im), EPROTO);
    im.len = GRANT_MESSAGE;
    im.magic = 1;
    assert_int_equal(bind_with(im), EPROTO);
    im.len = 0;
    assert_int_equal(bind_with(im), EPROTO); /* it hangs up */
    assert_int_equal(close(udp), 0);
}

/* ---- */

static int set_up(void **state)
{
    (void)state;
    tmpdir_make(&dir);
    return setenv("DODO_SOCKET_DIR", dir.path, 1);
}

static int tear_down(void **state)
{
    (void)state;
    tmpdir_remove(&dir);
    return 0;
}

int main(void)
{
    return cases_run(set_up, tear_down);
}
