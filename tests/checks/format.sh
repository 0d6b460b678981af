#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# All C files are as clang-format leaves them: version 14's way, Debian 12's.
. "$(dirname "$0")/lib.sh"

format=
for candidate in clang-format-14 clang-format; do
  case $(command -v "$candidate" >/dev/null && "$candidate" --version) in
  *' 14.'*) format=${format:-$candidate} ;;
  esac
done
if [ -z "$format" ]; then
  echo "SKIP: clang-format 14 is not installed, and other versions format otherwise"
  exit 77
fi
files '*.c' '*.h' | xargs "$format" --dry-run -Werror
