/* SPDX-License-Identifier: MIT */
/* The lease's command says what it holds, and the manager is active or stands by. */
#include <inttypes.h>

#include "base/os.h"
#include "cmd/shell_private.h"
#include "daemon/log.h"

/* The active manager from now on, or not any more. */
static void follow_duty(Cmd *cmd, uint64_t now_ns)
{
    manager_duty(cmd->manager, cmd->port.endpoint, lease_epoch(&cmd->lease), now_ns);
    port_flush(&cmd->port);
}

static void lease_news(Cmd *cmd, enum LeaseNews news, uint64_t now_ns)
{
    cmd->lease_vain = news == LEASE_VAIN;
    switch (news) {
    case LEASE_NOTHING:
    case LEASE_VAIN: /* its status comes next */
        break;
    case LEASE_GAINED:
        log_event(LOG_LEVEL_INFO, "lease_gained", "number=%" PRIu64, cmd->lease.number);
        follow_duty(cmd, now_ns);
        break;
    case LEASE_LOST:
        log_event(LOG_LEVEL_WARN, "lease_lost", "number=%" PRIu64, cmd->lease.number);
        follow_duty(cmd, now_ns);
        break;
    case LEASE_NONSENSE:
        log_event(LOG_LEVEL_ERROR, "not_a_lease",
                  "last_number=%" PRIu64
                  " fix=\"the command must print a line with a number, greater each time\"",
                  cmd->lease.number);
        lease_command_end(cmd->command);
        break;
    }
}

/* It is started again after a time that grows, so the lines are few. */
static void lease_status(const Cmd *cmd, const char *text, size_t len)
{
    if (cmd->lease_vain)
        log_event(LOG_LEVEL_WARN, "lease_command_ended",
                  "status=\"%.*s\" fix=\"the command must print a number once it has its lock\"",
                  (int)len, text);
}

void cmd_take_lease(Cmd *cmd)
{
    char text[LEASE_OUTPUT_MAX];
    size_t len = 0;
    enum LeaseEvent event = LEASE_EVENT_OUTPUT;
    while (cmd->command->fd >= 0 && event != LEASE_EVENT_NONE && !cmd->failed) {
        event = lease_command_take(cmd->command, text, &len);
        const uint64_t now = os_now_ns();
        if (event == LEASE_EVENT_OUTPUT)
            lease_news(cmd, lease_output(&cmd->lease, text, len), now);
        else if (event == LEASE_EVENT_STATUS)
            lease_status(cmd, text, len);
        else if (event != LEASE_EVENT_NONE)
            lease_news(cmd, lease_ended(&cmd->lease, now), now);
        if (event == LEASE_EVENT_BROKEN) {
            log_event(LOG_LEVEL_ERROR, "lease_broken",
                      "error=\"the process that runs the command has ended\"");
            cmd->failed = true;
            loop_stop(cmd->loop);
        }
    }
}

static void on_lease(void *ctx)
{
    cmd_take_lease(ctx);
}

void cmd_expire_lease(Cmd *cmd, uint64_t now_ns)
{
    cmd_take_lease(cmd);
    lease_command_tick(cmd->command, now_ns);
    if (lease_start(&cmd->lease, now_ns))
        lease_command_start(cmd->command);
}

uint64_t cmd_lease_due(const Cmd *cmd)
{
    return cmd->command->fd >= 0 ? min_u64(lease_deadline(&cmd->lease), cmd->command->tick_ns)
                                 : TIME_NEVER;
}

void cmd_end_lease(Cmd *cmd)
{
    if (lease_ended(&cmd->lease, os_now_ns()) == LEASE_LOST)
        follow_duty(cmd, os_now_ns()); /* it has said so then */
    manager_say_goodbye(cmd->manager, cmd->port.endpoint);
    port_flush(&cmd->port);
}

int cmd_lease_watch(Cmd *cmd)
{
    return cmd->command->fd >= 0 ? loop_watch(cmd->loop, cmd->command->fd, on_lease, cmd) : 0;
}
