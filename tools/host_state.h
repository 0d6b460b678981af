/* SPDX-License-Identifier: MIT */
/* enum HostState in words, as users see it. */
#ifndef DODO_TOOLS_HOST_STATE_H
#define DODO_TOOLS_HOST_STATE_H

/* "idle" */
const char *host_state_text(unsigned state);

#endif
