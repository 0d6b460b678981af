/* SPDX-License-Identifier: MIT */
/* The command line of dmine-generate. */
#include "examples/dmine_generate.h"

#include <string.h>

#include "examples/command_line.h"
#include "examples/decimal.h"

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

static int parse_format(void *options, const char *text)
{
    GenerateOptions *o = options;
    bool is_text = strcmp(text, "text") == 0;
    if (!is_text && strcmp(text, "binary") != 0)
        return -1;
    o->format = is_text ? TRANSACTIONS_TEXT : TRANSACTIONS_BINARY;
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

static int parse_size_mean(void *options, const char *text)
{
    return parse_mean(text, &((GenerateOptions *)options)->quest.size_milli);
}

static int parse_pattern_mean(void *options, const char *text)
{
    return parse_mean(text, &((GenerateOptions *)options)->quest.pattern_milli);
}

#define AT(field) offsetof(GenerateOptions, field)
static const CommandOption option_table[] = {
    {"output", OPTION_TEXT, AT(output)},
    {"format", OPTION_OTHER, .parse = parse_format},
    {"transactions", OPTION_COUNT, AT(transactions), 1, TRANSACTIONS_MAX},
    {"size", OPTION_OTHER, .parse = parse_size_mean},
    {"pattern-size", OPTION_OTHER, .parse = parse_pattern_mean},
    {"items", OPTION_COUNT32, AT(quest.items), 1, (uint64_t)ITEM_MAX + 1},
    {"patterns", OPTION_COUNT32, AT(quest.patterns), 1, QUEST_PATTERNS_MAX},
    {"seed", OPTION_COUNT, AT(quest.seed), 0, UINT64_MAX},
    {"progress", OPTION_FLAG, AT(progress)},
    {NULL},
};

/* What is wrong with the options as a whole; NULL: nothing. */
static const char *find_fault(const void *options, char *text)
{
    const GenerateOptions *o = options;
    return o->output ? NULL : "--output is missing";
}

static const CommandLine command_line = {
    .program = "dmine-generate",
    .version = "dmine-generate " DODO_VERSION,
    .help = help_text,
    .options = option_table,
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
