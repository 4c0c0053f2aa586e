#!/usr/bin/env bash
# Runs a command on a display of its own.
# Usage: xvfb.sh SCRATCH COMMAND...
set -euo pipefail
scratch=$1
shift
mkfifo "$scratch/display"
Xvfb -displayfd 3 -screen 0 1280x800x24 -nolisten tcp 3>"$scratch/display" 2>"$scratch/xvfb.log" &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
read -r number <"$scratch/display"
DISPLAY=:$number "$@"
