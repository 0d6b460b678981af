/* SPDX-License-Identifier: MIT */
/* Watches keyboards, mice and the like, straight from the kernel (/dev/input/event*). What is typed
 * is wiped unseen; only that something was matters.
 *
 * A device that appears is somebody plugging it in, or a wireless one that woke up; one that goes
 * may have fallen asleep by itself. If any device may not be opened, the report says so: a gamepad
 * that is everybody's to read says nothing of the keyboard. */
#ifndef DODO_RMD_INPUT_WATCH_H
#define DODO_RMD_INPUT_WATCH_H

#include "rmd/input_report.h"

typedef struct InputWatch InputWatch;

/* @path: directory of input devices, or a file of one; borrowed. NULL: no memory. */
InputWatch *input_watch_new(const char *path);
InputWatch *input_watch_free(InputWatch *w); /* NULL is fine; returns NULL */
/* @awake_ns: CLOCK_MONOTONIC. */
void input_watch_look(InputWatch *w, uint64_t awake_ns, InputReport *ret);

#endif
