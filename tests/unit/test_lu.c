/* SPDX-License-Identifier: MIT */
/* The program lu, as it is called: what it prints, and how it ends. */
#include <sys/wait.h>

#include "base/cleanup.h"
#include "tests/lib/case.h"
#include "tests/unit/lu_fixture.h"

#define NO_MANAGER "127.0.0.1:1"

static const char *program;
static TmpDir dir;
static char said[8192]; /* by the last run, on both streams */

static int dir_make(void **state)
{
    (void)state;
    tmpdir_make(&dir);
    return 0;
}

static int dir_remove(void **state)
{
    (void)state;
    tmpdir_remove(&dir);
    return 0;
}

/* Runs "lu --dir DIR ARGS": its exit status. */
static int run(const char *args)
{
    char command[1024];
    snprintf(command, sizeof command, "'%s' --dir '%s' %s 2>&1 </dev/null", program, dir.path,
             args);
    FILE *f = popen(command, "r"); /* NOLINT: nothing of it comes from outside */
    assert_non_null(f);
    size_t n = fread(said, 1, sizeof said - 1, f);
    said[n] = '\0';
    int status = pclose(f);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void says(const char *what)
{
    if (!strstr(said, what))
        fail_msg("'%s' is not in '%s'", what, said);
}

TEST(wrong_command_lines__are_refused)
{
    static const char *const bad[] = {"--order 0",   "--order x",      "--slab 5000",
                                      "--files 65",  "--backend tape", "--generate 1",
                                      "--threads 0", "--colour",       "more"};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(run(bad[i]), 2);
    assert_int_equal(run("--help"), 0);
    says("Usage: lu ");
    assert_int_equal(run("--version"), 0);
}

TEST(generated__is_factored_and_checked)
{
    assert_int_equal(run("--generate 5 --order 100 --slab 16 --backend disk --check"), 0);
    says("order 100 on disk: factored in ");
    says(": right (");
    assert_int_equal(run("--backend disk"), 1);
    says("factored already");
    assert_int_equal(run("--check --json"), 0); /* nothing but the check */
    says("\"residual\":0.0");
    assert_null(strstr(said, "backend"));
    assert_int_equal(run("--order 101 --check"), 1);
    says("another order, slab or number of files");
}

/* A number of the factors that is changed makes the check fail. */
TEST(factors__that_are_wrong_are_found_out)
{
    char path[256];
    double wrong = 0.7;
    assert_int_equal(run("--generate 5 --order 100 --slab 16 --backend disk --check"), 0);
    int fd CLEANUP_CLOSE = open(tmpdir_path(&dir, "matrix.3", path), O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, &wrong, sizeof wrong, 160), sizeof wrong);
    assert_int_equal(run("--check"), 1);
    says("WRONG");
    assert_int_equal(run("--check --json"), 1);
    says("\"errors\":1}");
}

TEST(own_matrix__is_factored_but_not_checked)
{
    const LuLayout l = {3, 2, 2};
    const double a[9] = {0, 1, 2, 4, 5, 6, 8, 9, 11};
    double lu[9];
    fixture_store(&dir, &l, a);
    assert_int_equal(run("--backend disk --check"), 1);
    says("only what --generate made can be checked");
    assert_int_equal(run("--backend disk"), 0);
    assert_null(strstr(said, "singular"));
    fixture_load(&dir, &l, lu);
    /* By hand: rows 3, 1, 2; L below the diagonal, U from it on. */
    const double wanted[9] = {8, 9, 11, 0, 1, 2, 0.5, 0.5, -0.5};
    for (unsigned i = 0; i < 9; i++)
        assert_true(lu[i] == wanted[i]);
}

TEST(singular__and_nearly_so_are_reported)
{
    const LuLayout l = {3, 2, 2};
    const double singular[9] = {1, 2, 3, 2, 4, 6, 7, 8, 9};
    const double nearly[9] = {1, 0, 0, 0, 1e-17, 0, 0, 0, 1};
    fixture_store(&dir, &l, nearly);
    assert_int_equal(run("--backend disk"), 0);
    says("nearly singular");
    fixture_store(&dir, &l, (double[9]){0});
    assert_int_equal(run("--backend disk"), 1);
    says("the matrix is singular: in column 1 ");
    assert_int_equal(run("--backend disk"), 1);
    says("interrupted");
    fixture_store(&dir, &l, singular);
    int status = run("--backend disk");
    assert_true(status == 1 || strstr(said, "nearly singular"));
}

TEST(damage__is_reported)
{
    char path[256];
    assert_int_equal(run("--generate 5 --order 100 --slab 16 --backend disk --check"), 0);
    assert_int_equal(truncate(tmpdir_path(&dir, "matrix.2", path), 800), 0);
    assert_int_equal(run("--check"), 1);
    says("matrix.2 has 800 bytes, where the layout has");
    says("restore it, or make the matrix again");
}

/* Without a manager Dodo's back end is the files, and the numbers are the same. */
TEST(dodo__without_a_manager_is_the_file)
{
    const LuLayout l = {60, 16, 3};
    double disk[3600], dodo[3600];
    assert_int_equal(run("--generate 6 --order 60 --slab 16 --files 3 --backend disk"), 0);
    fixture_load(&dir, &l, disk);
    assert_int_equal(run("--generate 6 --order 60 --slab 16 --files 3 --backend dodo --json"), 0);
    says("using the file meanwhile");
    says("\"remote_bytes\":0,");
    fixture_load(&dir, &l, dodo);
    assert_memory_equal(disk, dodo, sizeof disk);
}

/* Through a region cache of a few pieces, with each policy, the factors are those of the disk. */
TEST(manage__finds_the_same)
{
    static const char *const policies[] = {"",
                                           "--policy lru",
                                           "--policy mru",
                                           "--policy first-in",
                                           "--policy adaptive",
                                           "--policy s3-fifo",
                                           "--policy sieve"};
    const LuLayout l = {120, 16, 3};
    const size_t bytes = 120 * 120 * sizeof(double);
    double *disk = malloc(bytes), *manage = malloc(bytes);
    assert_non_null(disk);
    assert_non_null(manage);
    assert_int_equal(setenv("DODO_CACHE_SIZE", "40K", 1), 0);
    assert_int_equal(run("--generate 6 --order 120 --slab 16 --files 3 --backend disk"), 0);
    fixture_load(&dir, &l, disk);
    for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
        char args[256];
        snprintf(args, sizeof args,
                 "--generate 6 --order 120 --slab 16 --files 3 --backend manage --check --json %s",
                 policies[i]);
        assert_int_equal(run(args), 0);
        says("\"remote_bytes\":0,");
        says("\"errors\":0");
        /* The first time a manager that does not answer; then none, which costs no time. */
        assert_int_equal(unsetenv("DODO_MANAGER"), 0);
        memset(manage, 0, bytes);
        fixture_load(&dir, &l, manage);
        assert_memory_equal(disk, manage, bytes);
    }
    assert_int_equal(unsetenv("DODO_CACHE_SIZE"), 0);
    assert_int_equal(setenv("DODO_MANAGER", NO_MANAGER, 1), 0);
    assert_int_equal(run("--backend manage --policy best"), 2);
    assert_int_equal(run("--backend disk --policy lru"), 2);
    free(disk);
    free(manage);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    program = argv[1];
    /* Of whatever cluster there is on this machine: none. */
    if (setenv("DODO_MANAGER", NO_MANAGER, 1) < 0 || setenv("DODO_INSECURE", "1", 1) < 0 ||
        setenv("DODO_CONFIG", "/dev/null", 1) < 0 || unsetenv("DODO_KEY") < 0)
        return 2;
    return cases_run(dir_make, dir_remove);
}
