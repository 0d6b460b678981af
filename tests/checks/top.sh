#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Nothing lies at the top of the tree but what belongs there: a trial's data is soon committed by mistake.
. "$(dirname "$0")/lib.sh"

belongs=(.ci .clang-format .editorconfig .gitignore CHANGELOG.md CONTRIBUTING.md LICENSE README.md SECURITY.md
  adapters base bench cmd daemon docs examples imd include libdodo libmanage meson.build meson_options.txt packaging
  proto rmd scripts tests tools usocket)
# What git does not know is the user's own.
known=$(git ls-files 2>/dev/null) || exit 0
compare "the tree" <(cut -d/ -f1 <<<"$known" | sort -u) \
  "the list of this check" <(printf '%s\n' "${belongs[@]}" | sort)
finish
