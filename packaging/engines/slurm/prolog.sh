#!/bin/sh
# SPDX-License-Identifier: MIT
# Prolog of slurmd (slurm.conf: Prolog=), as root: the node's memory is the job's. rmd takes back at once what it lends, and
# lends nothing while a job is there. Never fails: a node is drained when its prolog does.
jobs=${DODO_SLURM_JOBS:-/run/dodo-slurm}
(
  umask 077
  mkdir -p "$jobs" && flock 9 && : >"$jobs/job-${SLURM_JOB_ID:?}" && timeout 20 dodo owner --never >"$jobs/said" 2>&1
) 9>>"$jobs.lock" || logger -t dodo-prolog "the node's memory was not asked back: $(cat "$jobs/said" 2>/dev/null)"
exit 0
