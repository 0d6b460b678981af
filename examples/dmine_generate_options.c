/* SPDX-License-Identifier: MIT */
/* The command line of dmine-generate. */
#include "examples/dmine_generate.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "examples/decimal.h"

enum {
    OPT_OUTPUT = 256,
    OPT_FORMAT,
    OPT_TRANSACTIONS,
    OPT_SIZE,
    OPT_PATTERN_SIZE,
    OPT_ITEMS,
    OPT_PATTERNS,
    OPT_SEED,
    OPT_PROGRESS,
    OPT_HELP,
    OPT_VERSION,
};

static const struct option long_options[] = {
    {"output", required_argument, NULL, OPT_OUTPUT},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"transactions", required_argument, NULL, OPT_TRANSACTIONS},
    {"size", required_argument, NULL, OPT_SIZE},
    {"pattern-size", required_argument, NULL, OPT_PATTERN_SIZE},
    {"items", required_argument, NULL, OPT_ITEMS},
    {"patterns", required_argument, NULL, OPT_PATTERNS},
    {"seed", required_argument, NULL, OPT_SEED},
    {"progress", no_argument, NULL, OPT_PROGRESS},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static const char help_text[] =
    "Usage: dmine-generate --output FILE [OPTION...]\n"
    "Makes a file of retail-like transactions for dmine. The same options give the same file, on\n"
    "every machine.\n"
    "\n"
    "  --output FILE         is made anew\n"
    "  --format FORMAT       text, a line a transaction, or binary, in about a third of the space\n"
    "                        (default: text)\n"
    "  --transactions N      (default: 100000; the paper has 10000000)\n"
    "  --size MEAN           items of a transaction, 1 to 1000 (default: 20)\n"
    "  --pattern-size MEAN   items of a maximal potentially frequent set, 1 to 1000 (default: 3)\n"
    "  --items N             items there are, 1 to 16777216 (default: 10000)\n"
    "  --patterns N          potentially frequent sets, 1 to 1000000 (default: 2000)\n"
    "  --seed N              of the random numbers (default: 1)\n"
    "  --progress            lines of progress on standard error\n"
    "  --help, --version\n"
    "\n"
    "Status: 0; 1: the file cannot be written; 2: bad command line.\n";

static int parse_format(const char *text, enum TransactionFormat *ret)
{
    bool is_text = strcmp(text, "text") == 0;
    if (!is_text && strcmp(text, "binary") != 0)
        return -1;
    *ret = is_text ? TRANSACTIONS_TEXT : TRANSACTIONS_BINARY;
    return 0;
}

/* A whole number that fits 32 bits. */
static int parse_u32(const char *text, uint64_t max, uint32_t *ret)
{
    uint64_t v;
    if (parse_u64(text, 1, max, &v) < 0)
        return -1;
    *ret = (uint32_t)v;
    return 0;
}

/* A mean size in thousandths. */
static int parse_mean(const char *text, uint32_t *ret_milli)
{
    uint64_t v;
    if (decimal_parse(text, 3, 1000 * QUEST_MEAN_MAX, &v) < 0 || v < 1000)
        return -1;
    *ret_milli = (uint32_t)v;
    return 0;
}

/* One option with its argument: 0, or < 0 when the argument is no good. */
static int take_option(GenerateOptions *o, int opt, const char *arg)
{
    switch (opt) {
    case OPT_OUTPUT:
        o->output = arg;
        return 0;
    case OPT_FORMAT:
        return parse_format(arg, &o->format);
    case OPT_TRANSACTIONS:
        return parse_u64(arg, 1, TRANSACTIONS_MAX, &o->transactions);
    case OPT_SIZE:
        return parse_mean(arg, &o->quest.size_milli);
    case OPT_PATTERN_SIZE:
        return parse_mean(arg, &o->quest.pattern_milli);
    case OPT_ITEMS:
        return parse_u32(arg, (uint64_t)ITEM_MAX + 1, &o->quest.items);
    case OPT_PATTERNS:
        return parse_u32(arg, QUEST_PATTERNS_MAX, &o->quest.patterns);
    case OPT_SEED:
        return parse_u64(arg, 0, UINT64_MAX, &o->quest.seed);
    case OPT_PROGRESS:
        o->progress = true;
        return 0;
    default:
        return -1;
    }
}

static int complain(const char *what)
{
    fprintf(stderr, "dmine-generate: %s; dmine-generate --help tells more\n", what);
    return 2;
}

int generate_options_parse(GenerateOptions *o, int argc, char **argv, int *ret_status)
{
    *o = (GenerateOptions){.transactions = 100000,
                           .format = TRANSACTIONS_TEXT,
                           .quest = {.items = 10000,
                                     .patterns = 2000,
                                     .size_milli = 20000,
                                     .pattern_milli = 3000,
                                     .seed = 1}};
    int opt, index = 0;
    while ((opt = getopt_long(argc, argv, "", long_options, &index)) != -1) {
        char text[256];
        if (opt == OPT_HELP || opt == OPT_VERSION) {
            fputs(opt == OPT_HELP ? help_text : "dmine-generate " DODO_VERSION "\n", stdout);
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
    const char *fault = optind < argc ? "only options are taken"
                        : !o->output  ? "--output is missing"
                                      : NULL;
    if (fault)
        return *ret_status = complain(fault), 1;
    return 0;
}
