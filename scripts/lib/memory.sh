# SPDX-License-Identifier: MIT
# A memory limit that includes the page cache: a control group, version 1 or 2. Sourced by bash.
# shellcheck shell=bash disable=SC2034

# memory_parents: where a group may be made, the best place first.
memory_parents() {
  local own
  printf '%s\n' /sys/fs/cgroup/memory /sys/fs/cgroup
  own=$(sed -n 's/^0:://p' /proc/self/cgroup 2>/dev/null)
  [ -z "$own" ] || [ "$own" = / ] || printf '/sys/fs/cgroup%s\n' "$own" "${own%/*}"
}

# memory_limit NAME BYTES: its directory is then in memory_group; false where there is none.
memory_limit() {
  local parent path
  memory_group=
  while IFS= read -r parent; do
    path=$parent/$1
    mkdir "$path" 2>/dev/null || continue
    # A directory of tmpfs takes any file: only a real group has this one from the start.
    if [ -e "$path/cgroup.procs" ] &&
      { echo "$2" >"$path/memory.limit_in_bytes" || echo "$2" >"$path/memory.max"; } 2>/dev/null &&
      sh -c 'echo 0 >"$1/cgroup.procs"' sh "$path" 2>/dev/null; then
      memory_group=$path
      return 0
    fi
    rmdir "$path"
  done < <(memory_parents)
  return 1
}

# memory_set BYTES: another limit for the group in memory_group, if there is one.
memory_set() {
  [ -z "$memory_group" ] ||
    { echo "$1" >"$memory_group/memory.limit_in_bytes" || echo "$1" >"$memory_group/memory.max"; } 2>/dev/null
}

# memory_release PREFIX: removes the groups of that name; false if one has processes still.
memory_release() {
  local parent group status=0
  while IFS= read -r parent; do
    for group in "$parent/$1"*; do
      [ ! -d "$group" ] || rmdir "$group" 2>/dev/null || status=1
    done
  done < <(memory_parents)
  return "$status"
}
