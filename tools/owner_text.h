/* SPDX-License-Identifier: MIT */
/* What dodo owner shows of rmd's answer. Pure but for the time zone. */
#ifndef DODO_TOOLS_OWNER_TEXT_H
#define DODO_TOOLS_OWNER_TEXT_H

#include <glib.h>

#include "rmd/owner_record.h"

enum { OWNER_REASON_MAX = 256 };

typedef struct OwnerAnswer {
    char error[OWNER_REASON_MAX]; /* rmd refuses what was asked; empty: it does not */
    char state[16];
    uint64_t lendable_bytes, used_bytes;
    char reason[OWNER_REASON_MAX];
    bool forgets; /* pauses end with rmd: it has no file for them, or cannot write it */
    OwnerRecord record;
} OwnerAnswer;

/* False: it is no answer of rmd's. */
bool owner_answer_read(OwnerAnswer *a, const char *text, uint64_t now_s);

/* Who has that number; on the heap. */
typedef char *OwnerNameFn(uint32_t uid);
/* Appends: lines for people, or a JSON object. */
void owner_text_print(const OwnerAnswer *a, uint64_t now_s, OwnerNameFn *name, GString *out);
void owner_text_json(const OwnerAnswer *a, uint64_t now_s, OwnerNameFn *name, GString *out);

#endif
