#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# docs/cluster.md is right: a manager's host and ten others do what the page says, behind firewalls that refuse all else.
# Its blocks say where they are typed. Only systemctl and scp are ours: one starts what the unit names, the other copies
# into another host's /etc.
. "$(dirname "$0")/lib.sh"

page=$root/docs/cluster.md
ten=(host1 host2 host3 host4 host5 host6 host7 host8 host9 host10)

# The blocks of the page that are meant to be tried, as files: $work/blocks/NUMBER.KIND.PLACE.
mkdir "$work/blocks" "$work/bin" "$work/units"
awk -v dir="$work/blocks" '
/^```[a-z]+ (manager|host|any)$/ || /^```hosts$/ {
  split(substr($0, 4), word, " ")
  file = sprintf("%s/%02d.%s.%s", dir, ++n, word[1], word[2] ? word[2] : "all")
  next
}
/^```/ { file = "" }
file { print > file }' "$page"
sed -i 's/\<10\.0\.0\./10.88.0./g' "$work"/blocks/*

cat >"$work/bin/systemctl" <<'END'
#!/usr/bin/env bash
[ "$1 $2" = "enable --now" ] && cat "$UNITS/$3.service.in" >/dev/null && echo "$3" >"$STARTED"
END
cat >"$work/bin/scp" <<END
#!/usr/bin/env bash
[ "\$1" = -p ] && cp -p "\$2" "$work/etc-\${3%%:*}\${3#*:/etc}"
END
chmod +x "$work"/bin/*
ln -s "$bin_dodo" "$work/bin/dodo"

# A host with an /etc of its own, as the packages leave it, and a firewall that lets nothing in unasked.
host_as_installed() {
  local etc=$work/etc-$1 name
  mkdir -p "$etc/dodo"
  for name in passwd nsswitch.conf ld.so.cache ld.so.conf ld.so.conf.d ssl alternatives; do
    [ ! -e "/etc/$name" ] || cp -a "/etc/$name" "$etc/"
  done
  printf '%s\n' root:x:0: dodo:x:0: >"$etc/group"
  echo 127.0.0.1 localhost >"$etc/hosts"
  host_add "$1" --mount || fail "could not make $1"
  on "$1" mount --bind "$etc" /etc || fail "$1 has no /etc of its own"
  on "$1" nft -f - <<<'table inet filter { chain input { type filter hook input priority 0; policy drop;
    ct state established,related accept; iif lo accept; meta l4proto icmp accept; }; }' || fail "$1 has no firewall"
}

# unit_start HOST UNIT: what its ExecStart says.
unit_start() {
  local words
  read -ra words < <(sed -n 's/^ExecStart=//p' "$root/packaging/systemd/$2.service.in")
  case ${words[0]} in
    @sbindir@/dodo-cmd) words[0]=$bin_cmd ;;
    @sbindir@/dodo-rmd) words[0]=$DODO_BUILD/rmd/rmd ;;
    *) fail "the unit $2 starts ${words[0]}" ;;
  esac
  daemon_start "$2-$1" "$1" "${words[@]}" || fail "$2 did not start on $1"
}

# type_on HOST FILE: as an administrator would. What is started runs before the next line is typed.
type_on() {
  local line
  if ! grep -q systemctl "$2"; then
    type_at_once "$1" "$2"
    return
  fi
  while read -r line; do
    echo "$line" >"$work/line"
    type_at_once "$1" "$work/line"
  done <"$2"
}
type_at_once() {
  rm -f "$work/units/$1"
  on "$1" env PATH="$work/bin:$PATH" UNITS="$root/packaging/systemd" STARTED="$work/units/$1" \
    bash -euo pipefail "$2" >"$work/typed.log" 2>&1 </dev/null || fail "on $1: $(cat "$2"): $(cat "$work/typed.log")"
  [ ! -e "$work/units/$1" ] || unit_start "$1" "$(cat "$work/units/$1")"
}

unset DODO_CONFIG
hosts_switch || fail "could not make the switch"
hosts_count=0
host_as_installed manager
hosts_count=10
for name in "${ten[@]}"; do host_as_installed "$name"; done

all_listed() {
  on manager env PATH="$work/bin:$PATH" dodo status --json 2>/dev/null </dev/null |
    /usr/bin/python3 -c 'import json, sys
sys.exit(len(json.load(sys.stdin)["hosts"]) != 10)' 2>/dev/null
}

tried=0
for block in "$work"/blocks/*; do
  IFS=. read -r _ kind place <<<"${block##*/}"
  case $place in
    manager) places=(manager) ;;
    host) places=("${ten[@]}") ;;
    any)
      must "all ten hosts are there" all_listed
      places=(manager host10)
      ;;
    all) places=(manager "${ten[@]}") ;;
  esac
  for name in "${places[@]}"; do
    case $kind in
      sh) type_on "$name" "$block" ;;
      ini) cp "$block" "$work/etc-$name/dodo/dodo.conf" ;;
      hosts) cat "$block" >>"$work/etc-$name/hosts" ;;
    esac
  done
  told "block $((++tried)), of $kind for $place"
done
[ "$tried" -ge 10 ] || fail "only $tried blocks of the page were tried"
for name in "${ten[@]}"; do
  [ "$(grep -cF "${host_ip[$name]}:7702" "$work/typed.log")" -eq 3 ] ||
    fail "status, top and events do not each name $name: $(cat "$work/typed.log")"
done

# Another address, as from DHCP: the daemon ends as one that failed, which its unit starts again, and serves there.
on host10 ip addr del "${host_ip[host10]}/24" dev eth0
on host10 ip addr add 10.88.0.110/24 dev eth0
status=0
proc_wait dodo-rmd-host10 || status=$?
[ "$status" -eq 1 ] || fail "rmd ended with $status when its host got another address"
grep -qF "address_changed listen=${host_ip[host10]}:7702 now=10.88.0.110:7702" "$work/dodo-rmd-host10.log" ||
  fail "no word of the new address: $(cat "$work/dodo-rmd-host10.log")"
unit_start host10 dodo-rmd
[ "${proc_address[dodo-rmd-host10]}" = 10.88.0.110:7702 ] || fail "rmd is at ${proc_address[dodo-rmd-host10]}"
