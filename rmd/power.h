/* SPDX-License-Identifier: MIT */
/* Whether the host runs on its battery, from the kernel's power supplies. */
#ifndef DODO_RMD_POWER_H
#define DODO_RMD_POWER_H

/* @dir: /sys/class/power_supply. 1, 0; -errno: that is unknown. A host that has no battery, or
 * none that the kernel knows of, does not run on it. */
int power_on_battery(const char *dir);

#endif
