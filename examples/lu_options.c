/* SPDX-License-Identifier: MIT */
/* The command line of lu. */
#include "examples/lu_options.h"

#include "base/parse.h"
#include "examples/command_line.h"

enum { THREADS_MAX = 256 };
#define COMPUTE_RATE_MAX 1000000000000000ull

enum {
    OPT_ORDER = COMMAND_LINE_OWN,
    OPT_SLAB,
    OPT_FILES,
    OPT_DIR,
    OPT_BACKEND,
    OPT_POLICY,
    OPT_GENERATE,
    OPT_CHECK,
    OPT_THREADS,
    OPT_COMPUTE_RATE,
    OPT_JSON,
    OPT_PROGRESS,
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
    {"compute-rate", required_argument, NULL, OPT_COMPUTE_RATE},
    {"json", no_argument, NULL, OPT_JSON},
    {"progress", no_argument, NULL, OPT_PROGRESS},
    COMMAND_LINE_COMMON,
};

static const char help_text[] =
    "Usage: lu --dir DIR [OPTION...]\n"
    "Factors a dense matrix that is kept in files, with partial pivoting and in place, reading\n"
    "from the disk or through Dodo, and says how long it took.\n"
    "\n"
    "  --dir DIR             where the matrix is, then its factors\n"
    "  --generate SEED       make the matrix of that seed first\n"
    "  --order N             rows and columns (default: what DIR has; with --generate: none)\n"
    "  --slab N              columns of a slab (default: what DIR has; with --generate: 64)\n"
    "  --files N             files (default: what DIR has; with --generate: 8)\n"
    "  --backend BACKEND     disk, dodo, or manage, the region cache (default: dodo)\n"
    "  --policy NAME         replacement policy of manage's cache: first-in (the default), lru or "
    "mru\n"
    "  --check               solve a system with the factors and print the scaled residual;\n"
    "                        where DIR holds factors already, that is all that is done\n"
    "  --threads N           threads that compute (default: 1)\n"
    "  --compute-rate N      compute as if the processor did no more than N floating-point\n"
    "                        operations a second (default: as fast as it is)\n"
    "  --json                the result as one JSON object\n"
    "  --progress            lines of progress on standard error, if that is no terminal\n"
    "  --help, --version\n"
    "\n"
    "The manager is found by DODO_MANAGER=ADDR:PORT and DODO_KEY=FILE, or by the file\n"
    "dodo.conf(5). Status: 0; 1: it failed, the matrix is singular, or the residual is too large;\n"
    "2: bad command line.\n";

/* One option with its argument: 0, or < 0 when the argument is no good. */
static int take_option(void *ctx, int opt, const char *arg)
{
    LuOptions *o = ctx;
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
    case OPT_COMPUTE_RATE:
        return parse_u64(arg, 1, COMPUTE_RATE_MAX, &o->compute_rate);
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

/* What is wrong with the options as a whole; NULL: nothing. */
static const char *find_fault(void *ctx, char *text)
{
    const LuOptions *o = ctx;
    if (!o->dir)
        return "--dir is missing";
    if (o->generate && o->layout.order == 0)
        return "--generate needs --order";
    if (o->policy && !backend_has_policy(o->backend, o->policy))
        return "the back end has no such --policy";
    return NULL;
}

static const CommandLine command_line = {
    .program = "lu",
    .version = "lu (Dodo) " DODO_VERSION,
    .help = help_text,
    .options = long_options,
    .take = take_option,
    .find_fault = find_fault,
};

int lu_options_parse(LuOptions *o, int argc, char **argv, int *ret_status)
{
    *o = (LuOptions){.backend = &backend_dodo, .threads = 1};
    int result = command_line_parse(&command_line, o, argc, argv, ret_status);
    if (o->generate && o->layout.slab == 0)
        o->layout.slab = 64; /* the paper's, as are the files */
    if (o->generate && o->layout.files == 0)
        o->layout.files = 8;
    return result;
}
