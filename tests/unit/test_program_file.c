/* SPDX-License-Identifier: MIT */
/* A process's page in its file: it is there while the process is, and no longer. */
#include "libdodo/program_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "libdodo/program_dir.h"
#include "tests/lib/case.h"
#include "tests/lib/tmpdir.h"

static TmpDir tmp;
static char dir[4200];

static int set_up(void **state)
{
    (void)state;
    tmpdir_make(&tmp);
    (void)setenv("XDG_RUNTIME_DIR", tmp.path, 1);
    (void)snprintf(dir, sizeof dir, "%s/dodo/programs", tmp.path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tmpdir_remove(&tmp);
    return 0;
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

/* Files there; the last one's name. */
static unsigned files(char name[256])
{
    unsigned n = 0;
    DIR *d = opendir(dir);
    for (const struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') {
            (void)snprintf(name, 256, "%s", e->d_name);
            n++;
        }
    if (d)
        (void)closedir(d);
    return n;
}

static enum ProgramVerdict look(const char *name, Program *ret)
{
    char path[4600];
    ProgramPage seen[PROGRAM_SEEN];
    ssize_t len = 0;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    CLEANUP_CLOSE int fd = open(path, O_RDONLY);
    for (unsigned i = 0; i < PROGRAM_SEEN; i++)
        len = pread(fd, &seen[i], sizeof seen[i], 0);
    return program_page_judge(seen, len > 0 ? (size_t)len : 0, ret);
}

static bool lives(const char *name)
{
    char path[4600];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    CLEANUP_CLOSE int fd = open(path, O_RDONLY);
    return program_lives(fd);
}

/* A process that has a page until it is ended, or until somebody writes to *ret_fd; it forks first
 * where @forks is set. */
static pid_t program(bool forks, int *ret_fd)
{
    int ready[2], end[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(end), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(end[1]);
        ProgramPart *part = program_part(PROGRAM_LIBRARY);
        if (part)
            program_part_write(part, &(ProgramFigures){.regions = 3});
        bool child = forks && fork() == 0;
        if (child)
            program_abandon(); /* as the library's handler has it */
        if (child == forks)    /* the last of them */
            (void)!write(ready[1], "x", 1);
        if (child) {
            (void)!read(end[0], &byte, 1);
            _exit(0);
        }
        (void)!read(end[0], &byte, 1);
        exit(part ? 0 : 1);
    }
    (void)close(end[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    *ret_fd = end[1];
    return pid;
}

static void end(pid_t pid, int fd, int by)
{
    int status;
    if (by)
        (void)kill(pid, by);
    else
        (void)!write(fd, "x", 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!by)
        assert_int_equal(status, 0);
}

CASE(page__is_there_while_the_process_is)
{
    int fd;
    Program p;
    struct stat st;
    char name[256], path[4600], comm[32] = "";
    pid_t pid = program(false, &fd);
    assert_int_equal(files(name), 1);
    assert_true(program_name_fits(name));
    assert_int_equal(look(name, &p), PROGRAM_GOOD);
    assert_int_equal(p.pid, pid);
    assert_int_equal(p.figures.regions, 3);
    assert_true(p.started_ns > 0);
    FILE *f = fopen("/proc/self/comm", "r");
    if (f && fgets(comm, sizeof comm, f))
        assert_int_equal(strncmp(comm, p.name, strlen(p.name)), 0);
    if (f)
        (void)fclose(f);
    assert_true(lives(name));
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(st.st_size, sizeof(ProgramPage));
    end(pid, fd, 0);
    assert_int_equal(files(name), 0);
    (void)close(fd);
}

CASE(page__of_one_that_was_killed_goes_with_the_next)
{
    int fd, next_fd;
    char name[256], now[256];
    pid_t pid = program(false, &fd);
    end(pid, fd, SIGKILL);
    assert_int_equal(files(name), 1);
    assert_false(lives(name));
    pid_t next = program(false, &next_fd);
    assert_int_equal(files(now), 1);
    assert_string_not_equal(name, now);
    assert_true(lives(now));
    end(next, next_fd, 0);
    assert_int_equal(files(now), 0);
    (void)close(fd);
    (void)close(next_fd);
}

/* The child goes on, and has no part in its parent's. */
CASE(page__ends_with_the_process_that_has_forked)
{
    int fd;
    char name[256];
    pid_t pid = program(true, &fd);
    assert_true(files(name) == 1 && lives(name));
    end(pid, fd, SIGKILL);
    assert_int_equal(files(name), 1);
    assert_false(lives(name));
    (void)close(fd);
}

CASE(sweep__leaves_what_is_no_file_of_a_program)
{
    int fd;
    char path[4600], name[256];
    pid_t pid = program(false, &fd);
    (void)snprintf(path, sizeof path, "%s/1-1", dir);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    (void)snprintf(path, sizeof path, "%s/2-1", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)snprintf(path, sizeof path, "%s/3-1", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/word", dir);
    assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
    CLEANUP_CLOSE int at = open(dir, O_RDONLY | O_DIRECTORY);
    program_dir_sweep(at);
    assert_true(files(name) >= 4);
    assert_int_equal(access(path, F_OK), 0);
    end(pid, fd, 0);
    (void)close(fd);
}

/* It goes on without one: its files may have no length. */
CASE(page__is_none_where_no_file_can_be)
{
    int status;
    char name[256];
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit none = {0, 0};
        _exit(setrlimit(RLIMIT_FSIZE, &none) != 0 || program_part(PROGRAM_CACHE) ||
              program_part(PROGRAM_CACHE));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(files(name), 0);
}
