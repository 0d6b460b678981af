/* SPDX-License-Identifier: MIT */
/* The facts that the kernel gives: load, processors, memory, power, the time of day. */
#ifndef DODO_RMD_FACTS_READ_H
#define DODO_RMD_FACTS_READ_H

#include <stdint.h>

#include "rmd/facts.h"

typedef struct FactsReader FactsReader;

/* @root stands before /proc and /sys: "" but for tests; borrowed. NULL: no memory. */
FactsReader *facts_reader_new(const char *root);
FactsReader *facts_reader_free(FactsReader *r); /* NULL is fine; returns NULL */

/* Sets load (as the kernel has it), cpus, mem_total, mem_available, mem_pressure, on_battery, hour
 * and weekday; what cannot be read becomes unknown. The others it leaves alone. @now_ns:
 * CLOCK_REALTIME. */
void facts_read(FactsReader *r, uint64_t now_ns, Facts *facts);

#endif
