/* SPDX-License-Identifier: MIT */
#include "adapters/run/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "adapters/totals.h"
#include "base/parse.h"
#include "base/printable.h"

int report_make(void)
{
    return memfd_create("dodo-run-report", MFD_CLOEXEC);
}

/* @explained: each file has said why it is not cached. */
static void print_sums(const ReadTotals *t, const char *through, bool explained,
                       uint64_t elapsed_ns)
{
    char text[600], time[32];
    bool cached = t->local_reads + t->remote_reads + t->file_reads > 0;
    (void)fprintf(stderr, "dodo run: the program took %s; %s%s\n",
                  format_time(elapsed_ns, time, sizeof time),
                  totals_text(t, through, text, sizeof text),
                  cached || explained ? "" : "; no file was cached: --verbose says why");
}

/* How many mounts or processes have given their totals. */
static unsigned take_lines(FILE *in, bool files, ReadTotals *totals)
{
    unsigned count = 0;
    char *line = NULL;
    size_t cap = 0;
    while (getline(&line, &cap, in) > 0) {
        if (totals_add(totals, line)) {
            count++;
        } else if (files) {
            line[strcspn(line, "\n")] = '\0';
            (void)fprintf(stderr, "dodo run: %s\n", printable(line));
        }
    }
    free(line);
    return count;
}

void report_print(int fd, const ReportAsk *ask, uint64_t elapsed_ns)
{
    ReadTotals totals = {0};
    int own = dup(fd); /* the stream's */
    FILE *in = own < 0 ? NULL : fdopen(own, "r");
    if (!in)
        return;
    rewind(in);
    unsigned given = take_lines(in, ask->files, &totals);
    (void)fclose(in);
    if (ask->sums)
        print_sums(&totals, ask->library ? "the library" : "the mount", ask->files, elapsed_ns);
    if (given < ask->mounts)
        (void)fprintf(stderr, "dodo run: %u of %u mounts ended without a report\n",
                      ask->mounts - given, ask->mounts);
}
