# shellcheck shell=bash disable=SC2154
# Shared by ./karakuri, .ci/run and tools/: messages, Debian packages, building. Sourced by bash, with `root`
# set to the project's folder. Exit codes: 1 a result that failed, 2 bad usage or a missing prerequisite.

say() { printf 'karakuri: %s\n' "$*" >&2; }
fail() { local code=$1; shift; say "$@"; exit "$code"; }

# ---- packages ----------------------------------------------------------------------------------

# The names in the sections of packages.txt that are asked for.
packages_of() {
  local wanted=" $* "
  awk -v wanted="$wanted" '
    { sub(/#.*/, ""); gsub(/[[:space:]]/, "") }
    /^\[.*\]$/ { inside = index(wanted, " " substr($0, 2, length($0) - 2) " ") > 0; next }
    inside && $0 != "" { print }' "$root/packages.txt" | sort -u
}

# missing_packages SECTION...: one dpkg-query for all of them, because this runs before every command. What is there by
# other means (a newer Node.js that brings its own npm, which Debian's would conflict with) is not missing.
missing_packages() {
  local name
  packages_not_installed "$@" | while IFS= read -r name; do
    command -v "$name" >/dev/null || printf '%s\n' "$name"
  done
}

packages_not_installed() {
  local wanted
  wanted=$(packages_of "$@")
  if command -v dpkg-query >/dev/null; then
    # shellcheck disable=SC2086,SC2016 # words on purpose; the format is dpkg's, not the shell's
    dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null |
      sed -n 's/^installed //p' | sort -u | comm -13 - <(printf '%s\n' "$wanted")
  else
    printf '%s\n' "$wanted"
  fi
}

as_root() {
  if ((EUID == 0)); then "$@"; else sudo "$@"; fi
}

# ensure_packages SECTION...: installs what these sections lack; on a terminal it asks first.
ensure_packages() {
  local -a missing
  [[ -z ${KARAKURI_NO_INSTALL:-} ]] || return 0
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  command -v apt-get >/dev/null || fail 2 "these Debian packages are needed, but there is no apt-get to install" \
    "them: ${missing[*]}. Install their equivalents, then use ./karakuri --no-install COMMAND."
  ((EUID == 0)) || command -v sudo >/dev/null ||
    fail 2 "sudo is missing; run this as root: apt-get install ${missing[*]}"
  allowed_to_install "${missing[@]}" || fail 2 "nothing was installed. Install the packages yourself" \
    "(apt-get install ${missing[*]}), or use ./karakuri --no-install COMMAND to continue without them."
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  install_packages "${missing[@]}"
}

# Without a terminal nobody can be asked, and what starts karakuri there wants it to run.
allowed_to_install() {
  local answer
  [[ -t 0 && -t 2 ]] || return 0
  say "this needs $# Debian packages that are not installed: $*"
  read -r -p 'karakuri: install them with apt-get? [Y/n] ' answer
  [[ -z $answer || $answer == [yY]* ]]
}

install_packages() {
  local log
  log=$(mktemp)
  if ! {
    as_root apt-get update -q &&
      as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
  } </dev/null >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    rm -f "$log"
    fail 2 "apt-get could not install: $*"
  fi
  rm -f "$log"
}

# ---- building ----------------------------------------------------------------------------------

# Turns ninja's output into one line that is overwritten (terminal) or a line per quarter (otherwise; none for
# a handful of files). What is not progress is the compilers' word and goes through.
show_progress() {
  local preset=$1 line quarter=0 finished total
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      finished=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
      if [[ -t 2 ]]; then
        printf '\r\e[Kkarakuri: building %s: %d of %d' "$preset" "$finished" "$total" >&2
      elif ((total >= 8 && 4 * finished / total > quarter)); then
        quarter=$((4 * finished / total))
        say "building $preset: $finished of $total"
      fi
    elif [[ $line != 'ninja: no work to do.' && $line != '-- '* ]]; then
      [[ ! -t 2 ]] || printf '\r\e[K' >&2
      printf '%s\n' "$line" >&2
    fi
  done
  [[ ! -t 2 ]] || printf '\r\e[K' >&2
}

# What a build in a folder consists of: the parts of all commands that have been run there, so that going from one
# command to another does not undo anything.
parts_of() {
  local preset=$1 file=$root/build/$1/parts
  shift
  { cat "$file" 2>/dev/null || true; printf '%s\n' "$@"; } | sort -u
}

# CMake's options for some parts. Presets for sanitizers choose their own.
options_of() {
  local preset=$1 parts=" ${*:2} " test=OFF python=OFF
  [[ ! $preset =~ ^(asan|tsan|fuzz)$ ]] || return 0
  [[ $parts != *' test '* ]] || test=ON
  [[ $parts != *' python '* ]] || python=ON
  printf '%s\n' "-DKARAKURI_TESTS=$test" "-DKARAKURI_BENCH=$test" "-DKARAKURI_PYTHON=$python"
}

# Configures when there is no build yet, or one made with another compiler, other presets or fewer parts; later changes
# of CMake files are ninja's to notice.
configure() {
  local preset=$1 dir=$root/build/$1 key log fresh=--fresh compiler
  local -a parts options
  mapfile -t parts < <(parts_of "$@")
  mapfile -t options < <(options_of "$preset" "${parts[@]}")
  compiler="CXX=${CXX:-} $(cat "$root/CMakePresets.json" "$root/cmake/DefaultCompiler.cmake")"
  key="$compiler ${options[*]}"
  [[ -f $dir/build.ninja && -f $dir/configured-with && $(<"$dir/configured-with") == "$key" ]] && return
  # what was compiled stays good as long as only parts are added
  [[ ! -f $dir/configured-with || $(<"$dir/configured-with") != "$compiler"* ]] || fresh=
  mkdir -p "$dir"
  say "configuring $preset"
  log=$dir/configure.log
  if ! (cd "$root" && cmake $fresh --preset "$preset" "${options[@]}") >"$log" 2>&1; then
    cat "$log" >&2
    fail 1 "CMake could not configure the $preset build (log: build/$preset/configure.log)"
  fi
  printf '%s\n' "${parts[@]}" >"$dir/parts"
  printf '%s\n' "$key" >"$dir/configured-with"
}

# one_at_a_time COMMAND...: waits while another process of this project does what must not be done twice at once.
# The lock goes with the process that holds it; what it starts does not inherit it.
one_at_a_time() {
  local lock
  mkdir -p "$root/build"
  exec {lock}>"$root/build/lock"
  if ! flock -n "$lock"; then
    say "another ./karakuri is building in this folder; waiting until it has finished"
    flock "$lock"
  fi
  "$@" {lock}>&-
  exec {lock}>&-
}

# build PRESET PART... [-- TARGET...]: the targets, or everything of these parts: run, python, test (tests and benchmarks).
build() {
  [[ -z ${KARAKURI_NO_BUILD:-} ]] || return 0
  one_at_a_time build_alone "$@"
}

build_alone() {
  local preset=$1
  local -a parts=()
  shift
  while (($#)) && [[ $1 != -- ]]; do parts+=("$1") && shift; done
  (($# == 0)) || shift
  ensure_packages "${parts[@]}"
  configure "$preset" "${parts[@]}"
  [[ ! -t 2 ]] || local -x CLICOLOR_FORCE=1  # ninja keeps the compilers' colours through the pipe
  NINJA_STATUS='[%f/%t] ' ninja -C "$root/build/$preset" "$@" 2>&1 |
    sed -u '/^ninja: Entering directory/d' | show_progress "$preset" ||
    fail 1 "the $preset build failed"
}

# ---- the live page -----------------------------------------------------------------------------

# Builds web/ into build/page when its sources have changed. Without npm there is no page, and all else works.
build_page() {
  [[ -z ${KARAKURI_NO_BUILD:-} ]] || return 0
  one_at_a_time build_page_alone
}

build_page_alone() {
  local out=$root/build/page log=$root/build/page.log key
  key=$(cd "$root/web" && find . -path ./node_modules -prune -o -path ./tests -prune -o -type f -print0 | sort -z |
    xargs -0 sha256sum | sha256sum)
  [[ -f $out/index.html && -f $root/build/page.key && $(<"$root/build/page.key") == "$key" ]] && return
  ensure_packages page
  if ! command -v npm >/dev/null; then
    say "the live page cannot be built: npm is missing (apt-get install nodejs npm). Going on without it."
    return 0
  fi
  mkdir -p "$root/build"
  say "building the live page"
  if ! (cd "$root/web" && { cmp -s package-lock.json node_modules/.karakuri-lock || {
    npm ci --no-audit --no-fund --no-update-notifier --fetch-retries=2 && cp package-lock.json node_modules/.karakuri-lock; }; } &&
    npm run build) </dev/null >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    say "the live page could not be built (log: build/page.log). Going on without it."
    return 0
  fi
  printf '%s\n' "$key" >"$root/build/page.key"
}
