#!/usr/bin/env bash
# One file of tests in the real Blender. Exit code 77: skipped, with the reason.
# Usage: run.sh PROJECT BUILD TEST   (test_TEST.py; "window" and "pictures" in a window under Xvfb)
set -euo pipefail
project=$1 build=$2 name=$3
skip() { printf 'skipped: %s\n' "$*"; exit 77; }
command -v blender >/dev/null || skip "blender is missing (apt-get install blender)"
export KARAKURI_PYTHON=$build/python KARAKURI_PROGRAM=$build/karakuri PYTHONDONTWRITEBYTECODE=1
export KARAKURI_CORPUS_DIR=${KARAKURI_CORPUS_DIR:-$project/../shared/data}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export BLENDER_USER_RESOURCES=$scratch/user XDG_CONFIG_HOME=$scratch/config  # nothing of the user's own Blender
options=(-noaudio --factory-startup --python-exit-code 3 --python "$project/tests/blender/run.py")
if [[ $name == window || $name == pictures ]]; then
  command -v Xvfb >/dev/null || skip "Xvfb is missing (apt-get install xvfb)"
  exec env LIBGL_ALWAYS_SOFTWARE=1 bash "$project/tests/blender/xvfb.sh" "$scratch" \
    blender --enable-event-simulate --window-geometry 0 0 1280 800 "${options[@]}" -- "test_$name" "${@:4}"
fi
blender -b "${options[@]}" -- "test_$name" "${@:4}"
