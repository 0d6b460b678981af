#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# apparmor.sh DIRECTORY: the profiles in it are understood by AppArmor's own parser. Whether they allow all that the daemons
# do shows only under a kernel with AppArmor.
. "$(dirname "$0")/lib.sh"

parser=$(PATH=$PATH:/usr/sbin:/sbin command -v apparmor_parser) || {
  echo "SKIP: apparmor_parser is not installed"
  exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for profile in cmd imd rmd; do
  "$parser" --skip-kernel-load --skip-cache -I packaging/apparmor "$1/dodo-$profile.apparmor" >"$dir/said" 2>&1 ||
    complain "dodo-$profile: $(cat "$dir/said")"
done
finish
