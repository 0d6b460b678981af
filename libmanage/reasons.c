/* SPDX-License-Identifier: MIT */
#include "libmanage/reasons.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct Reason {
    enum ManageCallName call;
    int error;
    const char *text;
} Reason;

static const char *const names[] = {
    "copen",        "cread",     "cwrite",     "csync",
    "cclose",       "cadvise",   "csetPolicy", "manage_register_policy",
    "manage_stats", "manage_set"};

static const Reason reasons[] = {
    {NAME_COPEN, EINVAL,
     "a length below 1, an offset below 0, an end at 2^62 or beyond, an unknown flag, or no "
     "regular file that is open for reading and writing (with DODO_RDONLY: for reading): correct "
     "the call"},
    {NAME_COPEN, EBUSY,
     "the range is part of an open region, in this process or another: close that one first; or "
     "somebody has locked the file to its end, wherever that is (l_len 0)"},
    {NAME_COPEN, EACCES,
     "the library cannot open the file again for writing: call copen before the program gives up "
     "its permission, or with DODO_RDONLY"},
    {NAME_COPEN, ENOMEM,
     "this process has no memory for the region, or for a cache of that size: close others, or "
     "make the cache smaller"},
    {NAME_COPEN, EMFILE, "no descriptor is left: close some, or raise the limit (ulimit -n)"},
    {NAME_CREAD, EINVAL, "no open region, an offset outside of it, or no buffer: correct the call"},
    {NAME_CWRITE, EINVAL,
     "no open region, one opened with DODO_RDONLY, an offset outside of it, or no buffer: correct "
     "the call"},
    {NAME_CSYNC, EINVAL, "no open region: correct the call"},
    {NAME_CCLOSE, EINVAL,
     "no open region, or one that another thread is closing: correct the call"},
    {NAME_CADVISE, EINVAL,
     "no open region, an offset outside of it, or no such advice: correct the call"},
    {NAME_POLICY, EINVAL, "no such policy: correct the call"},
    {NAME_REGISTER, EINVAL, "a policy without its procedures, or its size: correct it"},
    {NAME_REGISTER, ENOSPC, "too many policies are registered: register each once"},
    {NAME_STATS, EINVAL, "no room for the figures: correct the call"},
    {NAME_SET, EINVAL, "no such option: correct the call"},
    {NAME_SET, EBUSY, "there is a cache already: call it before the first copen"},
};

/* For all other errors, which are the file's. */
static const char *const files[] = {
    "cannot open the file",
    "cannot read the file; look into the kernel's log",
    "cannot write the file, or read the rest of a block; make room or repair it, and write again: "
    "what earlier calls wrote is kept",
    "cannot write to the disk what was written; make room or repair it, and call again: what is in "
    "the cache is kept",
    "cannot write to the disk what was written, so the region is still open; make room or repair "
    "it, and call again",
    "failed",
    "failed",
    "failed",
    "failed",
    "failed",
};

static const char *reason_of(enum ManageCallName call, int error)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].call == call && reasons[i].error == error)
            return reasons[i].text;
    return NULL;
}

void reason_write(char text[REASON_MAX], enum ManageCallName call, int error, const char *detail)
{
    const char *known = reason_of(call, error), *system = strerrordesc_np(error);
    if (*detail)
        (void)snprintf(text, REASON_MAX, "%s: %s", names[call], detail);
    else if (known)
        (void)snprintf(text, REASON_MAX, "%s: %s", names[call], known);
    else
        (void)snprintf(text, REASON_MAX, "%s: %s: %s", names[call], system ? system : "error",
                       files[call]);
}
