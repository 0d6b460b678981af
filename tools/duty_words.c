/* SPDX-License-Identifier: MIT */
#include "tools/duty_words.h"

#include <inttypes.h>
#include <stdio.h>

#include "proto/wire.h"

const char *duty_format(uint64_t number, char buf[DUTY_TEXT_MAX])
{
    if (number == MANAGER_STANDBY)
        (void)snprintf(buf, DUTY_TEXT_MAX, "stands by for");
    else if (number != MANAGER_UNLEASED)
        (void)snprintf(buf, DUTY_TEXT_MAX, "lease %" PRIu64 " for", number);
    else
        (void)snprintf(buf, DUTY_TEXT_MAX, "up");
    return buf;
}
