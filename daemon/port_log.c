/* SPDX-License-Identifier: MIT */
#include "daemon/port_log.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/log.h"

void port_log(void *ctx, const PortEvent *e)
{
    char text[ADDR_TEXT_MAX];
    const char *address = addr_format(&e->address, text, sizeof text);
    switch (e->kind) {
    case PORT_SEND_FAILED:
        log_event(LOG_LEVEL_ERROR, "send_failed", "error=\"%s\"", strerror(e->error));
        break;
    case PORT_RECEIVE_FAILED:
        log_event(LOG_LEVEL_ERROR, "receive_failed", "error=\"%s\"", strerror(e->error));
        break;
    case PORT_CUT_OFF:
        log_event(LOG_LEVEL_WARN, "cut_off",
                  "local=%s error=\"%s\" fix=\"is it still an address of this host, with a route "
                  "to the others? see ip addr, ip route\"",
                  address, strerror(e->error));
        break;
    case PORT_REACHES_AGAIN:
        log_event(LOG_LEVEL_INFO, "reaches_others_again", "local=%s", address);
        break;
    case PORT_VERSION:
        log_event(LOG_LEVEL_WARN, "version_mismatch",
                  "theirs=%u ours=%d datagrams=%" PRIu64 " fix=\"install one version everywhere\"",
                  e->version, WIRE_VERSION, e->datagrams);
        break;
    case PORT_CLUSTER:
        log_event(LOG_LEVEL_WARN, "other_cluster",
                  "datagrams=%" PRIu64 " fix=\"give all parts the same cluster name\"",
                  e->datagrams);
        break;
    case PORT_DENIED:
        log_event(LOG_LEVEL_WARN, "not_authentic",
                  "datagrams=%" PRIu64 " last_from=%s fix=\"give all parts the same key file\"",
                  e->datagrams, address);
        break;
    case PORT_LIMITED:
        log_event(LOG_LEVEL_WARN, "sessions_limited",
                  "datagrams=%" PRIu64 " last_from=%s fix=\"does a program there start again and "
                  "again, or repeat what it has seen?\"",
                  e->datagrams, address);
        break;
    }
}
