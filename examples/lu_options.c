/* SPDX-License-Identifier: MIT */
/* The command line of lu. */
#include "examples/lu_options.h"

#include <getopt.h>
#include <stdio.h>

#include "base/parse.h"

enum { THREADS_MAX = 256 };

enum {
    OPT_ORDER = 256,
    OPT_SLAB,
    OPT_FILES,
    OPT_DIR,
    OPT_BACKEND,
    OPT_POLICY,
    OPT_GENERATE,
    OPT_CHECK,
    OPT_THREADS,
    OPT_JSON,
    OPT_PROGRESS,
    OPT_HELP,
    OPT_VERSION,
};

static const struct option long_options[] = {
    {"order", required_argument, NULL, OPT_ORDER},
    {"slab", required_argument, NULL, OPT_SLAB},
    {"files", required_argument, NULL, OPT_FILES},
    {"dir", required_argument, NULL, OPT_DIR},
    {"backend", required_argument, NULL, OPT_BACKEND},
    {"policy", required_argument, NULL, OPT_POLICY},
    {"generate", required_argument, NULL, OPT_GENERATE},
    {"check", no_argument, NULL, OPT_CHECK},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"json", no_argument, NULL, OPT_JSON},
    {"progress", no_argument, NULL, OPT_PROGRESS},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static const char help_text[] =
    "Usage: lu --dir DIR [OPTION...]\n"
    "Factors a dense matrix that is kept in files, with partial pivoting and in place, reading\n"
    "from the disk or through Dodo, and tells how long it took.\n"
    "\n"
    "  --dir DIR             where the matrix is, then its factors\n"
    "  --generate SEED       make the matrix of that seed first\n"
    "  --order N             rows and columns (default: what DIR has; with --generate: none)\n"
    "  --slab N              columns of a slab (default: what DIR has; with --generate: 64)\n"
    "  --files N             files (default: what DIR has; with --generate: 8)\n"
    "  --backend BACKEND     disk, dodo, or manage, the region cache (default: dodo)\n"
    "  --policy NAME         replacement policy of manage's cache: lru (the default), mru or "
    "first-in\n"
    "  --check               solve a system with the factors and tell the scaled residual;\n"
    "                        where DIR holds factors already, that is all that is done\n"
    "  --threads N           threads that compute (default: 1)\n"
    "  --json                the result as one JSON object\n"
    "  --progress            lines of progress on standard error, if that is no terminal\n"
    "  --help, --version\n"
    "\n"
    "The manager is found by DODO_MANAGER=ADDR:PORT and DODO_KEY=FILE, or by the file\n"
    "dodo.conf(5). Status: 0; 1: it failed, the matrix is singular, or the residual is too large;\n"
    "2: bad command line.\n";

/* One option with its argument: 0, or < 0 when the argument is no good. */
static int take_option(LuOptions *o, int opt, const char *arg)
{
    switch (opt) {
    case OPT_ORDER:
        return parse_u64(arg, 1, LU_ORDER_MAX, &o->layout.order);
    case OPT_SLAB:
        return parse_u64(arg, 1, LU_SLAB_MAX, &o->layout.slab);
    case OPT_FILES:
        return parse_u64(arg, 1, LU_FILES_MAX, &o->layout.files);
    case OPT_DIR:
        o->dir = arg;
        return 0;
    case OPT_BACKEND:
        o->backend = backend_find(arg);
        return o->backend && o->backend->write ? 0 : -1;
    case OPT_POLICY:
        o->policy = arg;
        return 0;
    case OPT_GENERATE:
        o->generate = true;
        return parse_u64(arg, 0, UINT64_MAX, &o->seed);
    case OPT_CHECK:
        o->check = true;
        return 0;
    case OPT_THREADS:
        return parse_u64(arg, 1, THREADS_MAX, &o->threads);
    case OPT_JSON:
        o->json = true;
        return 0;
    case OPT_PROGRESS:
        o->progress = true;
        return 0;
    default:
        return -1;
    }
}

static int complain(const char *what)
{
    fprintf(stderr, "lu: %s; lu --help tells more\n", what);
    return 2;
}

int lu_options_parse(LuOptions *o, int argc, char **argv, int *ret_status)
{
    *o = (LuOptions){.backend = &backend_dodo, .threads = 1};
    int opt, index = 0;
    while ((opt = getopt_long(argc, argv, "", long_options, &index)) != -1) {
        char text[256];
        if (opt == OPT_HELP || opt == OPT_VERSION) {
            fputs(opt == OPT_HELP ? help_text : "lu (Dodo) " DODO_VERSION "\n", stdout);
            return *ret_status = 0, 1;
        }
        if (opt == '?')
            return *ret_status = 2, 1; /* getopt has told */
        if (take_option(o, opt, optarg) < 0) {
            snprintf(text, sizeof text, "--%s does not take '%s'", long_options[index].name,
                     optarg);
            return *ret_status = complain(text), 1;
        }
    }
    const char *fault = optind < argc                         ? "only options are taken"
                        : !o->dir                             ? "--dir is missing"
                        : o->generate && o->layout.order == 0 ? "--generate needs --order"
                                                              : NULL;
    if (!fault && o->policy && !backend_has_policy(o->backend, o->policy))
        fault = "the back end has no such --policy";
    if (fault)
        return *ret_status = complain(fault), 1;
    if (o->generate && o->layout.slab == 0)
        o->layout.slab = 64; /* the paper's, as are the files */
    if (o->generate && o->layout.files == 0)
        o->layout.files = 8;
    return 0;
}
