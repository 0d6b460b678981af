#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dodo mount and dodo run, over a cluster whose hosts die: every byte that is read was in the file during the
# call, whoever writes it and how; calls give what they give without the mount; what has been read once comes
# from remote memory; and both end cleanly.
. "$(dirname "$0")/lib.sh"

[ -w /dev/fuse ] || {
  echo "SKIP: /dev/fuse cannot be used here"
  exit 77
}
nobody_gives_up
cluster 2
src=$work/src mnt=$work/mnt
mkdir "$src" "$mnt"

# mount_up OPTION...: $src at $mnt, on the client.
mount_up() {
  proc_start mount client "ready at" "$bin_dodo" mount --cluster "$cluster_name" "$@" "$src" "$mnt" ||
    fail "dodo mount did not start"
}
mount_down() {
  proc_end mount || fail "dodo mount did not end well"
  ! mountpoint -q "$mnt" || fail "$mnt is still mounted"
}
