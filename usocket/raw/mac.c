/* SPDX-License-Identifier: MIT */
#include "usocket/raw/mac.h"

#include <stddef.h>
#include <string.h>

#include "usocket/raw/frame.h"

bool mac_is_any(const unsigned char *mac)
{
    static const unsigned char zeros[FRAME_MAC];
    return memcmp(mac, zeros, FRAME_MAC) == 0;
}

bool mac_is_single(const unsigned char *mac)
{
    return !mac_is_any(mac) && (mac[0] & 1) == 0;
}

bool interface_name_good(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n >= INTERFACE_NAME || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return false;
    for (; *name; name++)
        if ((unsigned char)*name <= ' ' || *name == '/' || *name == ':' || *name == '%' ||
            *name == 0x7f)
            return false;
    return true;
}
