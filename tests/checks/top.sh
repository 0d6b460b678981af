#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Nothing lies at the top of the tree but what belongs there: a trial's data is soon committed by mistake.
. "$(dirname "$0")/lib.sh"

belongs=(.ci .clang-format .editorconfig .gitignore CHANGELOG.md CONTRIBUTING.md LICENSE README.md SECURITY.md
  adapters base bench cmd daemon docs examples imd include libdodo libmanage meson.build meson_options.txt packaging
  proto rmd scripts tests tools usocket)
# tree: git knows what a user has put there; a copy of the tree has nothing else but builds.
tree() {
  git ls-files --cached --others --exclude-standard 2>/dev/null || find . -mindepth 1 -maxdepth 1 \
    ! -name .git ! -name build ! -name 'b-*' -printf '%f\n'
}
compare "the tree" <(tree | cut -d/ -f1 | sort -u) \
  "the list of this check" <(printf '%s\n' "${belongs[@]}" | sort)
finish
