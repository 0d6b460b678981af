/* SPDX-License-Identifier: MIT */
/* What rmd answers the tools of other hosts: the requests that a session may make of it. */
#ifndef DODO_RMD_EXPLAINER_H
#define DODO_RMD_EXPLAINER_H

#include <glib.h>

#include "rmd/options.h"
#include "rmd/report.h"
#include "usocket/port.h"

typedef struct Explainer {
    const RmdOptions *options; /* borrowed, as all that follows */
    const Monitor *monitor;
    const Verdicts *verdicts;
    const Observation *seen; /* the last one, or NULL */
    GString *text;           /* whose pages tools fetch */
    uint32_t version;
} Explainer;

/* What others may know of the owner. */
enum Detail explainer_detail(const RmdOptions *o);
/* @payload is a WIRE_REQUEST that came by @s. */
void explainer_request(Explainer *e, Port *port, Session *s, const uint8_t *payload, size_t len);
void explainer_clear(Explainer *e);

#endif
