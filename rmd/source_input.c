/* SPDX-License-Identifier: MIT */
/* Keyboards, mice and the like, straight from the kernel (/dev/input/event*). What is typed is
 * wiped unseen; only that something was matters.
 *
 * A device that appears is somebody plugging it in, or a wireless one that woke up; one that goes
 * may have fallen asleep by itself. If any device may not be opened, this source does not know: a
 * gamepad that is everybody's to read says nothing of the keyboard. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/time.h"
#include "rmd/source_kinds.h"
#include "rmd/source_report.h"

enum { DEVICES_MAX = 64, NAME_BYTES = 24, READS_MAX = 64 };
#define SCAN_NS (5 * NS_PER_S)

typedef struct Device {
    int fd;
    char name[NAME_BYTES];
} Device;

typedef struct InputSource {
    Source base;
    const char *path;
    Device devices[DEVICES_MAX];
    unsigned count;
    bool started;
    int refused; /* -errno of a device that cannot be opened, at the last scan */
    char refused_name[NAME_BYTES];
    uint64_t scan_ns, active_ns;
} InputSource;

static Source *input_open(const SourceSettings *settings)
{
    InputSource *s = settings->input ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return NULL;
    s->path = settings->input;
    return &s->base;
}

/* ---- devices -------------------------------------------------------------------------------- */

/* A sensor of acceleration moves with every step on the floor. */
static bool is_accelerometer(int fd)
{
    unsigned long properties[INPUT_PROP_CNT / (8 * sizeof(long)) + 1] = {0};
    if (ioctl(fd, EVIOCGPROP(sizeof properties), properties) < 0)
        return false;
    return properties[0] >> INPUT_PROP_ACCELEROMETER & 1;
}

static bool device_is_open(const InputSource *s, const char *name)
{
    for (unsigned i = 0; i < s->count; i++)
        if (strcmp(s->devices[i].name, name) == 0)
            return true;
    return false;
}

static void refuse(InputSource *s, const char *name, int error)
{
    s->refused = error;
    (void)snprintf(s->refused_name, NAME_BYTES, "%.*s", NAME_BYTES - 1, name);
}

/* @name: what it is known by. */
static void device_open(InputSource *s, const char *path, const char *name, uint64_t awake_ns)
{
    if (device_is_open(s, name))
        return;
    if (s->count == DEVICES_MAX || strlen(name) >= NAME_BYTES) {
        refuse(s, name, -EMFILE);
        return;
    }
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 && errno != ENOENT && errno != ENODEV)
        refuse(s, name, -errno);
    if (fd < 0)
        return;
    Device *d = &s->devices[s->count++];
    d->fd = fd;
    (void)snprintf(d->name, NAME_BYTES, "%s", name);
    s->active_ns = awake_ns;
}

static void devices_scan(InputSource *s, uint64_t awake_ns)
{
    DIR *dir = opendir(s->path);
    s->refused = 0;
    s->scan_ns = awake_ns;
    if (!dir && errno == ENOTDIR)
        device_open(s, s->path, "device", awake_ns);
    else if (!dir && errno != ENOENT)
        s->refused = -errno;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[512];
        if (strncmp(e->d_name, "event", 5) != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", s->path, e->d_name);
        device_open(s, path, e->d_name, awake_ns);
    }
    if (dir)
        (void)closedir(dir);
}

/* ---- events --------------------------------------------------------------------------------- */

static bool is_activity(const struct input_event *e)
{
    return e->type == EV_KEY || e->type == EV_REL || e->type == EV_ABS || e->type == EV_SW;
}

/* Reads what has come. 1: there was activity; 0; -errno: the device is gone. */
static int device_read(const Device *d)
{
    struct input_event events[64];
    int active = 0;
    for (int reads = 0; reads < READS_MAX; reads++) {
        ssize_t n = read(d->fd, events, sizeof events);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            active = -errno;
        if (n <= 0)
            break;
        for (size_t i = 0; i < (size_t)n / sizeof events[0] && !active; i++)
            active = is_activity(&events[i]);
    }
    explicit_bzero(events, sizeof events);
    return active > 0 && is_accelerometer(d->fd) ? 0 : active;
}

static void devices_read(InputSource *s, uint64_t awake_ns)
{
    for (unsigned i = 0; i < s->count;) {
        int r = device_read(&s->devices[i]);
        if (r > 0)
            s->active_ns = awake_ns;
        if (r >= 0) {
            i++;
            continue;
        }
        (void)close(s->devices[i].fd);
        s->devices[i] = s->devices[--s->count];
    }
}

static void input_look(Source *base, uint64_t now_ns, uint64_t awake_ns, SourceReport *ret)
{
    InputSource *s = (InputSource *)(void *)base;
    (void)now_ns;
    if (!s->started || awake_ns - s->scan_ns >= SCAN_NS)
        devices_scan(s, awake_ns);
    s->started = true;
    devices_read(s, awake_ns);
    if (s->refused) {
        bool permission = s->refused == -EACCES || s->refused == -EPERM;
        source_unknown(ret, "%s %s: %s%s", s->path, s->refused_name, strerror(-s->refused),
                       permission ? "; is rmd in the group input?" : "");
        return;
    }
    if (s->count == 0) {
        source_unknown(ret, "%s: no input devices are here", s->path);
        return;
    }
    char age[32];
    source_known(ret, awake_ns - s->active_ns, "%u input device%s, last used %s ago", s->count,
                 s->count == 1 ? "" : "s", source_age(awake_ns - s->active_ns, age));
}

static void input_close(Source *base)
{
    InputSource *s = (InputSource *)(void *)base;
    for (unsigned i = 0; i < s->count; i++)
        (void)close(s->devices[i].fd);
    free(s);
}

const SourceKind source_input = {"input", input_open, input_look, input_close};
