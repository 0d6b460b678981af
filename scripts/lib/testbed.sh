# SPDX-License-Identifier: MIT
# The inside of a testbed: the process that all of it hangs on, in namespaces of its own.
#
# scripts/testbed up starts a watcher, and that this keeper, as process 1 of a process namespace:
# whatever runs in the testbed, started by whom it may be, ends with it by the kernel's hand, and so
# do mounts and network. The two look after each other: when one is killed the other removes what
# the kernel does not, the control groups and the directory.
# Sourced by bash after hosts.sh, cluster.sh, memory.sh; `work` is the testbed's directory.
# shellcheck shell=bash disable=SC2154,SC2034

# What is where in the directory: hosts/NAME/ has a file for each of a host's properties (address,
# pid, run, ... as in `testbed_settings`), daemons/NAME has "HOST PID ADDRESS"; keeper and watcher
# are "PID START", seen from outside; names, faults and skipped are lines.
testbed_settings='rate queue memory disk pool run'

# process_start PID: when it started, in the kernel's ticks: with that a number is one process only.
# False when it has ended.
process_start() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  stat=${stat##*) }
  # shellcheck disable=SC2086 # words
  set -- $stat
  [[ $1 != [ZX] ]] && echo "${20}"
}

# is_testbed: the directory is one of ours, and nothing else that somebody has named or put there.
is_testbed() {
  [ -O "$work" ] && [[ $(cat "$work/testbed.id" 2>/dev/null) =~ ^[0-9a-f]{16}$ ]]
}

# testbed_sweep: what the kernel leaves of a testbed whose processes are gone.
testbed_sweep() {
  local id
  is_testbed || return 0
  id=$(<"$work/testbed.id")
  wait_for 10 memory_release "dodo-testbed-$id-" || true
  rm -rf --one-file-system "$work"
}

# What `up` reads, a line each: "skip TEXT", "ready", "log TEXT" and then "failed TEXT".
tell() { printf '%s\n' "$*"; }
skip() {
  echo "$*" >>"$work/skipped"
  tell skip "$*"
}
give_up() {
  tail -q -n 3 "$work"/*.log 2>/dev/null | sed 's/^/log /' || true
  tell failed "$*"
  exit 1
}

host_setting() { cat "$work/hosts/$1/$2" 2>/dev/null || true; }

# ---- the hosts ------------------------------------------------------------------------------------

# keep_host NAME: makes the host that is described in hosts/NAME.
keep_host() {
  local name=$1 rate queue limit
  host_add "$name" || give_up "could not make host $name"
  echo "${host_ip[$name]}" >"$work/hosts/$name/address"
  echo "${host_mac[$name]}" >"$work/hosts/$name/mac"
  echo "${host_pid[$name]}" >"$work/hosts/$name/pid"
  rate=$(host_setting "$name" rate) queue=$(host_setting "$name" queue)
  if [ -n "$rate" ]; then
    host_rate "$name" "$rate" "$queue" "${burst-}" || give_up "the link of $name cannot have the rate $rate"
    # A packet each on the wire: else the queue would be of 64 KB at once.
    [ -n "${burst-}" ] || on "$name" ip link set eth0 gso_max_segs 1 ||
      give_up "the link of $name takes no single packets"
  fi
  limit=$(host_setting "$name" memory)
  if [ -n "$limit" ]; then
    if memory_limit "dodo-testbed-$(<"$work/testbed.id")-$name" "$limit"; then
      echo "$memory_group" >"$work/hosts/$name/group"
    else
      skip "memory of $name: no control group for it is available here (as root there is)"
    fi
  fi
}

# keep_disk NAME: the host's modelled disk, or without FUSE its directory as it is.
keep_disk() {
  local name=$1 model data words=() word first=()
  model=$(host_setting "$name" model)
  [ -n "$model" ] || return 0
  data=$(host_setting "$name" data)
  for word in $model; do words+=("--${word%%=*}" "${word#*=}"); done
  mkdir -p "$work/hosts/$name/disk"
  echo "$data" >"$work/hosts/$name/mount" # as long as there is no better
  if [ ! -x "$build/tools/diskfs/diskfs" ]; then
    skip "disk of $name: $build has no diskfs (libfuse3-dev was missing); its files are as fast as this machine's"
  elif [ ! -w /dev/fuse ]; then
    skip "disk of $name: /dev/fuse may not be used; its files are as fast as this machine's"
  else
    # A disk does not compete for the processor; nice counts within a session alone (autogroups).
    # shellcheck disable=SC2016 # its own $@
    [ "$(nice -n -10 nice 2>/dev/null)" != -10 ] ||
      first=(nice -n -10 sh -c '{ echo -10 >/proc/self/autogroup; } 2>/dev/null; exec "$@"' sh)
    proc_start "disk-$name" "$name" "${first[@]}" "$build/tools/diskfs/diskfs" "${words[@]}" "$data" \
      "$work/hosts/$name/disk"
    wait_for 60 disk_told "$work/disk-$name.log" "disk-$name" || true
    grep -qs ready "$work/disk-$name.log" || give_up "the disk of $name does not start"
    echo "$work/hosts/$name/disk" >"$work/hosts/$name/mount"
    touch "$work/hosts/$name/modelled"
    keep_note "disk-$name" "$name"
  fi
}
keep_note() { echo "$2 ${proc_pid[$1]} ${proc_address[$1]-}" >"$work/daemons/$1"; }

# into_memory NAME: sets `into` to the words before a command that put it into the host's memory.
into_memory() {
  local group
  group=$(host_setting "$1" group)
  into=()
  # shellcheck disable=SC2016 # for the inner shell
  [ -z "$group" ] || into=(sh -c 'echo 0 >"$0/cgroup.procs" && exec "$@"' "$group")
}

# ---- the daemons ----------------------------------------------------------------------------------

# config_sets KEY: the user's lines set it. The testbed then leaves it out: a key may be given once.
config_sets() { grep -qsE "^[[:space:]]*$1[[:space:]]*=" "$work/config"; }
# A modelled disk counts as one with honest time stamps: nobody but the testbed changes its files.
keep_config() {
  local name honest=''
  for name; do
    [ ! -e "$work/hosts/$name/modelled" ] ||
      honest=$(stat -f -c %t "$work/hosts/$name/disk")
  done
  {
    config_sets log_level || printf '[dodo]\nlog_level = warn\n'
    [ -z "$honest" ] || config_sets honest_filesystems ||
      printf '[client]\nhonest_filesystems = %s\n' "$honest"
    cat "$work/config" 2>/dev/null || true
  } >"$work/dodo.conf"
  export DODO_CONFIG=$work/dodo.conf
}

keep_manager() { # HOST
  local into
  into_memory "$1"
  if [ -e "$work/insecure" ]; then
    export DODO_INSECURE=1
  else
    cluster_key
    export DODO_KEY=$work/key
  fi
  daemon_start cmd "$1" "${into[@]}" "$bin_cmd" --listen "${host_ip[$1]}:0" || give_up "cmd does not start"
  echo "${proc_address[cmd]}" >"$work/manager"
  echo "$1" >"$work/manager-host"
  export DODO_MANAGER=${proc_address[cmd]}
  keep_note cmd "$1"
}

# keep_daemon HOST: its imd, or the rmd that starts one.
keep_daemon() {
  local name=$1 into pool run
  run=$(host_setting "$name" run) pool=$(host_setting "$name" pool)
  into_memory "$name"
  case $run in
  imd)
    # An imd gives way to everything else on its host; but these hosts share one machine's cores.
    daemon_start "imd-$name" "$name" "${into[@]}" "$bin_imd" --manager "$DODO_MANAGER" \
      --listen "${host_ip[$name]}:0" --pool "$pool" --nice 0 || give_up "imd does not start on $name"
    ;;
  rmd)
    if [ ! -x "$build/rmd/rmd" ]; then
      skip "rmd on $name: $build has none"
      return 0
    fi
    daemon_start "rmd-$name" "$name" "${into[@]}" "$build/rmd/rmd" --manager "$DODO_MANAGER" \
      --listen "${host_ip[$name]}" --pool "$pool" || give_up "rmd does not start on $name"
    ;;
  *) return 0 ;;
  esac
  keep_note "$run-$name" "$name"
}

# ---- faults ---------------------------------------------------------------------------------------

# faults_rules: the switch's rules for these lines: "alone HOST", "cut FROM TO", "loss HOST PERCENT".
# Loading them replaces what was there, at once.
faults_rules() {
  local what a b mac dice
  printf 'table bridge testbed\ndelete table bridge testbed\ntable bridge testbed {\n'
  printf 'chain forward {\ntype filter hook forward priority 0; policy accept;\n'
  while read -r what a b; do
    mac=$(host_setting "$a" mac)
    case $what in
    alone) printf 'ether saddr %s drop\nether daddr %s drop\n' "$mac" "$mac" ;;
    cut) printf 'ether saddr %s ether daddr %s drop\n' "$mac" "$(host_setting "$b" mac)" ;;
    loss) # each way, but what finds addresses stays
      dice=$(awk -v p="$b" 'BEGIN { printf "numgen random mod 100000 < %d", p * 1000 + 0.5 }')
      [ "$b" != 100 ] || dice=''
      printf 'ether %s %s ether type != arp %s drop\n' saddr "$mac" "$dice" daddr "$mac" "$dice"
      ;;
    esac
  done
  printf '}\n}\n'
}

# ---- all of it ------------------------------------------------------------------------------------

keep_end() {
  local mount
  trap '' INT TERM HUP
  procs_end
  for mount in "$work"/hosts/*/disk; do
    ! mountpoint -q "$mount" || umount -l "$mount" || true
  done
  hosts_end
  # What else runs in here, commands of `exec` say: process 1 of a namespace means just that one.
  [ $$ -ne 1 ] || kill -KILL -1 2>/dev/null || true
  testbed_sweep
}

# testbed_keep: makes the testbed that is described in the directory, says so, and stays.
testbed_keep() {
  local name names=() manager='' members=0 word
  trap keep_end EXIT
  trap 'exit 0' INT TERM HUP
  build=$(<"$work/build")
  [ ! -e "$work/gso" ] || burst=128kb # at least two of what passes at once
  bin_cmd=$build/cmd/cmd bin_imd=$build/imd/imd bin_dodo=$build/tools/dodo
  unset DODO_MANAGER DODO_KEY DODO_CONFIG DODO_INSECURE DODO_LOG
  hosts_switch || give_up "network namespaces are not allowed here"
  echo "${host_pid[switch]}" >"$work/switch"
  mapfile -t names <"$work/names"
  for name in "${names[@]}"; do
    keep_host "$name"
    keep_disk "$name"
    case $(host_setting "$name" run) in
    cmd) manager=$name ;;
    imd) members=$((members + 1)) ;;
    esac
  done
  keep_config "${names[@]}"
  if [ -n "$manager" ]; then
    keep_manager "$manager"
    for name in "${names[@]}"; do keep_daemon "$name"; done
    wait_for 60 hosts_idle "$manager" "$members" || give_up "the hosts did not join the manager"
  fi
  # Nobody took delivery: `up` was killed meanwhile.
  tell ready || exit 1
  read -r word || exit 1
  exec >>"$work/log" </dev/null
  while :; do
    sleep 1000000 &
    wait $! || true
  done
}
