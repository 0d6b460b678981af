/* SPDX-License-Identifier: MIT */
#include "rmd/input_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"

enum { NAME_BYTES = 24, READS_MAX = 64 };
#define SCAN_NS (5 * NS_PER_S)

typedef struct Device {
    int fd;
    char name[NAME_BYTES];
} Device;

struct InputWatch {
    const char *path;
    Device devices[INPUT_DEVICES_MAX];
    uint16_t count;
    bool started;
    int refused; /* errno of a device that cannot be opened, at the last scan */
    uint16_t refused_number;
    uint64_t scan_ns, active_ns;
    struct timespec changed; /* the directory, as the last look found it */
};

InputWatch *input_watch_new(const char *path)
{
    InputWatch *w = calloc(1, sizeof *w);
    if (w)
        w->path = path;
    return w;
}

InputWatch *input_watch_free(InputWatch *w)
{
    for (unsigned i = 0; w && i < w->count; i++)
        (void)close(w->devices[i].fd);
    free(w);
    return NULL;
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

static bool device_is_open(const InputWatch *w, const char *name)
{
    for (unsigned i = 0; i < w->count; i++)
        if (strcmp(w->devices[i].name, name) == 0)
            return true;
    return false;
}

static void refuse(InputWatch *w, const char *name, int error)
{
    unsigned number;
    w->refused = error;
    w->refused_number = sscanf(name, "event%5u", &number) == 1 && number < INPUT_NO_NUMBER
                            ? (uint16_t)number
                            : INPUT_NO_NUMBER;
}

/* @name: what it is known by. */
static void device_open(InputWatch *w, const char *path, const char *name, uint64_t awake_ns)
{
    if (device_is_open(w, name))
        return;
    if (w->count == INPUT_DEVICES_MAX || strlen(name) >= NAME_BYTES) {
        refuse(w, name, EMFILE);
        return;
    }
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 && errno != ENOENT && errno != ENODEV)
        refuse(w, name, errno);
    if (fd < 0)
        return;
    Device *d = &w->devices[w->count++];
    d->fd = fd;
    (void)snprintf(d->name, NAME_BYTES, "%s", name);
    w->active_ns = awake_ns;
}

static void devices_scan(InputWatch *w, uint64_t awake_ns)
{
    DIR *dir = opendir(w->path);
    w->refused = 0;
    w->scan_ns = awake_ns;
    if (!dir && errno == ENOTDIR)
        device_open(w, w->path, "device", awake_ns);
    else if (!dir && errno != ENOENT)
        refuse(w, "", errno);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[512];
        if (strncmp(e->d_name, "event", 5) != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", w->path, e->d_name);
        device_open(w, path, e->d_name, awake_ns);
    }
    if (dir)
        (void)closedir(dir);
}

/* ---- events --------------------------------------------------------------------------------- */

/* Where more has come than the kernel keeps for a reader, it says so, and has dropped all of it but
 * the newest event. */
static bool is_activity(const struct input_event *e)
{
    return e->type == EV_KEY || e->type == EV_REL || e->type == EV_ABS || e->type == EV_SW ||
           (e->type == EV_SYN && e->code == SYN_DROPPED);
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

static void devices_read(InputWatch *w, uint64_t awake_ns)
{
    for (unsigned i = 0; i < w->count;) {
        int r = device_read(&w->devices[i]);
        if (r > 0)
            w->active_ns = awake_ns;
        if (r >= 0) {
            i++;
            continue;
        }
        (void)close(w->devices[i].fd);
        w->devices[i] = w->devices[--w->count];
    }
}

/* Devices have come or gone since the look before. */
static bool has_changed(InputWatch *w)
{
    struct stat st = {.st_mode = 0};
    (void)stat(w->path, &st);
    const bool same =
        st.st_mtim.tv_sec == w->changed.tv_sec && st.st_mtim.tv_nsec == w->changed.tv_nsec;
    w->changed = st.st_mtim;
    return !same;
}

void input_watch_look(InputWatch *w, uint64_t awake_ns, InputReport *ret)
{
    const bool changed = has_changed(w);
    devices_read(w, awake_ns); /* what is gone may be back under its name */
    if (!w->started || changed || awake_ns - w->scan_ns >= SCAN_NS) {
        devices_scan(w, awake_ns);
        devices_read(w, awake_ns);
    }
    w->started = true;
    uint64_t idle_s = (awake_ns - w->active_ns) / NS_PER_S;
    *ret = (InputReport){.devices = w->count,
                         .error = (uint16_t)w->refused,
                         .refused = w->refused_number,
                         .idle_s = (uint32_t)(idle_s < UINT32_MAX ? idle_s : UINT32_MAX)};
}
