/* SPDX-License-Identifier: MIT */
/* The command line of lu. */
#include "examples/lu_options.h"

#include "base/parse.h"
#include "examples/command_line.h"

enum { THREADS_MAX = 256 };
#define COMPUTE_RATE_MAX 1000000000000000ull

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
    "  --policy NAME         replacement policy of manage's cache: first-in (the default), lru, "
    "mru,\n"
    "                        adaptive, s3-fifo or sieve\n"
    "  --check               solve a system with the factors and print the scaled residual;\n"
    "                        where DIR holds factors already, that is all that is done\n"
    "  --threads N           threads that compute (default: 1)\n"
    "  --compute-rate N      compute as if the processor did no more than N floating-point\n"
    "                        operations a second (default: as fast as it is)\n"
    "  --json                the result as one JSON object\n"
    "  --progress            lines of progress on standard error, if that is no terminal\n"
    "  --help, --version\n"
    "\n"
    "The manager is found by DODO_MANAGER=HOST:PORT and DODO_KEY=FILE, or by the file\n"
    "dodo.conf(5). Status: 0; 1: it failed, the matrix is singular, or the residual is too large;\n"
    "2: bad command line.\n";

static int parse_backend(void *options, const char *text)
{
    LuOptions *o = options;
    o->backend = backend_find(text);
    return o->backend && o->backend->write ? 0 : -1;
}

static int parse_generate(void *options, const char *text)
{
    LuOptions *o = options;
    o->generate = true;
    return parse_u64(text, 0, UINT64_MAX, &o->seed);
}

#define AT(field) offsetof(LuOptions, field)
static const CommandOption option_table[] = {
    {"order", OPTION_COUNT, AT(layout.order), 1, LU_ORDER_MAX},
    {"slab", OPTION_COUNT, AT(layout.slab), 1, LU_SLAB_MAX},
    {"files", OPTION_COUNT, AT(layout.files), 1, LU_FILES_MAX},
    {"dir", OPTION_TEXT, AT(dir)},
    {"backend", OPTION_OTHER, .parse = parse_backend},
    {"policy", OPTION_TEXT, AT(policy)},
    {"generate", OPTION_OTHER, .parse = parse_generate},
    {"check", OPTION_FLAG, AT(check)},
    {"threads", OPTION_COUNT, AT(threads), 1, THREADS_MAX},
    {"compute-rate", OPTION_COUNT, AT(compute_rate), 1, COMPUTE_RATE_MAX},
    {"json", OPTION_FLAG, AT(json)},
    {"progress", OPTION_FLAG, AT(progress)},
    {NULL},
};

/* What is wrong with the options as a whole; NULL: nothing. */
static const char *find_fault(const void *options, char *text)
{
    const LuOptions *o = options;
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
    .options = option_table,
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
