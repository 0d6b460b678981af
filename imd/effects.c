/* SPDX-License-Identifier: MIT */
/* What the member decides takes effect. */
#include "daemon/start.h"
#include "imd/owner_socket.h"
#include "imd/priority.h"
#include "imd/shell_private.h"

static void send_message(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len)
{
    Imd *imd = ctx;
    port_message(&imd->port, s, type, payload, len);
}

static void give_order(void *ctx, const ImdCommand *command)
{
    Imd *imd = ctx;
    imd_threads_order(&imd->threads, command);
}

static void give_all_back(void *ctx)
{
    Imd *imd = ctx;
    imd_threads_give_all_back(&imd->threads);
}

static void hurry_all(void *ctx, bool on, uint64_t now_ns)
{
    Imd *imd = ctx;
    priority_group(on, now_ns);
    if (on)
        hurry(); /* this thread has little to do: it stays so */
    imd_threads_hurry(&imd->threads, on);
}

static void slow_down(void *ctx, uint64_t rate_bytes)
{
    Imd *imd = ctx;
    imd_threads_slow(&imd->threads, rate_bytes);
}

static bool say_used(void *ctx, uint64_t used_bytes, uint64_t limit_bytes)
{
    Imd *imd = ctx;
    return owner_socket_used(imd->owner, used_bytes, limit_bytes);
}

static void log_news(void *ctx, enum MemberNews news)
{
    static const struct {
        enum LogLevel level;
        const char *event, *fix;
    } lines[MEMBER_NEWS_MAX] = {
        [MEMBER_JOINED] = {LOG_LEVEL_INFO, "joined", ""},
        [MEMBER_DISMISSED] = {LOG_LEVEL_INFO, "manager_lost", ""},
        [MEMBER_LOST] = {LOG_LEVEL_WARN, "manager_lost", " fix=\"see whether cmd runs there\""},
        [MEMBER_UNHEARD] = {LOG_LEVEL_WARN, "manager_silent",
                            " fix=\"is cmd running there, with the same key and cluster name?\""},
        [MEMBER_NO_MANAGER] = {LOG_LEVEL_ERROR, "not_a_manager",
                               " fix=\"give --manager the address of cmd\""},
        [MEMBER_NONE_ACTIVE] = {LOG_LEVEL_WARN, "no_active_manager",
                                " fix=\"see there why no lease is held\""},
        [MEMBER_SAVES] = {LOG_LEVEL_INFO, "owner_back", " does=\"what was used last moves away\""},
        [MEMBER_SAVED] = {LOG_LEVEL_INFO, "saved", "it leaves for its owner"},
        [MEMBER_OWNER_GONE] = {LOG_LEVEL_WARN, "owner_gone",
                               "fix=\"rmd has ended, and starts imd again\""},
        [MEMBER_OWNER_SILENT] = {LOG_LEVEL_WARN, "owner_silent",
                                 "fix=\"rmd hangs: see what it waits for\""},
    };
    Imd *imd = ctx;
    char text[ADDR_TEXT_MAX];
    if (news < MEMBER_LEAVES)
        log_event(lines[news].level, lines[news].event, "manager=%s%s",
                  start_manager_text(&imd->options->common, &imd->member.manager.peer, text),
                  lines[news].fix);
    else if (news > MEMBER_LEAVES)
        log_event(lines[news].level, lines[news].event, "%s", lines[news].fix);
    if (news >= MEMBER_LEAVES) {
        log_event(LOG_LEVEL_INFO, "leaving", "regions=%zu",
                  imd_control_regions(imd->member.control));
        start_stopping();
    }
}

ImdMemberSink imd_member_sink(Imd *imd)
{
    return (ImdMemberSink){.message = send_message,
                           .command = give_order,
                           .give_all_back = give_all_back,
                           .hurry = hurry_all,
                           .slow = slow_down,
                           .used = say_used,
                           .news = log_news,
                           .ctx = imd};
}
