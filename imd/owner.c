/* SPDX-License-Identifier: MIT */
#include "imd/owner.h"

#include <string.h>

#include "base/num.h"
#include "base/time.h"
#include "daemon/log.h"

static const uint64_t TELL_NS = NS_PER_S;
enum { LOOKS_A_SILENCE = 4 }; /* that we ran while rmd was silent */

/* Whether @word comes next; then @text begins after it. */
static bool take_word(const char **text, size_t *len, const char *word)
{
    const size_t n = strlen(word);
    if (*len < n || memcmp(*text, word, n) != 0)
        return false;
    *text += n;
    *len -= n;
    return true;
}

static bool take_number(const char **text, size_t *len, uint64_t *ret)
{
    uint64_t n = 0;
    size_t i = 0;
    for (; i < *len && (*text)[i] != ' '; i++) {
        unsigned digit = (unsigned)((*text)[i] - '0');
        if (digit > 9 || n > (UINT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *text += i;
    *len -= i;
    *ret = n;
    return i > 0;
}

bool owner_parse_limit(const char *text, size_t len, uint64_t *ret)
{
    uint64_t n;
    if (!take_word(&text, &len, "limit ") || !take_number(&text, &len, &n) || len > 0)
        return false;
    *ret = n;
    return true;
}

bool owner_parse_reload(const char *text, size_t len, OwnerReload *ret)
{
    uint64_t level, bytes, packets;
    if (!take_word(&text, &len, "reload ") || !take_number(&text, &len, &level) ||
        !take_word(&text, &len, " ") || !take_number(&text, &len, &bytes) ||
        !take_word(&text, &len, " ") || !take_number(&text, &len, &packets) ||
        level >= LOG_LEVEL_MAX)
        return false;
    const bool named = take_word(&text, &len, " ");
    if (len >= PLACES_TEXT_MAX || named != (len > 0))
        return false;
    *ret =
        (OwnerReload){.log_level = (uint32_t)level, .rate_bytes = bytes, .rate_packets = packets};
    memcpy(ret->manager, text, len);
    return true;
}

bool owner_parse_save(const char *text, size_t len, OwnerSave *ret)
{
    uint64_t bytes, ms;
    if (!take_word(&text, &len, "save ") || !take_number(&text, &len, &bytes) ||
        !take_word(&text, &len, " ") || !take_number(&text, &len, &ms) || len > 0 ||
        ms > UINT64_MAX / NS_PER_MS)
        return false;
    *ret = (OwnerSave){.bytes = bytes, .within_ns = ms * NS_PER_MS};
    return true;
}

static bool is(const char *text, size_t len, const char *word)
{
    return take_word(&text, &len, word) && len == 0;
}

enum OwnerEvent owner_heard(Owner *o, const char *text, size_t len, uint64_t *ret_limit,
                            uint64_t now_ns)
{
    o->silence = (Silence){.since_ns = now_ns, .tick_ns = now_ns};
    if (is(text, len, "beat")) {
        o->beats = true;
        return OWNER_BEAT;
    }
    if (owner_parse_limit(text, len, ret_limit)) {
        o->reach = true;
        return OWNER_LIMIT;
    }
    if (is(text, len, "saves?"))
        return OWNER_ASKS;
    if (owner_parse_save(text, len, &o->save)) {
        o->reach = true;
        return OWNER_SAVE;
    }
    return owner_parse_reload(text, len, &o->reload) ? OWNER_RELOAD : OWNER_UNKNOWN;
}

bool owner_is_silent(Owner *o, uint64_t silence_ns, uint64_t now_ns)
{
    return o->on && o->beats &&
           silence_is_long(&o->silence, silence_ns / LOOKS_A_SILENCE, silence_ns, now_ns);
}

uint64_t owner_silent_ns(const Owner *o, uint64_t silence_ns)
{
    if (!o->on || !o->beats)
        return TIME_NEVER;
    return min_u64(silence_deadline(&o->silence, silence_ns),
                   time_add(o->silence.tick_ns, silence_ns / LOOKS_A_SILENCE));
}

static bool reached(const Owner *o, uint64_t used_bytes, uint64_t limit_bytes)
{
    return o->reach && used_bytes <= limit_bytes;
}

void owner_told(Owner *o, uint64_t used_bytes, uint64_t limit_bytes, bool listened, uint64_t now_ns)
{
    o->told_ns = now_ns;
    o->deaf = !listened;
    if (o->deaf)
        return;
    o->reach = o->reach && used_bytes > limit_bytes;
    o->used_bytes = used_bytes;
    o->limit_bytes = limit_bytes;
}

uint64_t owner_deadline(const Owner *o, uint64_t used_bytes, uint64_t limit_bytes)
{
    if (!o->on)
        return TIME_NEVER;
    if (o->deaf)
        return time_add(o->told_ns, TELL_NS);
    if (reached(o, used_bytes, limit_bytes))
        return 0;
    if (used_bytes == o->used_bytes && limit_bytes == o->limit_bytes && o->told_ns != 0)
        return TIME_NEVER;
    return o->told_ns == 0 ? 0 : time_add(o->told_ns, TELL_NS);
}
