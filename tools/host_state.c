/* SPDX-License-Identifier: MIT */
#include "tools/host_state.h"

#include "proto/wire.h"

const char *host_state_text(unsigned state)
{
    static const char *const texts[HOST_STATE_MAX] = {[HOST_IDLE] = "idle",
                                                      [HOST_LEAVING] = "leaving",
                                                      [HOST_SILENT] = "silent",
                                                      [HOST_BUSY] = "busy"};
    return state < HOST_STATE_MAX ? texts[state] : "unknown";
}
