#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dodo mount keeps the rules of a file system: calls that change names, modes, owners, sizes and times have the same
# results, errors and effects as in a plain directory; for root and several users below a mount of root's, and for an
# ordinary user below his own.
. "$(dirname "$0")/lib.sh"

[ -w /dev/fuse ] || {
  echo "SKIP: /dev/fuse cannot be used here"
  exit 77
}
config
chmod 755 "$work"

# below_mount NAME: a mount of $work/NAME/src at $work/NAME/mnt, and the rules below it.
below_mount() {
  local place=$work/$1 mount directory status=0
  mkdir "$place"/{src,mnt,plain}
  "$bin_dodo" mount --min-size 1M "$place/src" "$place/mnt" >"$place/out" 2>&1 &
  mount=$!
  until_true "$mount" grep -qs "ready at" "$place/out"
  timeout "$patience" "$DODO_BUILD/tests/net/rules" "$place/src" "$place/mnt" "$place/plain" || status=$?
  exec {directory}<"$place/mnt" # still open when the mount ends: the leak checker looks
  kill "$mount"
  wait "$mount" || status=1
  exec {directory}<&-
  return "$status"
}

# As an ordinary user, for whom /dev/fuse is there.
cat >"$work/ordinary" <<'END'
#!/usr/bin/env bash
set -e
mount -t tmpfs dev "$1"
mknod "$1/fuse" c 10 229
chmod 666 "$1/fuse"
mount --bind "$1/fuse" /dev/fuse
shift
exec setpriv --reuid 1000 --regid 1000 --clear-groups "$@"
END
chmod 755 "$work/ordinary"
mkdir "$work"/{dev,root,user}
ordinary=(unshare --mount "$work/ordinary" "$work/dev" env XDG_STATE_HOME= XDG_RUNTIME_DIR=)

below_mount root >"$work/root.log" 2>&1 &
root=$!
# shellcheck disable=SC2016 # another shell expands it
if "${ordinary[@]}" sh -c 'test -x "$1" && : >/dev/fuse && command -v fusermount3' sh "$bin_dodo" >"$work/can" 2>&1; then
  chown 1000:1000 "$work/user"
  export -f below_mount until_true fail
  export work bin_dodo patience DODO_BUILD
  "${ordinary[@]}" bash -c 'below_mount user' || fail "an ordinary user's calls differ"
else
  told "no ordinary user can mount here: $(cat "$work/can")"
fi
wait "$root" || fail "calls differ: $(cat "$work/root.log")"
cat "$work/root.log"
