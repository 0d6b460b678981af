/* SPDX-License-Identifier: MIT */
/* dodo survey: what the hosts that rmd --survey has recorded could have lent. */
#include "tools/survey.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/printable.h"
#include "daemon/start.h"
#include "tools/command.h"

typedef struct SurveyOptions {
    CommonOptions common; /* first */
    char *svg;
    bool json, kb;
} SurveyOptions;

static const ConfigKey keys[] = {
    {NULL, "svg", "Draw the figures, into PREFIX-all.svg and PREFIX-hosts.svg", "PREFIX",
     offsetof(SurveyOptions, svg), CONFIG_TEXT},
    {NULL, "kib", "Print KiB; MiB if not given", NULL, offsetof(SurveyOptions, kb), CONFIG_BOOL},
    {NULL, "json", "Print JSON", NULL, offsetof(SurveyOptions, json), CONFIG_BOOL},
};
static const ConfigTable own = CONFIG_TABLE(keys);
static const ConfigProgram program = {
    .name = "dodo survey",
    .reader = CONF_TOOL,
    .arguments = "FILE...",
    .summary = "Shows what hosts could have lent, from recordings that dodo-rmd --survey has made. "
               "\"-\" is\nthe standard input.",
    .tables = {&own},
};

/* ---- reading --------------------------------------------------------------------------------- */

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void tell_losses(const char *name, const SurveyLosses *l)
{
    if (l->damaged)
        (void)fprintf(
            stderr, "%s: %s: %" PRIu64 " damaged line%s left out; the first is line %" PRIu64 "\n",
            program.name, name, l->damaged, plural(l->damaged), l->first_damaged);
    if (l->foreign)
        (void)fprintf(stderr,
                      "%s: %s: %" PRIu64 " line%s of another format left out; use the version of "
                      "dodo that made it\n",
                      program.name, name, l->foreign, plural(l->foreign));
    if (l->hosts)
        (void)fprintf(stderr, "%s: %s: %" PRIu64 " sample%s left out: of more than %u hosts\n",
                      program.name, name, l->hosts, plural(l->hosts), (unsigned)SURVEY_HOSTS_MAX);
}

/* A device is no recording, and one may have no end. -errno. */
static int judge(FILE *f)
{
    struct stat st;
    if (fstat(fileno(f), &st) < 0)
        return -errno;
    return S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode) ? -EINVAL : 0;
}

static int read_file(Survey *s, const char *name, SurveyLosses *sum, char *error)
{
    SurveyLosses l = {0};
    bool standard = strcmp(name, "-") == 0;
    FILE *f = standard ? stdin : fopen(name, "re");
    int res = !f ? -errno : standard ? 0 : judge(f);
    if (res == 0)
        res = survey_read(s, f, &l);
    if (f && !standard)
        (void)fclose(f);
    char shown[256];
    (void)printable_path(name, shown, sizeof shown);
    if (res < 0)
        (void)snprintf(error, CONFIG_ERROR_MAX, "%s: %s", shown, strerror(-res));
    tell_losses(shown, &l);
    sum->damaged += l.damaged;
    sum->foreign += l.foreign;
    sum->hosts += l.hosts;
    return res;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static int draw(const Survey *s, const char *prefix, const char *suffix,
                void (*figure)(FILE *, const Survey *), char *error)
{
    g_autofree char *path = g_strconcat(prefix, suffix, NULL);
    FILE *f = fopen(path, "we");
    bool failed = !f;
    if (f) {
        figure(f, s);
        failed = ferror(f) != 0;
        failed |= fclose(f) != 0;
    }
    const int why = errno;
    char shown[256];
    if (failed)
        (void)snprintf(error, CONFIG_ERROR_MAX, "%s: cannot write it: %s",
                       printable_path(path, shown, sizeof shown), strerror(why));
    return failed ? -EIO : 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int survey(Survey *s, const SurveyOptions *o, char *const *names, char *error)
{
    SurveyLosses sum = {0};
    for (; *names; names++)
        if (read_file(s, *names, &sum, error) < 0)
            return -EIO;
    survey_finish(s);
    if (s->samples == 0) {
        (void)snprintf(error, CONFIG_ERROR_MAX,
                       "there is no sample: is that what dodo-rmd --survey wrote?");
        return -ENODATA;
    }
    if (o->svg && (draw(s, o->svg, "-all.svg", survey_draw_all, error) < 0 ||
                   draw(s, o->svg, "-hosts.svg", survey_draw_hosts, error) < 0))
        return -EIO;
    if (o->json)
        survey_print_json(stdout, s, &sum);
    else
        survey_print_table(stdout, s, o->kb);
    return 0; /* main() sees whether it came through */
}

static int run(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    SurveyOptions o = {0};
    int status = EXIT_SUCCESS;
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    if (outcome == CONFIG_OK && argc < 2) {
        (void)snprintf(error, sizeof error, "give recordings (see dodo survey --help)");
        outcome = CONFIG_USAGE;
    }
    if (outcome != CONFIG_OK) {
        status = start_config_failed(&program, outcome, error);
    } else {
        Survey *s = survey_new(o.svg != NULL);
        if (survey(s, &o, argv + 1, error) < 0)
            status = start_failed(&program, EXIT_START, error);
        survey_free(s);
    }
    config_clear(&program, &o);
    return status;
}

const Command command_survey = {"survey", "Show what hosts could have lent, from recordings", run};
