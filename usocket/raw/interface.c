/* SPDX-License-Identifier: MIT */
#include "usocket/raw/interface.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"

static int ask(unsigned long what, struct ifreq *r)
{
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* any socket asks */
    return fd >= 0 && ioctl(fd, what, r) == 0 ? 0 : -errno;
}

int interface_number(const char *name, uint32_t *ret)
{
    struct ifreq r = {0};
    if (strlen(name) >= sizeof r.ifr_name)
        return -ENODEV;
    (void)snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    int res = ask(SIOCGIFINDEX, &r);
    if (res == 0)
        *ret = (uint32_t)r.ifr_ifindex;
    return res;
}

int interface_name(uint32_t number, char ret[INTERFACE_NAME])
{
    struct ifreq r = {.ifr_ifindex = (int)number};
    int res = ask(SIOCGIFNAME, &r);
    if (res == 0)
        (void)snprintf(ret, INTERFACE_NAME, "%.*s", INTERFACE_NAME - 1, r.ifr_name);
    return res;
}
