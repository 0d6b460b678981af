/* SPDX-License-Identifier: MIT */
/* The command line of dmine-generate. */
#ifndef DODO_EXAMPLES_DMINE_GENERATE_H
#define DODO_EXAMPLES_DMINE_GENERATE_H

#include <stdbool.h>
#include <stdint.h>

#include "examples/quest.h"
#include "examples/transactions.h"

typedef struct GenerateOptions {
    const char *output;
    uint64_t transactions;
    QuestSettings quest;
    enum TransactionFormat format;
    bool progress;
} GenerateOptions;
/* 0: go on; else the program ends with *ret_status (--help, --version, a bad command line). */
int generate_options_parse(GenerateOptions *o, int argc, char **argv, int *ret_status);

#endif
