#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dodo join leads a new host into the cluster: it names the key that is missing or open to others, the port that a
# firewall closes and the address that is another host's, and says at the end what the host lends.
. "$(dirname "$0")/lib.sh"

# joined STATUS TEXT: on the new host, it ends so and says so.
joined() {
  local status=0
  said=$(on h1 timeout 60 "$bin_dodo" join --timeout 2s "${host_ip[manager]}:7700" 2>&1) || status=$?
  if [ "$status" -ne "$1" ] || ! grep -qF -- "$2" <<<"$said"; then
    echo "status $status: $said"
    return 1
  fi
}
wall() {
  on h1 nft -f - <<<"table inet wall { chain refused { type filter hook input priority 0; policy accept; $1 drop; }; }"
}
configured() { printf '%s\n' "$@" >"$work/new.conf"; }

config
cluster_hosts 1
cluster_key
export DODO_CONFIG=$work/new.conf
configured
daemon_start cmd manager "$bin_cmd" --listen "${host_ip[manager]}:7700" --key "$work/key" || fail "cmd did not start"

if [ ! -e /etc/dodo/key ]; then
  joined 1 "key      fault   none: copy /etc/dodo/key from the manager's host" || fail "no word of the key that is missing"
fi
cp "$work/key" "$work/copy"
chmod 644 "$work/copy"
configured '[dodo]' "key = $work/copy" '[rmd]' 'pool = 1M'
joined 1 "readable by others; run chmod o-rwx $work/copy" || fail "no word of a key that others can read"
chmod 600 "$work/copy"
joined 0 "write [dodo] manager = ${host_ip[manager]}:7700 and key = $work/copy into $work/new.conf" ||
  fail "no word of what to write"
[[ ${said##*$'\n'} == "lends    ok      this host lends 1 MiB of its "*" when idle ([rmd] pool)" ]] ||
  fail "the last line is ${said##*$'\n'}"
for port in 7702 7701 7720; do
  grep -qF "ports    ok      UDP ${host_ip[h1]}:$port " <<<"$said" || fail "no word of port $port: $said"
done

"$bin_dodo" keygen "$work/other"
chmod 600 "$work/other"
sed -i "s|^key = .*|key = $work/other|" "$work/new.conf"
joined 1 "manager  fault   ${host_ip[manager]}:7700 does not answer within 2s" || fail "no word of another key"
sed -i "s|^key = .*|key = $work/copy|" "$work/new.conf"

wall "udp dport 7720"
joined 1 "ports    fault   UDP ${host_ip[h1]}:7720 (imd, data): the manager answers this host, but not at this port" ||
  fail "no word of a data port that is closed"
on h1 nft delete table inet wall
configured '[dodo]' "key = $work/copy" '[rmd]' 'pool = 1M' "listen = ${host_ip[manager]}"
joined 1 "ports    fault   ${host_ip[manager]}:7702 (rmd) is no address of this host" || fail "no word of a wrong listen"
configured '[dodo]' "key = $work/copy" "manager = ${host_ip[manager]}:7700" '[rmd]' 'pool = 1M' "listen = ${host_ip[h1]}"
joined 0 "address  ok      datagrams to the manager leave from ${host_ip[h1]}" || fail "not all is well"

daemon_start rmd h1 "$DODO_BUILD/rmd/rmd" --idle-after 1h || fail "rmd did not start"
must "rmd reports to the manager" status_is h1 "[h['state'] for h in s['hosts']] == ['busy']"
joined 0 "ports    ok      UDP ${host_ip[h1]}:7702 (rmd): in use" || fail "not all is well with rmd"
