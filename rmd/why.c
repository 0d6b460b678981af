/* SPDX-License-Identifier: MIT */
#include "rmd/monitor_private.h"

static enum MonitorWhy why_of(enum Cause cause)
{
    switch (cause) {
    case CAUSE_CONSOLE:
    case CAUSE_CONSOLE_UNKNOWN:
        return MONITOR_WHY_CONSOLE;
    case CAUSE_LOAD:
    case CAUSE_LOAD_HELD:
    case CAUSE_LOAD_UNKNOWN:
        return MONITOR_WHY_LOAD;
    case CAUSE_MEMORY_UNKNOWN:
    case CAUSE_MEMORY_SHORT:
    case CAUSE_MEMORY_LITTLE:
    case CAUSE_PRESSURE:
    case CAUSE_PRESSURE_PAUSE:
        return MONITOR_WHY_MEMORY;
    case CAUSE_PAUSED:
    case CAUSE_PAUSES_UNKNOWN:
        return MONITOR_WHY_PAUSED;
    case CAUSE_RECLAIM:
    case CAUSE_RECLAIM_FAILED:
    case CAUSE_RECRUIT:
    case CAUSE_RECRUIT_FAILED:
        return MONITOR_WHY_RULES;
    case CAUSE_NONE:
    case CAUSE_UNSEEN:
    case CAUSE_SILENT:
    case CAUSE_BATTERY:
    case CAUSE_GAP:
    case CAUSE_SLEPT:
    case CAUSE_SLEEP:
    case CAUSE_CALM:
    case CAUSE_CRASH_PAUSE:
    case CAUSE_NOT_READY:
    case CAUSE_NOT_GIVEN:
    case CAUSE_ENDING:
    case CAUSE_LEAVING:
    case CAUSE_WATCH_ONLY:
        return MONITOR_WHY_OTHER;
    }
    return MONITOR_WHY_OTHER;
}

enum MonitorWhy monitor_why(const Monitor *m)
{
    if (m->imd == IMD_READY)
        return MONITOR_WHY_LENT;
    return why_of(m->cause == CAUSE_CALM || m->cause == CAUSE_ENDING ? m->reclaimed_for : m->cause);
}
