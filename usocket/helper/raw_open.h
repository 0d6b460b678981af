/* SPDX-License-Identifier: MIT */
/* The one thing that needs a privilege (CAP_NET_RAW): a socket for raw frames, which from its first
 * moment on takes nothing but the frames of one port, in whose hands it may be. */
#ifndef DODO_USOCKET_HELPER_RAW_OPEN_H
#define DODO_USOCKET_HELPER_RAW_OPEN_H

#include <stdint.h>

#include "usocket/raw/frame.h"

/* The number and MAC address of an Ethernet interface. 0; -ENODEV: there is none of that name, or
 * it is of another kind; -errno. */
int raw_interface(const char *name, uint32_t *ret_interface, uint8_t ret_mac[FRAME_MAC]);

/* A socket with the filter, which cannot be changed or taken off any more. Its descriptor, or
 * -errno. */
int raw_open(const FrameFilter *filter);

#endif
