#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# install.sh BUILD: what `meson install` puts in place is all there, nothing else is, and a program
# can be built from it with pkg-config alone.
. "$(dirname "$0")/lib.sh"

need pkg-config
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
DESTDIR=$dir/root meson install -C "$1" --no-rebuild --quiet >"$dir/log" 2>&1 || complain "$(cat "$dir/log")"
(cd "$dir/root" && find . -type f -o -type l) | sed -E 's|^\./(usr/(local/)?)?||; s|^lib/[^/]*-linux-gnu[^/]*/|lib/|; s|^lib/python3[.][0-9]*/|lib/python3.N/|' |
  sort >"$dir/there"
pc=$(find "$dir/root" -name dodo.pc)
python=python3.N # where Debian's Python looks below another prefix than its own
[ "$(sed -n 's/^prefix=//p' "$pc")" != /usr ] || python=python3
{
  printf 'bin/%s\n' dmine dmine-generate dodo dodo-synthetic
  printf '%s\n' libexec/dodo/dodo-socket libexec/dodo/dodo-tools libexec/dodo/imd sbin/dodo-cmd
  [ ! -e "$1/examples/lu" ] || echo bin/lu # where there is OpenBLAS
  [ ! -e "$1/adapters/mount/dodo-mount" ] || printf '%s\n' libexec/dodo/dodo-mount libexec/dodo/dodo-run.so
  [ ! -e "$1/adapters/preload/libdodo-preload.so" ] || echo libexec/dodo/libdodo-preload.so
  [ ! -e "$1/adapters/python/dodo/_dodo.abi3.so" ] ||
    printf '%s\n' "lib/$python/dist-packages/dodo/"{__init__.py,_dodo.abi3.so,_dodo.pyi,py.typed}
  [ ! -e "$1/rmd/rmd" ] || printf '%s\n' sbin/dodo-rmd lib/systemd/system/dodo-rmd.service
  printf 'include/dodo/%s\n' dodo.f90 dodo.h manage.h usocket.h
  printf 'lib/%s\n' libdodo.so libdodo.so.0 libdodo.so.0.1.0 pkgconfig/dodo.pc
  printf 'lib/%s\n' libmanage.so libmanage.so.0 libmanage.so.0.1.0 pkgconfig/dodo-manage.pc
  printf 'lib/%s\n' libusocket.so libusocket.so.0 libusocket.so.0.1.0 pkgconfig/dodo-usocket.pc
  printf 'lib/systemd/system/%s\n' dodo-cmd.service dodo-imd.service dodo-socket@.service dodo-socket@.socket
  printf 'lib/sysusers.d/%s\n' dodo.conf dodo-socket.conf
  echo lib/sysctl.d/30-dodo.conf
  printf 'share/dodo/apparmor.d/%s\n' dodo-cmd dodo-imd dodo-rmd abstractions/dodo abstractions/dodo-imd
  echo share/bash-completion/completions/dodo
  echo share/dodo/dodo.lua
  echo share/dodo/systemd/drain-on-stop.conf
  (cd packaging && find engines -type f) | sed 's|^|share/dodo/|'
  printf 'share/doc/dodo/%s\n' dodo.conf.example examples/hello.c examples/manage.c \
    examples/manage.f90 examples/manage.py examples/policy.c examples/queue.c examples/ucopy.c examples/uping.c
  for page in docs/*.[1-8]; do echo "share/man/man${page##*.}/${page#docs/}"; done
} | sort >"$dir/wanted"
compare "the installation" "$dir/there" "the list" "$dir/wanted"

prefix=$dir/root$(sed -n 's/^prefix=//p' "$pc")
export PKG_CONFIG_PATH=${pc%/*}
read -r -a flags < <(pkg-config --define-variable=prefix="$prefix" --cflags --libs dodo)
for example in hello queue; do
  gcc -std=gnu99 -Wall -Wextra -Werror "examples/$example.c" -o "$dir/$example" "${flags[@]}" ||
    complain "$example.c cannot be built from the installation"
done
read -r -a flags < <(pkg-config --define-variable=prefix="$prefix" --cflags --libs dodo-manage)
for example in manage policy; do
  gcc -std=gnu99 -Wall -Wextra -Werror "examples/$example.c" -o "$dir/$example" "${flags[@]}" ||
    complain "$example.c cannot be built from the installation"
done
need g++
g++ -std=c++17 -Wall -Wextra -Werror -x c++ - -o "$dir/cxx" "${flags[@]}" <<'END' || complain "no program in C++ can be built"
#include <cerrno>
#include <dodo/manage.h>
int main()
{
    char byte;
    return mopen(1, -1, 0) == -1 && copen(1, -1, 0) == -1 && errno == EINVAL && cread(0, 0, &byte, 1) == -1 &&
                   msync(0) == -1 && !dodo_queue_open(0)
               ? 0
               : 1;
}
END
read -r -a flags < <(pkg-config --define-variable=prefix="$prefix" --cflags --libs dodo-usocket)
for example in ucopy uping; do
  gcc -std=gnu99 -Wall -Wextra -Werror "examples/$example.c" -o "$dir/$example" "${flags[@]}" ||
    complain "$example.c cannot be built from the installation"
done
LD_LIBRARY_PATH=$(dirname "$(find "$dir/root" -name libdodo.so)")
export LD_LIBRARY_PATH
status=0
"$dir/hello" 2>"$dir/out" || status=$?
[ "$status" -eq 2 ] || complain "hello does not run: $(cat "$dir/out")"
seq 400000 >"$dir/numbers"
status=0
"$dir/uping" 2>"$dir/out" || status=$?
[ "$status" -eq 2 ] || complain "uping does not run: $(cat "$dir/out")"
DODO_CONFIG=/dev/null DODO_MANAGER="" "$dir/cxx" || complain "a program in C++ does not run"
for example in manage policy; do # which need no cluster
  DODO_CONFIG=/dev/null DODO_MANAGER="" "$dir/$example" "$dir/numbers" >"$dir/out" 2>&1 ||
    complain "$example does not run: $(cat "$dir/out")"
done
# Programs find the others where they are now, and not where they would be.
if [ -e "$1/rmd/rmd" ]; then
  printf '[rmd]\nidle_after = 1h\nutmp = none\ninput = none\nbus = none\n' >"$dir/conf"
  read -r line < <(DODO_CONFIG=$dir/conf exec "$prefix/sbin/dodo-rmd" --manager 127.0.0.1:9 --listen 127.0.0.1:0 2>&1)
  kill $!
  [[ $line == *" imd=$prefix/libexec/dodo/imd "* ]] || complain "dodo-rmd takes another imd: $line"
fi
if [ -e "$1/adapters/mount/dodo-mount" ]; then
  "$prefix/bin/dodo" mount --version >"$dir/out" 2>&1 || complain "dodo finds no dodo-mount: $(cat "$dir/out")"
fi
finish
