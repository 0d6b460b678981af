/* SPDX-License-Identifier: MIT */
/* Prints what the daemons measure, a family a line, for metrics.py: the sample's name, its label
 * and the label's values, type, unit, help. */
#include <stdio.h>

#include "cmd/metrics.h"
#include "imd/metrics.h"
#ifdef HAS_RMD
#include "rmd/metrics.h"
#endif

static void print(const MetricTable *t)
{
    for (size_t i = 0; i < t->count; i++) {
        const Metric *m = &t->rows[i];
        if (!m->help)
            continue;
        printf("%s%s\t%s\t", m->name, metric_suffix(m->type), m->label ? m->label : "-");
        for (size_t k = i; m->label && k < t->count && (k == i || !t->rows[k].help); k++)
            printf("%s%s", k > i ? " " : "", t->rows[k].value);
        printf("\t%s\t%s\t%s\n", metric_type_text(m->type), m->unit ? m->unit : "-", m->help);
    }
}

int main(void)
{
    print(&cmd_metrics);
    print(&imd_metrics);
#ifdef HAS_RMD
    print(&rmd_metrics);
#endif
    return 0;
}
