/* SPDX-License-Identifier: MIT */
/* Threads of the region cache that are in the library: dodo_shutdown() waits for them. The program
 * keeps its own threads out; of those it does not know. */
#ifndef DODO_LIBDODO_GUESTS_H
#define DODO_LIBDODO_GUESTS_H

/* One enters, and may wait for a shutdown; leaves. It does not enter twice. */
void guests_enter(void);
void guests_leave(void);
/* All have left, and no other enters until guests_admit(). */
void guests_wait(void);
void guests_admit(void);
/* In a child, which has none of them. */
void guests_forget(void);

#endif
