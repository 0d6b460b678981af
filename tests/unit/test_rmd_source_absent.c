/* SPDX-License-Identifier: MIT */
/* Sources whose other side is not there, or accepts connections and never says a word: they do not
 * know, and nobody hangs. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "tests/lib/tmpdir.h"
#include "tests/unit/source_fixture.h"

static void ask(Fixture *f, const SourceKind *kind, const char *address)
{
    source_start(f, kind,
                 &(SourceSettings){.bus = address, .session_bus = address, .display = address});
}

/* False: Dodo was built without X11, and the source says so. */
static bool has_x11(const Fixture *f)
{
    return !strstr(f->report.text, "built without X11");
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

/* ---- buses ---------------------------------------------------------------------------------- */

CASE(bus__switched_off)
{
    assert_null(source_logind.open(&(SourceSettings){.bus = "none"}));
}

CASE(bus__none)
{
    Fixture *f = *state;
    ask(f, &source_logind, "unix:path=/nonexistent/bus");
    look(f, 0);
    assert_unknown(f, "No such file or directory");
    look(f, 10 * S);
    assert_unknown(f, "No such file or directory");
}

CASE(bus__not_an_address)
{
    Fixture *f = *state;
    ask(f, &source_desktop, "nonsense");
    look(f, 0);
    assert_unknown(f, "nonsense");
}

/* Something accepts connections there and never says a word. */
CASE(bus__silent)
{
    Fixture *f = *state;
    TmpDir dir;
    char path[256], address[300];
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    tmpdir_make(&dir);
    (void)tmpdir_path(&dir, "bus", path);
    memcpy(a.sun_path, path, strnlen(path, sizeof a.sun_path - 1));
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 8), 0);
    (void)snprintf(address, sizeof address, "unix:path=%s", path);
    ask(f, &source_logind, address);
    look(f, 0);
    assert_unknown(f, "the bus does not answer");
    look(f, S);
    assert_unknown(f, "the bus does not answer");
    look(f, 6 * S); /* asked again, and given up again */
    assert_false(f->report.known);
    tmpdir_remove(&dir);
}

/* ---- X servers ------------------------------------------------------------------------------ */

CASE(x11__no_server)
{
    Fixture *f = *state;
    static const char *const displays[] = {"unix:/nonexistent/display", "", "nonsense"};
    (void)unsetenv("DISPLAY"); /* which an empty one means */
    for (size_t i = 0; i < ARRAY_SIZE(displays); i++) {
        for (unsigned again = 0; again < 2; again++) {
            if (!again)
                ask(f, &source_x11, displays[i]);
            look(f, 0);
            assert_unknown(f, has_x11(f) ? "no X server answers there" : "");
        }
    }
}

/* Something accepts connections there and never says a word. */
CASE(x11__silent_server)
{
    Fixture *f = *state;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    char display[32];
    CLEANUP_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_true(ntohs(a.sin_port) >= 6000); /* as free ports are */
    (void)snprintf(display, sizeof display, "127.0.0.1:%d", ntohs(a.sin_port) - 6000);
    ask(f, &source_x11, display);
    for (unsigned again = 0; again < 2; again++) {
        look(f, 0);
        assert_unknown(f, has_x11(f) ? "the X server does not answer" : "");
    }
    f->source->kind->close(f->source); /* while its thread hangs */
    f->source = NULL;
}
