/* SPDX-License-Identifier: MIT */
/* dodo explain: why a host lends its memory or does not, in the words of its owner's monitor. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "proto/conf/defaults.h"
#include "daemon/start.h"
#include "tools/client.h"
#include "tools/command.h"

enum {
    PAGES_MAX = 2 * EXPLAIN_MAX / EXPLAIN_PAGE_MAX, /* of one text: none goes on for ever */
    TRIES_MAX = 5,                                  /* texts that change while they are fetched */
};

static const ConfigProgram program = {
    .name = "dodo explain",
    .reader = CONF_TOOL,
    .arguments = "HOST[:PORT]",
    .summary = "Shows why a host lends its memory or does not. Asks rmd on that host.",
    .tables = {&tool_timeout, &config_manager_unused, &config_common},
};

typedef struct Text {
    size_t len, total;
    uint32_t version;
    uint8_t bytes[EXPLAIN_MAX + 1]; /* with a zero at the end, for printing */
} Text;

/* The page that follows what there is. 0; 1 when it is of another text; -errno. */
static int fetch_page(ToolClient *c, Text *t, char *error)
{
    const OpExplain ask = {.offset = (uint32_t)t->len};
    OpExplainReply page;
    uint8_t body[WIRE_BODY_MAX];
    int res = tool_client_ask(c, OP_EXPLAIN, body, wire_explain_encode(&ask, body), error);
    if (res < 0)
        return res;
    if (wire_explain_reply_decode(c->request.answer, c->request.answer_len, &page) != 0 ||
        (page.len == 0 && t->len < page.total) || page.len > EXPLAIN_MAX - t->len) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "the answer made no sense: is that rmd?");
        return -EPROTO;
    }
    if (t->len > 0 && (page.total != t->total || page.version != t->version))
        return 1;
    t->version = page.version;
    t->total = page.total;
    memcpy(t->bytes + t->len, page.text, page.len);
    t->len += page.len;
    return 0;
}

/* 0; 1 when it changed meanwhile; -errno. */
static int fetch_text(ToolClient *c, Text *t, char *error)
{
    t->len = t->total = 0;
    int res = fetch_page(c, t, error);
    for (unsigned i = 0; res == 0 && t->len < t->total; i++) {
        if (i == PAGES_MAX)
            return 1;
        res = fetch_page(c, t, error);
    }
    return res;
}

static int fetch(const ToolOptions *o, const Resolved *peers, Text *t, char *error)
{
    ToolClient c;
    size_t said = 0;
    int res = tool_client_open_any(&c, o, peers, NULL, error);
    if (res < 0) {
        said = strlen(error);
        (void)snprintf(error + said, CONFIG_ERROR_MAX - said,
                       " (rmd reports on its own host only)");
        return res;
    }
    const bool other = c.session->peer_role != ROLE_RMD;
    res = other ? -EPROTO : 1;
    for (unsigned i = 0; res == 1 && i < TRIES_MAX; i++)
        res = fetch_text(&c, t, error);
    if (res == 1) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "what rmd says changes too quickly; try again");
        res = -EAGAIN;
    } else if (other || (res == -EPROTO && c.request.status == STATUS_DENIED)) {
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "that is another daemon, not rmd, whose port is %d by default",
                       DEFAULT_RMD_PORT);
    }
    tool_client_close(&c);
    return res;
}

/* Nothing but text reaches the terminal. */
static void print_text(Text *t)
{
    char *text = (char *)t->bytes;
    text[t->len] = '\0';
    for (size_t i = 0; i < t->len;) {
        size_t len = printable_character(text + i);
        if (len > 0)
            (void)fwrite(text + i, 1, len, stdout);
        else
            (void)putchar(text[i] == '\n' || text[i] == '\t' ? text[i] : '?');
        i += len > 0 ? len : 1;
    }
    if (t->len > 0 && t->bytes[t->len - 1] != '\n')
        (void)putchar('\n');
}

static int run(int argc, char **argv)
{
    static Text text;
    char error[CONFIG_ERROR_MAX] = "";
    ToolOptions o;
    Resolved peers;
    int status = EXIT_SUCCESS;
    tool_options_init(&o);
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    if (outcome == CONFIG_OK) {
        const int res =
            argc == 2 ? tool_find_host(argv[1], DEFAULT_RMD_PORT, &peers, error) : -EINVAL;
        outcome = res == -EINVAL ? CONFIG_USAGE : res < 0 ? CONFIG_BAD : CONFIG_OK;
        if (res == -EINVAL)
            (void)snprintf(error, sizeof error,
                           "which host? give its name or address, such as host.example, 10.0.0.2 "
                           "or [fd00::2]:7702");
    }
    if (outcome != CONFIG_OK)
        status = start_config_failed(&program, outcome, error);
    else if (fetch(&o, &peers, &text, error) < 0)
        status = start_failed(&program, EXIT_START, error);
    else
        print_text(&text);
    config_clear(&program, &o);
    return status;
}

const Command command_explain = {"explain", "Show why a host lends its memory or does not", run};
