/* SPDX-License-Identifier: MIT */
/* The command line of dmine. */
#include <stdio.h>

#include "examples/command_line.h"
#include "examples/decimal.h"
#include "examples/dmine.h"

static const char help_text[] =
    "Usage: dmine --input FILE [OPTION...]\n"
    "Finds the sets of items that many transactions have in common, and association rules. It\n"
    "scans the file once for each size of sets, from its disk or through Dodo, which keeps it in\n"
    "remote memory for the next run.\n"
    "\n"
    "  --input FILE          transactions: a line each, item numbers with blanks between; or\n"
    "                        in dmine-generate(1)'s binary format\n"
    "  --min-support SHARE   of the transactions that have a set for it to be frequent, above 0 "
    "and\n"
    "                        at most 1 (default: 0.01)\n"
    "  --min-confidence SHARE  print the rules, too: of the transactions with the items on a "
    "rule's\n"
    "                        left, at least so many have those on its right\n"
    "  --backend BACKEND     disk, dodo, or manage, the region cache (default: dodo)\n"
    "  --policy NAME         replacement policy of manage's cache: adaptive (the default), "
    "lru,\n"
    "                        mru, first-in, s3-fifo or sieve\n"
    "  --region-size SIZE    bytes of each Dodo region (default: 1M)\n"
    "  --json                the result as one JSON object\n"
    "  --progress            lines of progress on standard error\n"
    "  --help, --version\n"
    "\n"
    "Shares have at most 9 digits after the point; sizes take K, M, G. The manager is found by\n"
    "DODO_MANAGER=HOST:PORT and DODO_KEY=FILE, or by the file dodo.conf(5). Status: 0; 1: the "
    "file\n"
    "cannot be read or mined; 2: bad command line.\n";

/* A share above 0. */
static int parse_share(const char *text, uint64_t *ret_ppb)
{
    uint64_t ppb;
    if (decimal_parse(text, 9, APRIORI_PPB_ONE, &ppb) < 0 || ppb == 0)
        return -1;
    *ret_ppb = ppb;
    return 0;
}

static int parse_support(void *options, const char *text)
{
    return parse_share(text, &((Options *)options)->support_ppb);
}

static int parse_confidence(void *options, const char *text)
{
    return parse_share(text, &((Options *)options)->confidence_ppb);
}

static int parse_backend(void *options, const char *text)
{
    Options *o = options;
    o->backend = backend_find(text);
    return o->backend ? 0 : -1;
}

#define AT(field) offsetof(Options, field)
static const CommandOption option_table[] = {
    {"input", OPTION_TEXT, AT(input)},
    {"min-support", OPTION_OTHER, .parse = parse_support},
    {"min-confidence", OPTION_OTHER, .parse = parse_confidence},
    {"backend", OPTION_OTHER, .parse = parse_backend},
    {"policy", OPTION_TEXT, AT(policy)},
    {"region-size", OPTION_SIZE, AT(region_bytes)},
    {"json", OPTION_FLAG, AT(json)},
    {"progress", OPTION_FLAG, AT(progress)},
    {NULL},
};

/* What is wrong with the options as a whole; NULL: nothing. */
static const char *find_fault(const void *options, char *text)
{
    const Options *o = options;
    if (!o->input)
        return "--input is missing";
    if (o->region_bytes == 0 || o->region_bytes > INT64_MAX)
        return "--region-size must be at least 1";
    if (!o->policy || backend_has_policy(o->backend, o->policy))
        return NULL;
    snprintf(text, COMMAND_LINE_FAULT_MAX, "the back end %s has no policy '%s'", o->backend->name,
             o->policy);
    return text;
}

static const CommandLine command_line = {
    .program = "dmine",
    .version = "dmine " DODO_VERSION,
    .help = help_text,
    .options = option_table,
    .find_fault = find_fault,
};

int options_parse(Options *o, int argc, char **argv, int *ret_status)
{
    *o = (Options){
        .backend = &backend_dodo, .region_bytes = 1 << 20, .support_ppb = APRIORI_PPB_ONE / 100};
    return command_line_parse(&command_line, o, argc, argv, ret_status);
}
