/* SPDX-License-Identifier: MIT */
/* What rmd takes at its start, in order, and gives back. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <glib.h>

#include "base/os.h"
#include "daemon/start.h"
#include "rmd/shell_private.h"

static const uint64_t SURVEY_EVERY_NS = 60 * NS_PER_S;

static int open_survey(Rmd *rmd, char *error)
{
    const SurveyFileConfig config = {
        .path = rmd->options->survey, .root = "", .every_ns = SURVEY_EVERY_NS};
    return survey_file_open(&config, &rmd->survey, error, CONFIG_ERROR_MAX);
}

static int open_node(Rmd *rmd, uint64_t now_ns)
{
    const NodeSink sink = rmd_node_sink(rmd);
    const NodeConfig config = {.monitor = rmd_monitor_config(rmd->options),
                               .full = explainer_detail(rmd->options) == DETAIL_FULL,
                               .link = rmd->has_port ? &rmd->link : NULL};
    const int res = node_init(&rmd->node, &config, &sink, now_ns);
    rmd->explainer = (Explainer){
        .options = rmd->options, .monitor = rmd->node.monitor, .verdicts = &rmd->verdicts};
    return res;
}

static int open_monitor(Rmd *rmd, char *error)
{
    const RmdOptions *o = rmd->options;
    char wrong[RULE_ERROR_MAX];
    int res = verdicts_open(&rmd->verdicts, o->recruit_when, o->reclaim_when, wrong);
    if (res < 0) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "%s", wrong);
        return res;
    }
    pressure_open(&rmd->pressure);
    res = open_node(rmd, os_now_ns());
    rmd->looker = looker_new(o, rmd->input);
    rmd->sleep = o->survey ? NULL : sleep_watch_new(o->sources.bus);
    if (res == 0)
        res = child_open(&rmd->child, o, &rmd_child_ops, rmd);
    if (res == 0 && !rmd->looker)
        res = -ENOMEM;
    if (res < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX, "cannot watch this host: %s", strerror(-res));
    return res;
}

static int open_loop(Rmd *rmd, char *error)
{
    rmd->loop = loop_new(&rmd_loop_ops, rmd);
    if (rmd->loop && rmd_host_watch(rmd) == 0 && rmd_network_watch(rmd) == 0)
        return metrics_http_open(rmd->loop, &rmd->options->metrics,
                                 &(MetricsContent){.metrics = rmd_scrape, .ctx = rmd},
                                 &rmd->metrics, error);
    (void)snprintf(error, CONFIG_ERROR_MAX, "no memory for the loop");
    return -ENOMEM;
}

Rmd *rmd_new(RmdOptions *options, InputHelper *input, char error[CONFIG_ERROR_MAX])
{
    Rmd *rmd = g_new0(Rmd, 1);
    rmd->options = options;
    rmd->input = input;
    rmd->child.fd = rmd->child.pidfd = rmd->child.channel = rmd->child.cgroup.procs = -1;
    rmd->pressure = (Pressure){
        .trigger = -1, .fd = -1, .meminfo = -1, .zones = -1, .vmstat = -1, .overcommit = -1};
    rmd->mailbox.fd = rmd->resolver.fd = rmd->address.fd = rmd->desk.fd = -1;
    int res = mailbox_init(&rmd->mailbox);
    if (res < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX, "cannot make an eventfd: %s", strerror(-res));
    if (res == 0)
        res = options->survey ? open_survey(rmd, error) : rmd_network_open(rmd, error);
    if (res == 0)
        res = open_monitor(rmd, error);
    if (res == 0 && !options->survey)
        owner_desk_open(&rmd->desk, options);
    if (res == 0)
        res = open_loop(rmd, error);
    return res == 0 ? rmd : rmd_free(rmd);
}

Rmd *rmd_free(Rmd *rmd)
{
    if (!rmd)
        return NULL;
    child_close(&rmd->child);
    owner_desk_close(&rmd->desk);
    rmd->metrics = metrics_http_free(rmd->metrics);
    rmd->loop = loop_free(rmd->loop);
    rmd->sleep = sleep_watch_free(rmd->sleep);
    node_deinit(&rmd->node);
    pressure_close(&rmd->pressure);
    verdicts_close(&rmd->verdicts);
    rmd->survey = survey_file_free(rmd->survey);
    if (rmd->has_port)
        port_close(&rmd->port);
    resolver_close(&rmd->resolver);
    address_watch_close(&rmd->address);
    rmd->looker = looker_free(rmd->looker);
    if (rmd->mailbox.fd >= 0)
        mailbox_drop(&rmd->mailbox, g_free);
    g_free(rmd->seen);
    explainer_clear(&rmd->explainer);
    g_free(rmd);
    return NULL;
}
