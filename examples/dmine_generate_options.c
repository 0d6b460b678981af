/* SPDX-License-Identifier: MIT */
/* The command line of dmine-generate. */
#include "examples/dmine_generate.h"

#include <string.h>

#include "base/parse.h"
#include "examples/command_line.h"
#include "examples/decimal.h"

enum {
    OPT_OUTPUT = COMMAND_LINE_OWN,
    OPT_FORMAT,
    OPT_TRANSACTIONS,
    OPT_SIZE,
    OPT_PATTERN_SIZE,
    OPT_ITEMS,
    OPT_PATTERNS,
    OPT_SEED,
    OPT_PROGRESS,
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
    COMMAND_LINE_COMMON,
};

static const char help_text[] =
    "Usage: dmine-generate --output FILE [OPTION...]\n"
    "Makes a file of retail-like transactions for dmine. The same options give the same file, on\n"
    "every machine.\n"
    "\n"
    "  --output FILE         is made, in place of what is there\n"
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
static int take_option(void *ctx, int opt, const char *arg)
{
    GenerateOptions *o = ctx;
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

/* What is wrong with the options as a whole; NULL: nothing. */
static const char *find_fault(void *ctx, char *text)
{
    const GenerateOptions *o = ctx;
    return o->output ? NULL : "--output is missing";
}

static const CommandLine command_line = {
    .program = "dmine-generate",
    .version = "dmine-generate " DODO_VERSION,
    .help = help_text,
    .options = long_options,
    .take = take_option,
    .find_fault = find_fault,
};

int generate_options_parse(GenerateOptions *o, int argc, char **argv, int *ret_status)
{
    *o = (GenerateOptions){.transactions = 100000,
                           .format = TRANSACTIONS_TEXT,
                           .quest = {.items = 10000,
                                     .patterns = 2000,
                                     .size_milli = 20000,
                                     .pattern_milli = 3000,
                                     .seed = 1}};
    return command_line_parse(&command_line, o, argc, argv, ret_status);
}
