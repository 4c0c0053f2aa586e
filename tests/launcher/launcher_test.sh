#!/usr/bin/env bash
# What the launcher says and how it ends, for good and bad usage. Runs on the build that is there.
# Usage: launcher_test.sh PROJECT
set -uo pipefail
project=$1
karakuri=$project/karakuri
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# expect CODE PATTERN COMMAND...: the command ends with CODE and says PATTERN (on stderr when CODE is not 0).
expect() {
  local code=$1 pattern=$2 got=0
  shift 2
  "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || got=$?
  local said=$scratch/out
  ((code == 0)) || said=$scratch/err
  if ((got != code)) || ! grep -Eq -- "$pattern" "$said"; then
    printf 'FAILED: %s\n  ended with %d, expected %d; expected to read: %s\n' "$*" "$got" "$code" "$pattern"
    sed 's/^/  | /' "$scratch/out" "$scratch/err"
    failures=$((failures + 1))
  fi
}

expect 0 '^Commands:' "$karakuri" --help
expect 0 '^Usage: ./karakuri test' "$karakuri" test --help
expect 0 '^Usage: ./karakuri bench' "$karakuri" bench --help
expect 0 '^Benchmarks:' "$karakuri" bench --help
expect 2 'Commands:' "$karakuri"
for command in run render list check info convert schema trust; do
  expect 0 "^  $command  " "$karakuri" --help
  expect 0 "karakuri $command" "$karakuri" "$command" --help
done
expect 2 "no command 'tset'; there are: run render list check info convert schema trust python blender test bench fuzz" "$karakuri" tset
expect 2 'there is no such file' "$karakuri" run no_such_scene
expect 2 'OUT is required' "$karakuri" convert a.urdf
expect 2 "no benchmark 'no_such'; there are:" "$karakuri" bench no_such
expect 0 '^Usage: ./karakuri fuzz' "$karakuri" fuzz --help
expect 2 "no target 'no_such'; there are: urdf mjcf" "$karakuri" fuzz no_such
expect 2 'whole number' "$karakuri" fuzz urdf --time soon
expect 2 'needs the name' "$karakuri" bench --json out.json
expect 0 '^Usage: ./karakuri blender' "$karakuri" blender --help
expect 0 'done' bash -c '"$0" blender --zip "$1" && echo done' "$karakuri" "$scratch/addon.zip"
expect 0 'karakuri_blender/blender_manifest.toml' python3 -m zipfile -l "$scratch/addon.zip"
expect 0 'karakuri_blender/__init__.py' python3 -m zipfile -l "$scratch/addon.zip"

if [[ -n $(compgen -G "$KARAKURI_BUILD/python/karakuri/_karakuri*.so") ]]; then
  expect 0 '^4 links' "$karakuri" python -c 'import karakuri; print(len(karakuri.World.load("sliding").links), "links")'
fi

expect 0 '^karakuri [0-9]+\.[0-9]+\.[0-9]+' "$karakuri" --version
expect 0 '^compiler: (Clang|GNU) [0-9]+' "$karakuri" --version
expect 0 '^flags: -' "$karakuri" --version
expect 0 '^build: [A-Z]' "$karakuri" --version
expect 0 '^  Test +#[0-9]+: launcher' "$karakuri" test launcher -N
if script -qec true /dev/null >/dev/null 2>&1; then  # as on a terminal, where one can be had
  expect 0 '^  Test +#[0-9]+: launcher' script -qec "'$karakuri' test launcher -N" /dev/null
fi
expect 2 'no test is selected by: no_such_test' "$karakuri" test no_such_test

# packages by need: what a command needs, and no more; without apt-get nothing is installed unasked
packages() { bash -c 'root=$0; source "$root/tools/common.sh"; packages_of "$@"' "$project" "$@"; }
expect 0 '^clang-19$' packages run
for peer in libmujoco-dev libgtest-dev chromium nodejs pybind11-dev clang-format-19; do
  if packages run | grep -qx "$peer"; then
    echo "FAILED: the commands that need no $peer install it" && failures=$((failures + 1))
  fi
  expect 0 "^$peer\$" packages run page render python test develop
done
expect 0 '^-DKARAKURI_TESTS=OFF' bash -c 'root=$0; source "$root/tools/common.sh"; options_of release run' "$project"
expect 0 '^-DKARAKURI_TESTS=ON' bash -c 'root=$0; source "$root/tools/common.sh"; options_of release run python test' "$project"
expect 0 '^karakuri ' "$karakuri" --no-install --version

# one build at a time in a folder: the second waits, and says so
mkdir "$scratch/locked" "$scratch/locked/build"
cat >"$scratch/locked/build.sh" <<TXT
root=$scratch/locked
source "$project/tools/common.sh"
slowly() { sleep 1; echo done >>"\$root/order"; }
one_at_a_time slowly
echo "seen \$(wc -l <"\$root/order")"
TXT
bash "$scratch/locked/build.sh" >/dev/null 2>&1 &
sleep 0.3
expect 0 '^seen 2' bash "$scratch/locked/build.sh"
grep -q 'waiting until it has finished' "$scratch/err" || { echo 'FAILED: the second build does not say that it waits'; failures=$((failures + 1)); }
wait

# from anywhere, through a symbolic link, with spaces in the path
mkdir "$scratch/a b" && cd "$scratch/a b" || exit 1
ln -s "$karakuri" 'my link' && ln -s "$project" 'the project'
expect 0 '^karakuri ' './my link' --version
expect 0 '^karakuri ' './the project/karakuri' --version
expect 0 '^Benchmarks:' './my link' bench --help
echo '<robot name="a"><link name="b"/></robot>' >'a robot.urdf'  # paths are those of the caller
expect 0 'a robot.urdf: good' './my link' check 'a robot.urdf'

((failures == 0)) || exit 1
