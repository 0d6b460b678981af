#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every shell script passes shellcheck.
. "$(dirname "$0")/lib.sh"

need shellcheck
mapfile -t all < <(scripts)
shellcheck -x -P SCRIPTDIR -s bash "${all[@]}"
