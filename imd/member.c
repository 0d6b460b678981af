/* SPDX-License-Identifier: MIT */
#include "imd/member.h"

#include <errno.h>

#include "base/time.h"
#include "proto/rules.h"

/* The HELLO's back-off starts again so often while cmd is silent. */
static const uint64_t RECONNECT_NS = 5 * NS_PER_S;

/* ---- the core's effects ---------------------------------------------------------------------- */

static void to_manager(void *ctx, uint8_t type, const uint8_t *payload, size_t len)
{
    ImdMember *m = ctx;
    if (contact_is_up(&m->manager))
        m->sink.message(m->sink.ctx, m->manager.session, type, payload, len);
}

static void command(void *ctx, const ImdCommand *c)
{
    ImdMember *m = ctx;
    m->sink.command(m->sink.ctx, c);
}

int member_init(ImdMember *m, const ImdMemberConfig *config, const Env *env, Endpoint *endpoint,
                const ImdMemberSink *sink, uint64_t now_ns)
{
    const ImdControlSink control = {.message = to_manager, .command = command, .ctx = m};
    *m = (ImdMember){.config = *config,
                     .sink = *sink,
                     .endpoint = endpoint,
                     .manager = {.every_ns = RECONNECT_NS},
                     .owner = {.on = config->owned}};
    complaint_begin(&m->complaint, now_ns);
    finder_fix(&m->manager.finder, &config->manager);
    m->control = imd_control_new(&config->control, env, &control, now_ns);
    return m->control ? 0 : -ENOMEM;
}

void member_deinit(ImdMember *m)
{
    m->control = imd_control_free(m->control);
}

void member_move(ImdMember *m, const Places *places)
{
    contact_move(&m->manager, m->endpoint, places);
}

void member_found(ImdMember *m, const Addr *found, unsigned count)
{
    contact_found(&m->manager, m->endpoint, found, count);
}

/* ---- after anything that happened ------------------------------------------------------------ */

static void news(ImdMember *m, enum MemberNews what)
{
    m->sink.news(m->sink.ctx, what);
}

static void follow_joined(ImdMember *m, uint64_t now_ns)
{
    bool joined = imd_control_joined(m->control), lost = imd_control_lost(m->control);
    if (joined != m->joined) {
        complaint_begin(&m->complaint, now_ns);
        news(m, joined ? MEMBER_JOINED : lost ? MEMBER_LOST : MEMBER_DISMISSED);
    }
    m->joined = joined;
    if (lost)
        contact_renew(&m->manager, m->endpoint);
}

static void complain(ImdMember *m, uint64_t now_ns)
{
    static const uint8_t says[] = {[COMPLAINT_UNHEARD] = MEMBER_UNHEARD,
                                   [COMPLAINT_NONE_ACTIVE] = MEMBER_NONE_ACTIVE,
                                   [COMPLAINT_NO_MANAGER] = MEMBER_NO_MANAGER};
    enum ComplaintKind kind =
        m->leaving ? COMPLAINT_NONE : complaint_take(&m->complaint, &m->manager, m->joined, now_ns);
    if (kind != COMPLAINT_NONE)
        news(m, says[kind]);
}

/* A thread that gives memory back must not wait for the owner's own work, which lacks that
 * memory. */
static void hurry_up(ImdMember *m, bool on, uint64_t now_ns)
{
    if (m->hurrying == on)
        return;
    m->hurrying = on;
    m->sink.hurry(m->sink.ctx, on, now_ns);
}

static void report_use(ImdMember *m, uint64_t now_ns)
{
    uint64_t used = imd_control_filled_bytes(m->control);
    uint64_t limit = imd_control_limit_bytes(m->control);
    hurry_up(m, used > limit || m->leaving, now_ns);
    if (now_ns >= owner_deadline(&m->owner, used, limit))
        owner_told(&m->owner, used, limit, m->sink.used(m->sink.ctx, used, limit), now_ns);
}

static void begin_to_leave(ImdMember *m, uint64_t now_ns)
{
    m->leaving = true;
    m->leave_at_ns = time_add(now_ns, m->config.leave_deadline_ns);
    hurry_up(m, true, now_ns);
    imd_control_leave(m->control, now_ns);
}

static void leave_for(ImdMember *m, enum MemberNews why, uint64_t now_ns)
{
    if (m->leaving)
        return;
    news(m, why);
    begin_to_leave(m, now_ns);
}

static void follow_save(ImdMember *m, uint64_t now_ns)
{
    const bool late = RULE(SAVE_ENDS) && now_ns >= m->save_until_ns;
    if (m->saving && (late || imd_control_saved(m->control)))
        leave_for(m, MEMBER_SAVED, now_ns);
}

static void settle(ImdMember *m, uint64_t now_ns)
{
    follow_save(m, now_ns);
    follow_joined(m, now_ns);
    complain(m, now_ns);
    report_use(m, now_ns);
}

/* ---- the manager ----------------------------------------------------------------------------- */

void member_message(ImdMember *m, const Session *s, uint8_t type, const uint8_t *payload,
                    size_t len, uint64_t now_ns)
{
    if (s == m->manager.session && s->peer_role == ROLE_CMD &&
        contact_heard(&m->manager, type, payload, len, now_ns))
        imd_control_input(m->control, type, payload, len, now_ns);
    settle(m, now_ns);
}

void member_up(ImdMember *m, const Session *s, uint64_t now_ns)
{
    if (contact_scouted(&m->manager, s, now_ns) || s != m->manager.session)
        return;
    if (contact_up(&m->manager, now_ns)) /* what stands by changes nothing */
        imd_control_up(m->control, &s->peer_id, now_ns);
    settle(m, now_ns);
}

void member_closed(ImdMember *m, const Session *s)
{
    (void)contact_closed(&m->manager, s);
}

static void keep_manager(ImdMember *m, uint64_t now_ns)
{
    static const WirePing ping = {.nonce = 1};
    uint8_t out[WIRE_PAYLOAD_MAX];
    if (contact_step(&m->manager, m->endpoint, now_ns))
        to_manager(m, WIRE_PING, out, wire_ping_encode(&ping, out));
}

/* ---- the data threads ------------------------------------------------------------------------ */

/* Nothing is read any more: the memory need not wait until cmd is informed, too. */
static void thread_left(ImdMember *m)
{
    if (++m->threads_left == m->config.control.threads)
        m->sink.give_all_back(m->sink.ctx);
}

void member_done(ImdMember *m, const ImdCommand *c, int result, uint64_t now_ns)
{
    if (c->kind == IMD_LEAVE)
        thread_left(m);
    else
        imd_control_done(m->control, c->id, result, now_ns);
    settle(m, now_ns);
}

void member_served(ImdMember *m, const Served *served)
{
    imd_control_served(m->control, served);
}

/* ---- rmd ------------------------------------------------------------------------------------- */

static void lower(ImdMember *m, uint64_t limit, uint64_t now_ns)
{
    hurry_up(m, limit < imd_control_filled_bytes(m->control) || m->hurrying, now_ns);
    imd_control_limit(m->control, limit, now_ns);
}

/* Memory comes back first: what is used least goes before anything is moved. */
static void save(ImdMember *m, uint64_t now_ns)
{
    const OwnerSave *s = &m->owner.save;
    if (!m->saving)
        news(m, MEMBER_SAVES);
    m->saving = true;
    m->save_until_ns = time_add(now_ns, s->within_ns);
    lower(m, s->bytes, now_ns);
    m->sink.slow(m->sink.ctx, member_save_rate(s));
    imd_control_save(m->control, now_ns);
}

enum OwnerEvent member_heard(ImdMember *m, const char *text, size_t len, uint64_t now_ns)
{
    uint64_t limit;
    enum OwnerEvent event = owner_heard(&m->owner, text, len, &limit, now_ns);
    if (event == OWNER_LIMIT)
        lower(m, limit, now_ns);
    else if (event == OWNER_SAVE && !m->leaving)
        save(m, now_ns);
    settle(m, now_ns);
    return event;
}

void member_leave(ImdMember *m, uint64_t now_ns)
{
    leave_for(m, MEMBER_LEAVES, now_ns);
    settle(m, now_ns);
}

/* Without rmd nobody watches for the owner. */
void member_owner_gone(ImdMember *m, uint64_t now_ns)
{
    m->owner.on = false;
    leave_for(m, MEMBER_OWNER_GONE, now_ns);
    settle(m, now_ns);
}

/* ---- the clock ------------------------------------------------------------------------------- */

static uint64_t owner_silent_at(const ImdMember *m)
{
    return m->leaving ? TIME_NEVER : owner_silent_ns(&m->owner, m->config.owner_silence_ns);
}

uint64_t member_deadline(const ImdMember *m)
{
    uint64_t t = min_u64(imd_control_deadline(m->control), m->manager.due_ns);
    t = min_u64(t, owner_deadline(&m->owner, imd_control_filled_bytes(m->control),
                                  imd_control_limit_bytes(m->control)));
    t = min_u64(t, owner_silent_at(m));
    if (m->leaving)
        return min_u64(t, m->leave_at_ns);
    if (m->saving && RULE(SAVE_ENDS))
        t = min_u64(t, m->save_until_ns);
    return m->joined ? t : min_u64(t, m->complaint.due_ns);
}

void member_expire(ImdMember *m, uint64_t now_ns)
{
    /* An rmd that hangs sees no owner return. */
    if (!m->leaving && owner_is_silent(&m->owner, m->config.owner_silence_ns, now_ns))
        leave_for(m, MEMBER_OWNER_SILENT, now_ns);
    imd_control_expire(m->control, now_ns);
    settle(m, now_ns);
    keep_manager(m, now_ns); /* also the one that we lost just now */
}

bool member_finished(const ImdMember *m, uint64_t now_ns)
{
    bool all = imd_control_finished(m->control) && m->threads_left == m->config.control.threads;
    return m->leaving && (all || now_ns >= m->leave_at_ns);
}
