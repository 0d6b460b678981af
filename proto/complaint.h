/* SPDX-License-Identifier: MIT */
/* What a daemon says while no manager answers it, and when: soon after that began, then once a
 * minute. That who answers there is no manager is said at once. Pure. */
#ifndef DODO_PROTO_COMPLAINT_H
#define DODO_PROTO_COMPLAINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "proto/contact.h"

#define COMPLAINT_FIRST_NS (3 * NS_PER_S)
#define COMPLAINT_NEXT_NS (60 * NS_PER_S)

typedef struct Complaint {
    uint64_t due_ns; /* of the next, while no manager answers */
    bool named;      /* since one did, that a stranger answers */
} Complaint;

enum ComplaintKind {
    COMPLAINT_NONE,
    COMPLAINT_UNHEARD,
    COMPLAINT_NONE_ACTIVE, /* who answers stands by */
    COMPLAINT_NO_MANAGER   /* who answers is another daemon */
};

/* No manager has answered yet; or one does, and what was said of a stranger is over. */
static inline void complaint_begin(Complaint *c, uint64_t now_ns)
{
    *c = (Complaint){.due_ns = time_add(now_ns, COMPLAINT_FIRST_NS)};
}

/* The loss of a manager was said just now. */
static inline void complaint_put_off(Complaint *c, uint64_t now_ns)
{
    c->due_ns = time_add(now_ns, COMPLAINT_NEXT_NS);
}

/* What to report now. @heard: a manager has answered, and does not count as lost. A peer that is no
 * manager is asked again several times a second, for a manager may take its place. It is reported
 * once. */
static inline enum ComplaintKind complaint_take(Complaint *c, const Contact *contact, bool heard,
                                                uint64_t now_ns)
{
    const bool is_new = contact->stranger && !c->named;
    if (!is_new && (heard || now_ns < c->due_ns))
        return COMPLAINT_NONE;
    c->named |= contact->stranger;
    complaint_put_off(c, now_ns);
    return contact->stranger  ? COMPLAINT_NO_MANAGER
           : contact->standby ? COMPLAINT_NONE_ACTIVE
                              : COMPLAINT_UNHEARD;
}

#endif
