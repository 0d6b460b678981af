/* SPDX-License-Identifier: MIT */
/* What the file of a program says of how it will run. */
#ifndef DODO_ADAPTERS_RUN_EXECUTABLE_H
#define DODO_ADAPTERS_RUN_EXECUTABLE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum ExecutableKind {
    EXECUTABLE_UNKNOWN, /* no format that this knows: a shell runs it, or the kernel another way */
    EXECUTABLE_DYNAMIC,
    EXECUTABLE_STATIC,
};

typedef struct Executable {
    int error;                /* errno of why it cannot be run; 0: it can */
    char path[PATH_MAX];      /* of the program */
    char binary[PATH_MAX];    /* what the kernel runs for it: its interpreter, or itself */
    enum ExecutableKind kind; /* of the binary, as the rest */
    bool foreign;             /* linked dynamically, by another loader than this process */
    bool set_user, set_group, capabilities;
    uid_t owner;
    gid_t group;
} Executable;

/* Looks for @name as execvp(3) does in the directories of @search, and at what it finds. */
void executable_look(const char *name, const char *search, Executable *ret);
/* The loader that this process was started by; NULL: none. */
const char *executable_own_loader(void);

#endif
