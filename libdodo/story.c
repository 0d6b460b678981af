/* SPDX-License-Identifier: MIT */
/* The story of a client: its manager, and its regions as the program opens and closes them. Lines
 * are made in memory of the stack. */
#include "libdodo/story.h"
#include "libdodo/client.h"
#include "libdodo/region.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dodo/dodo.h"

enum { STORY_HOSTS_MAX = 4 }; /* named in a line; of more, how many there are */

const char story_waiting[] = "another process is about to open it";
const char story_refracting[] = "no remote memory was available a moment ago (refraction period)";

/* ---- the manager ---------------------------------------------------------------------------- */

void story_manager_asked(Client *c, uint64_t now_ns)
{
    client_lock(c);
    if (!c->story.manager_waits) {
        c->story.manager_waits = true;
        c->story.manager_asked_ns = now_ns;
    }
    client_unlock(c);
}

static void log_manager(Client *c, const Addr *manager, int level, const char *event,
                        const char *more, uint64_t since)
{
    char text[ADDR_TEXT_MAX];
    client_log(c, level, "%s manager=%s%s=%" PRIu64, event, addr_format(manager, text, sizeof text),
               more, (uint64_t)(since / NS_PER_MS));
}

void story_manager_heard(Client *c, const Addr *peer, uint64_t now_ns)
{
    client_lock(c);
    const bool moved = !addr_equal(peer, &c->story.manager_at);
    uint8_t was = c->story.manager_is;
    uint64_t took = c->story.manager_waits ? now_ns - c->story.manager_asked_ns : 0;
    c->story.manager_is = MANAGER_THERE;
    c->story.manager_waits = false;
    c->story.manager_at = *peer;
    client_unlock(c);
    static const char *const events[] = {[MANAGER_NEW] = "manager_found",
                                         [MANAGER_THERE] = "manager_changed",
                                         [MANAGER_LOST] = "manager_back"};
    if (was != MANAGER_THERE || moved)
        log_manager(c, peer, DODO_LOG_INFO, events[was], " after_ms", took);
}

void story_manager_silent(Client *c, const Addr *peer, uint64_t now_ns)
{
    client_lock(c);
    bool news = c->story.manager_is != MANAGER_LOST;
    uint64_t silent = now_ns - c->story.manager_asked_ns;
    c->story.manager_is = MANAGER_LOST;
    client_unlock(c);
    if (news)
        log_manager(c, peer, DODO_LOG_WARN, "manager_lost",
                    " reason=\"it does not answer\" fix=\"is cmd running there, with the same key "
                    "and cluster name?\" silent_ms",
                    silent);
}

/* ---- regions -------------------------------------------------------------------------------- */

/* A region of the user's, as a line shows it. */
typedef struct RegionStory {
    int rd;
    uint64_t inode, offset, len;
    bool active, reused;
    unsigned stripes, copies, hosts_count, hosts_more;
    Addr hosts[STORY_HOSTS_MAX];
    uint64_t hits, misses, written;
} RegionStory;

static void host_add(RegionStory *s, const Region *r)
{
    Addr host = client_region_named(r);
    for (unsigned i = 0; i < s->hosts_count; i++)
        if (addr_equal(&s->hosts[i], &host))
            return;
    if (s->hosts_count < STORY_HOSTS_MAX)
        s->hosts[s->hosts_count++] = host;
    else
        s->hosts_more++;
}

static void region_add(RegionStory *s, const Region *r)
{
    s->active |= r->active;
    s->reused |= r->active && r->reused;
    s->hits += r->counts.hits;
    s->misses += r->counts.misses;
    s->written += r->counts.written_bytes;
    if (r->active)
        host_add(s, r);
}

/* Under the lock. */
static void region_story(RegionStory *s, const Region *r)
{
    *s = (RegionStory){.rd = r->rd,
                       .inode = r->inode,
                       .offset = r->file_offset,
                       .len = r->len,
                       .stripes = region_stripes(r)};
    s->copies = r->flags & DODO_MIRROR ? 2 : 1;
    for (unsigned i = 0; i < region_units(r); i++)
        region_add(s, region_unit(r, i));
}

int story_stripe(const Region *r)
{
    const Region *top = r->stripe.parent;
    return top && region_stripes(top) ? (int)((r->file_offset - top->file_offset) / top->stripe.len)
                                      : -1;
}

const char *story_name(int rd, int stripe, char *buf, size_t cap)
{
    if (stripe < 0)
        (void)snprintf(buf, cap, "rd=%d", rd);
    else
        (void)snprintf(buf, cap, "rd=%d stripe=%d", rd, stripe);
    return buf;
}

static const char *hosts_text(const RegionStory *s, char *buf, size_t cap)
{
    char text[ADDR_TEXT_MAX];
    size_t n = 0;
    buf[0] = 0;
    for (unsigned i = 0; i < s->hosts_count && n < cap; i++)
        n += (size_t)snprintf(buf + n, cap - n, "%s%s", i ? "," : "",
                              addr_format(&s->hosts[i], text, sizeof text));
    if (s->hosts_more && n < cap)
        (void)snprintf(buf + n, cap - n, ",...");
    return buf;
}

enum { HOSTS_TEXT_MAX = STORY_HOSTS_MAX * (ADDR_TEXT_MAX + 1) + 8 };

/* False: it is not open any more. */
static bool story_of(Client *c, int rd, RegionStory *ret)
{
    client_lock(c);
    const Region *r = client_region(c, rd);
    if (r)
        region_story(ret, r);
    client_unlock(c);
    return r;
}

void story_opened(Client *c, int rd, const char *reason)
{
    RegionStory s;
    char hosts[HOSTS_TEXT_MAX], stripes[48] = "";
    if (!client_logs(c, DODO_LOG_INFO) || !story_of(c, rd, &s))
        return;
    int n = s.stripes ? snprintf(stripes, sizeof stripes, " stripes=%u", s.stripes) : 0;
    if (s.copies > 1)
        (void)snprintf(stripes + n, sizeof stripes - (size_t)n, " copies=%u", s.copies);
    if (s.active)
        client_log(c, DODO_LOG_INFO,
                   "region_opened rd=%d inode=%" PRIu64 " offset=%" PRIu64 " bytes=%" PRIu64
                   " memory=%s hosts=%s%s",
                   s.rd, s.inode, s.offset, s.len, s.reused ? "retained" : "new",
                   hosts_text(&s, hosts, sizeof hosts), stripes);
    else
        client_log(c, DODO_LOG_INFO,
                   "region_opened rd=%d inode=%" PRIu64 " offset=%" PRIu64 " bytes=%" PRIu64
                   " memory=none reason=\"%s\" reads=file%s",
                   s.rd, s.inode, s.offset, s.len, reason ? reason : "its hosts were lost at once",
                   stripes);
}

/* The same refusal is news once a refraction period. */
static bool refusal_is_news(Client *c, const char *reason, uint64_t now_ns)
{
    client_lock(c);
    bool news = reason != story_refracting &&
                (reason != c->story.refused_reason || now_ns >= c->story.refused_until_ns);
    if (news) {
        c->story.refused_reason = reason;
        c->story.refused_until_ns = time_add(now_ns, c->config.refraction_ns);
    }
    client_unlock(c);
    return news;
}

void story_refused(Client *c, uint64_t inode, uint64_t offset, uint64_t len, int error,
                   const char *reason, uint64_t now_ns)
{
    bool many = error == EMFILE;
    int level = refusal_is_news(c, reason, now_ns) ? DODO_LOG_WARN : DODO_LOG_DEBUG;
    client_log(c, level,
               "region_refused inode=%" PRIu64 " offset=%" PRIu64 " bytes=%" PRIu64
               " errno=%s reason=\"%s\" fix=\"%s\"",
               inode, offset, len, many ? "EMFILE" : "ENOMEM", reason,
               many ? "close regions, or raise regions_max"
                    : "read the file and try again later, or open with DODO_FALLBACK");
}

void story_closed(Client *c, const Region *r, bool given_up, bool kept, const char *reason)
{
    RegionStory s;
    if (!client_logs(c, DODO_LOG_INFO))
        return;
    client_lock(c);
    region_story(&s, r);
    client_unlock(c);
    client_log(c, DODO_LOG_INFO,
               "region_closed rd=%d remote_bytes=%" PRIu64 " file_bytes=%" PRIu64
               " written_bytes=%" PRIu64 " memory=%s result=%s%s%s",
               s.rd, s.hits, s.misses, s.written,
               !s.active && !given_up ? "none"
               : reason               ? "unknown"
               : kept                 ? "retained"
                                      : "freed",
               reason ? "\"" : "ok", reason ? reason : "", reason ? "\"" : "");
}
