#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shells are thin, and compare no times: whether something is due is the core's decision, which the
# simulation then runs, too. To ask for the earlier of two (min_u64) and whether it is TIME_NEVER is
# no decision.
. "$(dirname "$0")/lib.sh"

# The programs' files that no core has, by the lists of what is built; and main.c.
listed() {
  awk -v lib="$2" '$0 ~ "^ *" lib " = static_library" { on = 1 } on; on && /include_directories|dependencies/ { exit }' \
    "$1/meson.build" | grep -oE "'[a-z_]+\\.c'" | tr -d "'" | sed "s|^|$1/|"
}
# These wait themselves, or measure, and have no core.
own='^(cmd/lease_command|imd/priority|libdodo/(kept|link|queue)|libmanage/carry|rmd/(guard|input_helper|looker|pressure|shares))\.c$'
mapfile -t shells < <(
  { listed cmd cmd_shell_lib; listed imd imd_shell_lib; listed libdodo libdodo_shell_lib
    listed libmanage manage_shell_lib; listed rmd rmd_shell_lib
    ls cmd/main.c imd/main.c libdodo/dodo.c libmanage/manage.c rmd/main.c; } | grep -vE "$own"
)
[ "${#shells[@]}" -gt 40 ] || complain "this check finds only ${#shells[@]} shells"

time='[A-Za-z0-9_]*(_ns|_NS)|now|until|deadline|due|give_up'
order='(<|>|<=|>=)'
# An arrow and a shift are no order.
compares="(^|[^A-Za-z0-9_])($time)(\\([^()]*\\))? *$order *[^<>= ]|[^-<>]$order *[^ <>=]*\\b($time)\\b"

# found FILE...: the lines that compare times, but for what stands in comments and strings.
found() {
  local file
  for file; do
    sed -E 's#"([^"\\]|\\.)*"##g; s#/\*.*\*/##; s#^ *\*.*##' "$file" | grep -nE "$compares" |
      sed "s|^|$file:|" || true
  done
}

probe=$(mktemp)
trap 'rm -f "$probe"' EXIT
cat >"$probe" <<'END'
    if (now_ns >= rmd->leave_at_ns)
    return now < child_beat_ns(c);
    while (os_now_ns() < until)
    bool late = now - began > LEAVE_NS;
    if (deadline(cmd->port) <= now)
    uint64_t now = os_now_ns(), t = min_u64(rmd->due_ns, node_deadline(&rmd->node));
    if (take(rmd->now_ns, error) < 0 || t == TIME_NEVER) /* now > then */
END
seen=$(found "$probe" | cut -d: -f2 | tr '\n' ' ')
[ "$seen" = "1 2 3 4 5 " ] || complain "this check sees lines $seen of its own example"

while read -r line; do complain "$line: let the core decide"; done < <(found "${shells[@]}")

# What stands between a core and its descriptors is short.
SHELL_LINES=150
thin=(cmd/shell.c imd/shell.c libdodo/runtime.c libmanage/shell.c rmd/shell.c)
for file in "${thin[@]}"; do
  lines=$(wc -l <"$file")
  [ "$lines" -le "$SHELL_LINES" ] || complain "$file: $lines lines, more than $SHELL_LINES"
done
finish
