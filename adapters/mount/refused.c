/* SPDX-License-Identifier: MIT */
#include "adapters/mount/refused.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void refused_device_text(int device_error, char *text, size_t cap)
{
    const bool forbidden = device_error == EACCES || device_error == EPERM;
    (void)snprintf(text, cap, "/dev/fuse: %s: %s", strerror(device_error),
                   forbidden ? "allow this user or container to use it"
                             : "load the kernel's module fuse, or give the container that device");
}

void refused_text(const Refused *r, char *text, size_t cap)
{
    if (r->device_error != 0)
        refused_device_text(r->device_error, text, cap);
    else if (!r->root && !r->helper)
        (void)snprintf(text, cap,
                       "cannot mount: a user who is not root needs fusermount3, of the package "
                       "fuse3");
    else
        (void)snprintf(text, cap, "cannot mount, for the reason above");
}
