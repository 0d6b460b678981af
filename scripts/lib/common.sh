# SPDX-License-Identifier: MIT
# Shared by the scripts: messages, packages, builds. Sourced by bash after `set -euo pipefail`.
# shellcheck shell=bash disable=SC2034

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly top

# What Dodo is built from; what the demonstration and the tests need besides.
packages_build=(gcc libc6-dev meson ninja-build pkg-config libssl-dev libxxhash-dev libglib2.0-dev libevent-dev
  libcmocka-dev liblua5.4-dev libseccomp-dev libxcb-screensaver0-dev)
[ "$(dpkg --print-architecture 2>/dev/null)" != amd64 ] || packages_build+=(libipsec-mb-dev) # Debian has it for that alone
packages_demo=(fuse3 libfuse3-dev iproute2 libopenblas-dev sqlite3)
packages_peers=(memcached redis-server nbdkit libnbd-dev iproute2 ethtool nftables) # scripts/bench-peers
packages_test=(g++ gfortran chromium clang clang-format libclang-rt-14-dev shellcheck nftables groff-base dbus-daemon
  python3-dbusmock python3-dev python3-numpy systemd tshark xvfb xdotool)
packages_package=("${packages_build[@]}" build-essential debhelper dh-python dpkg-dev libfuse3-dev libopenblas-dev
  pkgconf python3-dev xz-utils) # scripts/package
# How Debian builds: -O2 (meson's own release is -O3, where gcc warns of what is not there).
release_options=(-Doptimization=2 -Ddebug=false -Db_ndebug=true)

say() { printf '%s\n' "$*"; }
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# keep_awake: until this script ends, no processor of a virtual machine is ever idle. A host gives an
# idle one to others, and it comes back late: everything that is measured here waits for a disk or a
# network, and so for that host.
keep_awake() {
  grep -q '^flags.* hypervisor' /proc/cpuinfo || return 0
  say "A virtual machine: its processors are kept from idling until this ends, as else its host would be measured."
  awake_by_polling || awake_by_programs
}

# The kernel waits for work by itself, if it can and we may ask for it.
awake_by_polling() {
  [ "$(cat /sys/devices/system/cpu/cpu0/cpuidle/state0/name 2>/dev/null)" = POLL ] || return 1
  [ -w /dev/cpu_dma_latency ] || return 1
  setsid setpriv --pdeathsig KILL sh -c 'exec 3>/dev/cpu_dma_latency && printf "\0\0\0\0" >&3 && exec sleep infinity' \
    </dev/null >/dev/null 2>&1 &
  disown
}

# Otherwise programs keep them busy, which make way for everything else, if not at once: beside one a
# thread that wakes may wait for 4 ms, where each session has its own share of a processor.
awake_by_programs() {
  local cpu
  for ((cpu = 0; cpu < $(nproc --all); cpu++)); do
    # shellcheck disable=SC2016 # its own $1
    setsid setpriv --pdeathsig KILL sh -c '{ echo 19 >/proc/self/autogroup; } 2>/dev/null
      exec chrt -i 0 taskset -c "$1" sh -c "while :; do :; done"' sh "$cpu" </dev/null >/dev/null 2>&1 &
    disown
  done
}

# step TEXT COMMAND...: runs it with its output kept aside, tells how long it took; when it fails,
# shows the end of its output and passes its status on.
step() {
  local text=$1 start=$SECONDS name log status=0
  shift
  # Also where nothing ends a script by itself, because its caller asks for the status.
  name=$(mktemp) || die "no temporary file can be made in ${TMPDIR:-/tmp}: give another directory in TMPDIR"
  exec {log}<>"$name"
  rm -f "$name" # so that nothing stays behind, whatever happens
  printf '%s ... ' "$text"
  "$@" >&"$log" 2>&1 </dev/null || status=$?
  if [ "$status" -eq 0 ]; then
    printf 'done (%d s)\n' $((SECONDS - start))
  else
    printf 'FAILED\n'
    [ -s "/proc/$BASHPID/fd/$log" ] || printf '(It said nothing that could be kept: is %s full?)\n' "${TMPDIR:-/tmp}"
    tail -n 40 "/proc/$BASHPID/fd/$log"
  fi
  exec {log}>&-
  return "$status"
}

package_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# need_packages PACKAGE...: installs those that are missing, as root or through sudo without a
# password; otherwise says what to do and ends.
need_packages() {
  local missing=() package as_root=()
  if ! command -v dpkg-query >/dev/null; then
    say "This is not a Debian system: going on with the tools that are here."
    return 0
  fi
  for package; do package_installed "$package" || missing+=("$package"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null; then
      say "These packages are missing, and installing them takes root. Please run"
      say "    apt-get update && apt-get install ${missing[*]}"
      say "as root, then this command again."
      exit 1
    fi
    as_root=(sudo -n)
  fi
  step "Reading the package lists" "${as_root[@]}" apt-get update -q ||
    say "(going on with the lists that are here)"
  step "Installing ${missing[*]}" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${missing[@]}" ||
    die "the packages could not be installed"
}

# build_tree DIRECTORY MESON-OPTION...: configures it (again, but where build_configured is set) and builds everything;
# where build_suites is set, what test-targets says of these suites. Two of one directory take turns.
build_tree() {
  local dir=$1 lock status=0
  if [ -e "$dir" ] && [ ! -w "$dir" ]; then
    die "$dir belongs to somebody else; remove it, or use a clone of your own"
  fi
  mkdir -p "$dir" || return 1
  exec {lock}<"$dir"
  if ! flock --nonblock "$lock"; then
    say "Waiting for another build of ${dir#"$top"/}"
    flock "$lock" || return 1
  fi
  build_tree_alone "$@" || status=1
  exec {lock}<&-
  return "$status"
}
build_tree_alone() {
  local dir=$1 name=${1#"$top"/}
  shift
  # Where meson and its Python do not come from one place, Debian's is the one that fits.
  local path=/usr/bin:$PATH
  local again=()
  [ ! -f "$dir/build.ninja" ] || again=(--reconfigure) # packages may have come since
  [ -n "${build_configured-}" ] ||
    step "Configuring $name" env PATH="$path" meson setup "${again[@]}" "$dir" "$top" "$@" || return 1
  local building=(meson compile -C "$dir") list targets
  if [ -n "${build_suites-}" ]; then
    # shellcheck disable=SC2086 # words
    list=$("$top/scripts/lib/test-targets" "$dir" $build_suites) || return 1
    mapfile -t targets <<<"$list"
    building=(ninja -C "$dir" "${targets[@]}")
  fi
  # Where there is a ccache, it gives what another clone has compiled, whose directory the debugger then names.
  step "Building $name" env PATH="$path" CCACHE_NOHASHDIR=1 "${building[@]}"
}

# The build that people use and that the demonstration shows; scripts/test has its own.
build_release() {
  build_tree "$top/build" "${release_options[@]}" -Dtests=disabled
}
