#!/usr/bin/env bash
# The browser tests, against PROGRAM. Exit code 77: skipped, with the reason.
# Usage: run.sh PROJECT PROGRAM [TEST...]   (all tests/*.test.mjs)
set -euo pipefail
root=$1
source "$root/tools/common.sh"
skip() { say "skipped: $*"; exit 77; }
command -v npm >/dev/null || skip "npm is missing"
export KARAKURI_CHROMIUM=${KARAKURI_CHROMIUM:-$(command -v chromium || true)}
[[ -n $KARAKURI_CHROMIUM ]] || skip "chromium is missing"
build_page
[[ -f $root/build/page/index.html && -d $root/web/node_modules/playwright-core ]] || skip "the page could not be built"
cd "$root/web"
tests=("${@:3}")
((${#tests[@]})) || tests=(tests/*.test.mjs)
KARAKURI_PROGRAM=$2 exec node --test --test-concurrency=1 "${tests[@]}"
