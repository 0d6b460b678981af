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

# Access control lists: what is made gets its directory's default one, whatever the umask is; FIFOs and sockets have some.
cat >"$work/lists.py" <<'END'
import errno, os, socket, struct, sys
USER, NAMED, GROUP, MASK, OTHER, NOBODY = 1, 2, 4, 16, 32, 0xFFFFFFFF
def made(*entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries)
def of(path):
    try:
        return os.getxattr(path, "system.posix_acl_access")
    except OSError as e:
        return e.errno
def all_in(directory):
    os.chdir(directory)
    os.mkdir("lists")
    os.chdir("lists")
    for listed in False, True:
        if listed:
            every = made((USER, 7, NOBODY), (NAMED, 7, os.getuid()), (GROUP, 5, NOBODY), (MASK, 7, NOBODY), (OTHER, 7, NOBODY))
            os.setxattr(".", "system.posix_acl_default", every)
        for mask in 0, 0o022, 0o077:
            os.umask(mask)
            name = f"{listed}{mask}"
            os.close(os.open("file" + name, os.O_CREAT | os.O_WRONLY, 0o666))
            os.mkdir("directory" + name, 0o777)
            os.mkfifo("fifo" + name, 0o666)
            socket.socket(socket.AF_UNIX).bind("socket" + name)
            os.symlink("file" + name, "link" + name)
    for name in "fifoFalse0", "socketFalse0":
        one = made((USER, 6, NOBODY), (NAMED, 6, os.getuid()), (GROUP, 0, NOBODY), (MASK, 6, NOBODY), (OTHER, 0, NOBODY))
        os.setxattr(name, "system.posix_acl_access", one)
    return [(name, oct(os.lstat(name).st_mode), of(name)) for name in sorted(os.listdir("."))]
try:
    wanted = all_in(sys.argv[2])
except OSError as e:
    if e.errno != errno.EOPNOTSUPP:
        raise
    sys.exit(0) # no lists here
for there, plain in zip(all_in(sys.argv[1]), wanted):
    if there != plain:
        sys.exit(f"{there} below the mount, {plain} beside it")
END

# below_mount NAME: a mount of $work/NAME/src at $work/NAME/mnt, and the rules below it.
below_mount() {
  local place=$work/$1 mount directory status=0
  mkdir "$place"/{src,mnt,plain}
  "$bin_dodo" mount --min-size 1M "$place/src" "$place/mnt" >"$place/out" 2>&1 &
  mount=$!
  until_true "$mount" grep -qs "ready at" "$place/out"
  timeout "$patience" "$DODO_BUILD/tests/net/rules" "$place/src" "$place/mnt" "$place/plain" || status=$?
  [ "$status" -ne 0 ] || python3 "$work/lists.py" "$place/mnt" "$place/plain" || status=$?
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
