/* SPDX-License-Identifier: MIT */
#include "rmd/power.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"

typedef struct Power {
    bool plugged;     /* to something that gives current */
    bool discharging; /* a battery of the host's, or its UPS */
    int error;        /* -errno of a battery that does not say */
} Power;

enum { WORD_BYTES = 32 };

/* The one word in a file; "" if there is none. 0, or -errno. */
static int word_read(int dir, const char *supply, const char *file, char word[WORD_BYTES])
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", supply, file);
    ssize_t n = os_text_read(dir, path, word, WORD_BYTES);
    word[strcspn(word, "\n")] = '\0';
    return n < 0 ? (int)n : 0;
}

static void supply_add(Power *p, int dir, const char *supply)
{
    char type[WORD_BYTES], word[WORD_BYTES];
    if (word_read(dir, supply, "type", type) != 0)
        return; /* it has just gone */
    (void)word_read(dir, supply, "scope", word);
    if (strcmp(word, "Device") == 0)
        return; /* a mouse's */
    if (strcmp(type, "Battery") != 0 && strcmp(type, "UPS") != 0) {
        (void)word_read(dir, supply, "online", word);
        p->plugged |= strcmp(word, "1") == 0;
        return;
    }
    int r = word_read(dir, supply, "status", word);
    if (r == -ENODEV)
        return; /* taken out */
    if (r != 0)
        p->error = r;
    p->discharging |= strcmp(word, "Discharging") == 0;
}

static void dir_close(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

int power_on_battery(const char *path)
{
    Power p = {.plugged = false};
    CLEANUP(dir_close) DIR *dir = opendir(path);
    if (!dir) { /* a kernel without any, or no /sys at all? */
        char parent[4096];
        int error = errno;
        (void)snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(path, '/') - path), path);
        return error == ENOENT && access(parent, F_OK) == 0 ? 0 : -error;
    }
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.')
            supply_add(&p, dirfd(dir), e->d_name);
    if (p.plugged)
        return 0;
    return p.discharging ? 1 : p.error;
}
