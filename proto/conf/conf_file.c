/* SPDX-License-Identifier: MIT */
/* The config files on the disk, and the variables that beat them. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/lines.h"
#include "base/os.h"
#include "base/printable.h"
#include "base/text_file.h"
#include "proto/conf/conf.h"
#include "proto/conf/defaults.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Hidden files are those that editors leave. */
static bool is_config(const char *name)
{
    const size_t len = strlen(name), end = strlen(".conf");
    return *name != '.' && len > end && strcmp(name + len - end, ".conf") == 0;
}

static int add_file(ConfFiles *f, const char *dir, const char *name, char *error, size_t cap)
{
    if (f->count == CONF_FILES_MAX) {
        char shown[LINES_NAME_MAX];
        (void)snprintf(error, cap, "%s: more than %d files: join some of them",
                       printable_path(dir, shown, sizeof shown), CONF_FILES_MAX - 1);
        return -E2BIG;
    }
    if (asprintf(&f->paths[f->count], "%s/%s", dir, name) < 0)
        return -ENOMEM;
    f->count++;
    return 0;
}

static int add_all(ConfFiles *f, const char *dir, char *error, size_t cap)
{
    OS_DESCRIPTORS_BUSY;
    DIR *d = opendir(dir);
    int res = d ? 0 : -errno;
    struct stat st;
    if (!d &&
        lstat(dir, &st) != 0) /* nothing is there; a path that is wrong is FILE's fault, too */
        res = 0;
    for (const struct dirent *e; d && res == 0 && (e = readdir(d));)
        if (is_config(e->d_name))
            res = add_file(f, dir, e->d_name, error, cap);
    if (d)
        (void)closedir(d);
    return res;
}

/* What the system says helps nobody who does not know where the name comes from. */
static int advise(int res, const char *what, char *error, size_t cap)
{
    const size_t at = strlen(error);
    switch (res) {
    case -ENOENT:
    case -EISDIR:
    case -ENOTDIR:
    case -ELOOP:
    case -ENAMETOOLONG:
    case -ENXIO:
        (void)snprintf(error + at, cap - at, "; %s", what);
        break;
    case -EACCES:
        (void)snprintf(error + at, cap - at, "; let this user read it");
        break;
    default: /* no fault of the file */
        break;
    }
    return res;
}

int conf_files_find(const char *path, ConfFiles *ret, char *error, size_t cap)
{
    const char *name = path ? path : DEFAULT_CONFIG_PATH;
    CLEANUP_FREE char *dir = NULL;
    *ret = (ConfFiles){.count = 0};
    ret->paths[0] = strdup(name);
    ret->count = ret->paths[0] != NULL;
    int res = -ENOMEM;
    if (ret->paths[0] && asprintf(&dir, "%s.d", name) >= 0)
        res = add_all(ret, dir, error, cap);
    if (res < 0 && res != -E2BIG) {
        (void)text_file_fail(dir ? dir : name, res, error, cap);
        res = advise(res, "make it a directory of files, or remove it", error, cap);
    }
    if (res == 0)
        qsort(ret->paths + 1, ret->count - 1, sizeof *ret->paths, by_name);
    return res;
}

void conf_files_free(ConfFiles *f)
{
    for (unsigned i = 0; i < f->count; i++)
        free(f->paths[i]);
    f->count = 0;
}

int conf_file_lines(const ConfFiles *f, unsigned i, bool asked, KeyFileFn fn, void *ctx,
                    char *error, size_t cap)
{
    const int res = key_file_read(f->paths[i], fn, ctx, error, cap);
    if (res == -ENOENT && i == 0 && !asked) { /* the default one need not exist */
        *error = '\0';
        return 0;
    }
    return advise(res,
                  i == 0 && asked ? "give the right file with --config or DODO_CONFIG"
                                  : "make it a file of settings, or remove it",
                  error, cap);
}

static int read_all(const ConfFiles *f, bool asked, ConfReading *r, char *error, size_t cap)
{
    r->names = (const char *const *)f->paths;
    for (; r->file < f->count; r->file++) {
        int res = conf_file_lines(f, r->file, asked, conf_on_line, r, error, cap);
        if (res != 0)
            return res;
    }
    return conf_rules(r, error, cap);
}

int conf_file_read(const char *path, unsigned reader, ConfFn fn, void *ctx, char *error, size_t cap)
{
    ConfFiles files;
    ConfReading *r = calloc(1, sizeof *r); /* too much for the stack of a user's thread */
    int res = conf_files_find(path, &files, error, cap);
    if (!r) {
        (void)snprintf(error, cap, "%s: no memory", path ? path : DEFAULT_CONFIG_PATH);
        res = -ENOMEM;
    } else if (res == 0) {
        r->reader = reader;
        r->fn = fn;
        r->ctx = ctx;
        res = read_all(&files, path != NULL, r, error, cap);
    }
    conf_files_free(&files);
    free(r);
    return res;
}

/* NULL: they cannot be read, or have an error. free() it, and conf_files_free() in either case. */
static ConfReading *read_again(const char *path, ConfFiles *files)
{
    char error[KEY_ERROR_MAX];
    ConfReading *r = calloc(1, sizeof *r);
    if (conf_files_find(path, files, error, sizeof error) == 0 && r &&
        read_all(files, false, r, error, sizeof error) == 0)
        return r;
    free(r);
    return NULL;
}

size_t conf_place(const char *path, const char *group, const char *name, char *ret, size_t cap)
{
    ConfFiles files;
    ConfReading *r = read_again(path, &files);
    size_t len = r ? conf_reading_place(r, group, name, ret, cap) : 0;
    conf_files_free(&files);
    free(r);
    if (len > 0 && len < cap - 1)
        return len;
    *ret = '\0'; /* nothing, or cut off */
    return 0;
}

bool conf_file_doubt(const char *path, char *text, size_t cap)
{
    ConfFiles files;
    ConfReading *r = read_again(path, &files);
    bool doubt = r && conf_doubt(r, text, cap);
    conf_files_free(&files);
    free(r);
    return doubt;
}

/* A ConfFn. */
static int on_variable(void *ctx, const ConfKey *k, const ConfValue *v, char *error, size_t cap)
{
    (void)error;
    (void)cap;
    conf_on_variable(ctx, k, v);
    return 0;
}

int conf_file_variables(const char *path, char *(*get)(const char *name), char *error, size_t cap)
{
    ConfFiles files;
    ConfReading *r = read_again(path, &files);
    char ignored[KEY_ERROR_MAX];
    int res = 0;
    if (r && conf_env_read(UINT_MAX, get, on_variable, r, ignored, sizeof ignored) == 0)
        res = conf_variable_rules(r, error, cap);
    conf_files_free(&files);
    free(r);
    return res;
}

int conf_env_read(unsigned reader, char *(*get)(const char *name), ConfFn fn, void *ctx,
                  char *error, size_t cap)
{
    for (size_t i = 0; i < conf_keys_count; i++) {
        const ConfKey *k = &conf_keys[i];
        char what[256];
        ConfValue v;
        const char *text = k->env && (k->readers & reader) ? get(k->env) : NULL;
        if (!text || !*text)
            continue;
        if (conf_parse(k, text, &v) != 0) {
            (void)snprintf(what, sizeof what, "%s=%s", k->env, text);
            return conf_refuse(k, what, error, cap);
        }
        int res = fn(ctx, k, &v, error, cap);
        if (res != 0)
            return res;
    }
    return 0;
}
