/* SPDX-License-Identifier: MIT */
/* dodo keygen: a new cluster key. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/printable.h"
#include "daemon/config.h"
#include "daemon/start.h"
#include "proto/conf/cluster_key.h"
#include "tools/command.h"

static const ConfigProgram program = {
    .name = "dodo keygen",
    .reader = CONF_TOOL,
    .arguments = "[FILE]",
    .summary =
        "Makes a new cluster key: in FILE, which must not be there yet, and which only its owner\n"
        "can read (and, where root makes it, the group dodo); or prints it.",
};

static void make_text(char text[CLUSTER_KEY_LINE])
{
    ClusterKey key;
    os_random(NULL, &key, sizeof key);
    cluster_key_line(&key, text);
    explicit_bzero(&key, sizeof key);
}

static int fail(const char *path, const char *advice)
{
    const char *why = strerror(errno);
    char error[CONFIG_ERROR_MAX], shown[256];
    (void)snprintf(error, sizeof error, "cannot make %s: %s%s",
                   printable_path(path, shown, sizeof shown), why, advice);
    return start_failed(&program, EXIT_START, error);
}

/* Those who run Dodo's daemons and programs, where an administrator makes the key. */
static void share_with_group(int fd)
{
    const struct group *g = geteuid() == 0 ? getgrnam("dodo") : NULL;
    if (g && fchown(fd, (uid_t)-1, g->gr_gid) == 0)
        (void)fchmod(fd, 0640);
}

static int write_file(const char *path, const char text[CLUSTER_KEY_LINE])
{
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(path, errno == EEXIST ? "; a key that is in use is not overwritten" : "");
    if (write(fd, text, CLUSTER_KEY_LINE) != CLUSTER_KEY_LINE || fsync(fd) != 0) {
        int res = fail(path, "");
        (void)unlink(path);
        return res;
    }
    share_with_group(fd);
    return EXIT_SUCCESS;
}

static int print(const char text[CLUSTER_KEY_LINE])
{
    struct stat st;
    if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IROTH))
        (void)fprintf(stderr,
                      "%s: warning: others can read the file that this goes to; better: "
                      "dodo keygen FILE\n",
                      program.name);
    (void)fwrite(text, CLUSTER_KEY_LINE, 1, stdout); /* main() sees whether it came through */
    return EXIT_SUCCESS;
}

static int run(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "", text[CLUSTER_KEY_LINE];
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, NULL, error);
    if (outcome != CONFIG_OK)
        return start_config_failed(&program, outcome, error);
    if (argc > 2)
        return start_failed(&program, EXIT_USAGE, "one file at most");
    make_text(text);
    int status = argc == 2 ? write_file(argv[1], text) : print(text);
    explicit_bzero(text, sizeof text);
    return status;
}

const Command command_keygen = {"keygen", "Make a new cluster key", run};
