/* SPDX-License-Identifier: MIT */
#include "usocket/helper/raw_open.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"

int raw_interface(const char *name, uint32_t *ret_interface, uint8_t ret_mac[FRAME_MAC])
{
    struct ifreq r = {0};
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* any socket asks */
    if (fd < 0)
        return -errno;
    (void)snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    if (ioctl(fd, SIOCGIFINDEX, &r) != 0)
        return -errno;
    uint32_t interface = (uint32_t)r.ifr_ifindex;
    if (ioctl(fd, SIOCGIFHWADDR, &r) != 0)
        return -errno;
    if (r.ifr_hwaddr.sa_family != ARPHRD_ETHER)
        return -ENODEV;
    *ret_interface = interface;
    memcpy(ret_mac, r.ifr_hwaddr.sa_data, FRAME_MAC);
    return 0;
}

int raw_open(const FrameFilter *filter)
{
    struct sock_filter program[FRAME_FILTER_MAX];
    const struct sock_fprog attach = {.len = (unsigned short)frame_filter(filter, program),
                                      .filter = program};
    const struct sockaddr_ll local = {.sll_family = AF_PACKET,
                                      .sll_protocol = htons(FRAME_ETHERTYPE),
                                      .sll_ifindex = (int)filter->interface};
    const int one = 1;
    /* With protocol 0 nothing comes before the filter is there. SOCK_DGRAM: the kernel makes the
     * Ethernet header, so that the sender's address is the interface's own. */
    CLEANUP_CLOSE int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &attach, sizeof attach) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &one, sizeof one) != 0 ||
        bind(fd, (const struct sockaddr *)&local, sizeof local) != 0)
        return -errno;
    return STEAL_FD(fd);
}
