#!/usr/bin/env bash
# What ./vramplan promises: builds when, and only when, a source changed; says one line when it builds and nothing else ever;
# passes arguments and exit code through; costs under 20 ms. Runs in a small tree of its own with a cmake that only counts.
# And what .ci/packages promises: what it installs, whom it asks, which locks it waits for, with an apt-get that only notes.
set -u
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." || exit 1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/repo/.ci" "$tree/repo/graph/base" "$tree/repo/planner" "$tree/repo/cuda_probe" "$tree/repo/pretend/hook" "$tree/repo/models/architectures" "$tree/repo/docs/schemas" "$tree/bin"
cp vramplan "$tree/repo/vramplan"
touch "$tree/repo/CMakeLists.txt" "$tree/repo/main.cc" "$tree/repo/graph/base/bytes.cc" "$tree/repo/graph/base/README.md" \
  "$tree/repo/pretend/hook/values.py" "$tree/repo/docs/schemas/fit.schema.json"

cat >"$tree/repo/.ci/packages" <<'EOF'
#!/bin/bash
echo packages >>"$COUNT.packages"
flock -n "${0%/*}/../build/release/.lock" true && echo 'vramplan: packages are installed without the lock' >&2
sleep "${SLOW-0}"
[[ -z ${LACKING-} ]] || { echo "vramplan: missing Debian packages: $LACKING" >&2; exit 1; }
EOF
# Counts its calls; a build writes a program that prints its arguments and exits with the first.
cat >"$tree/bin/cmake" <<'EOF'
#!/bin/bash
echo "$1" >>"$COUNT"
# As CMake does: the cache is written by a configure that fails, too, and build.ninja only by one that does not.
if [[ $1 != --build ]]; then
  while [[ $1 != -B ]]; do shift; done
  echo "CMAKE_HOME_DIRECTORY:INTERNAL=$(cd "$2/../.." && pwd -P)" >"$2/CMakeCache.txt"
  set -- configure "$2"
fi
[[ -z ${BREAK-} ]] || { echo "error: $BREAK"; exit 1; }
if [[ $1 == --build ]]; then
  printf '#!/bin/bash\nprintf "[%%s]" "$@"\nexit "${1:-0}"\n' >"$2/vramplan"
  chmod +x "$2/vramplan"
else
  touch "$2/build.ninja"
fi
EOF
chmod +x "$tree/repo/.ci/packages" "$tree/bin/cmake"
export PATH=$tree/bin:$PATH COUNT=$tree/count

failed=0
# expect NAME CODE STDOUT STDERR-PATTERN CMAKE-CALLS: about one run of the launcher with what follows.
expect() {
  local name=$1 code=$2 stdout=$3 stderr=$4 calls=$5 got_code got_stdout got_stderr got_calls
  shift 5
  : >"$COUNT"
  got_stdout=$("$@" 2>"$tree/stderr")
  got_code=$?
  got_stderr=$(<"$tree/stderr")
  got_calls=$(wc -l <"$COUNT")
  # shellcheck disable=SC2053  # a pattern is meant
  if [[ $got_code != "$code" || $got_stdout != "$stdout" || $got_stderr != $stderr || $got_calls != "$calls" ]]; then
    ((failed += 1))
    printf '%s: exit %s, stdout "%s", stderr "%s", %s cmake calls; expected exit %s, stdout "%s", stderr "%s", %s calls\n' "$name" \
      "$got_code" "$got_stdout" "$got_stderr" "$got_calls" "$code" "$stdout" "$stderr" "$calls"
  fi
}
later() { touch -d '+2 seconds' "$@"; }       # no waiting for the clock: newer than the build that just was
settle() { touch -d '+4 seconds' "$tree/repo/build/release/.built"; }

run=$tree/repo/vramplan
expect 'packages missing'   1 ''         'vramplan: missing Debian packages: g++'  0 env LACKING=g++ "$run" 3
expect 'build breaks'       70 ''        *'error: no compiler'*'build/release/log' 1 env BREAK='no compiler' "$run" 3
expect 'still broken'       70 ''        *'error: no compiler'*'build/release/log' 1 env BREAK='no compiler' "$run" 3
expect 'first run'          3 '[3][a b]' 'vramplan: first run: building a release under build/release with'* 2 "$run" 3 'a b'
expect 'nothing changed'    0 '[0]'      ''                                        0 "$run" 0
expect 'no arguments'       0 '[]'       ''                                        0 "$run"
expect 'from elsewhere'     0 '[0][x]'   ''                                        0 env -C / "$run" 0 x
later "$tree/repo/graph/base/README.md"
expect 'a README changed'   0 '[0]'      ''                                        0 "$run" 0
later "$tree/repo/graph/base/bytes.cc"
expect 'a source changed'   0 '[0]'      'vramplan: the sources changed: building' 1 "$run" 0
settle
expect 'built again'        0 '[0]'      ''                                        0 "$run" 0
touch "$tree/repo/planner/new.cc" && touch -d '+6 seconds' "$tree/repo/planner"
expect 'a source was added' 0 '[0]'      'vramplan: the sources changed: building' 1 "$run" 0
settle; touch -d '+2 seconds' "$tree/repo/planner"
rm "$tree/repo/planner/new.cc" && touch -d '+6 seconds' "$tree/repo/planner"
expect 'a source is gone'   0 '[0]'      'vramplan: the sources changed: building' 1 "$run" 0
touch -d '+8 seconds' "$tree/repo/pretend/hook/values.py"
expect 'the hook changed'   0 '[0]'      'vramplan: the sources changed: building' 1 "$run" 0
touch -d '+9 seconds' "$tree/repo/docs/schemas/fit.schema.json"
expect 'a schema changed'   0 '[0]'      'vramplan: the sources changed: building' 1 "$run" 0
ln -s "$run" "$tree/bin/vramplan"
touch -d '+10 seconds' "$tree/repo/build/release/.built"
expect 'through a link'     0 '[0]'      ''                                        0 "$tree/bin/vramplan" 0
mv "$tree/repo" "$tree/moved"
expect 'the tree was moved' 0 '[0]'      ''                                        0 "$tree/moved/vramplan" 0
later "$tree/moved/main.cc"; touch -d '+12 seconds' "$tree/moved/main.cc"
expect 'moved and changed'  0 '[0]'      'vramplan: the sources changed: building' 2 "$tree/moved/vramplan" 0

# Two first runs at once: one installs and builds, the other waits for it.
rm -rf "$tree/moved/build"
find "$tree/moved" -exec touch -d '-1 minute' {} +
: >"$COUNT"; : >"$COUNT.packages"
SLOW=0.3 "$tree/moved/vramplan" 0 >/dev/null 2>&1 & first=$!
SLOW=0.3 "$tree/moved/vramplan" 0 >/dev/null 2>&1 & second=$!
wait "$first"; codes=$?
wait "$second"; codes=$((codes + $?))
if [[ $codes != 0 || $(wc -l <"$COUNT") != 2 || $(wc -l <"$COUNT.packages") != 1 ]]; then
  ((failed += 1))
  echo "two first runs: exit codes sum to $codes, $(wc -l <"$COUNT") cmake calls, $(wc -l <"$COUNT.packages") times packages; expected 0, 2, 1"
fi

# .ci/packages beside a dpkg-query that lacks what the file `absent` names, and an apt-get that notes how it was called. While
# `busy` holds a number above 0, the lock of the lists is another's.
cat >"$tree/bin/dpkg-query" <<'EOF'
#!/bin/bash
grep -qxF "${@: -1}" "$TREE/absent" && exit 1
printf installed
EOF
cat >"$tree/bin/apt-get" <<'EOF'
#!/bin/bash
echo "$*" >>"$TREE/apt"
case " $* " in
  *' update '*)
    busy=$(<"$TREE/busy")
    if ((busy > 0)); then
      echo $((busy - 1)) >"$TREE/busy"
      echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)'
      exit 100
    fi
    touch "$TREE/lists" ;;
  *' install '*) [[ -f $TREE/lists ]] || exit 100; : >"$TREE/absent" ;;
esac
EOF
cat >"$tree/bin/sudo" <<'EOF'
#!/bin/bash
[[ $1 == -n ]] && shift
exec "$@"
EOF
chmod +x "$tree/bin/dpkg-query" "$tree/bin/apt-get" "$tree/bin/sudo"
export TREE=$tree VRAMPLAN_LOCK_PAUSE=0
unset VRAMPLAN_INSTALL
install='-o DPkg::Lock::Timeout=600 install -y --no-install-recommends zlib1g-dev'
update='-o DPkg::Lock::Timeout=600 update'
# packages NAME CODE STDERR-PATTERN APT-CALLS BUSY COMMAND...: with zlib1g-dev missing and lists that are stale.
packages() {
  local name=$1 code=$2 stderr=$3 calls=$4 got_code got_stderr got_calls
  echo zlib1g-dev >"$tree/absent"; echo "$5" >"$tree/busy"; : >"$tree/apt"; rm -f "$tree/lists"
  shift 5
  got_stderr=$("$@" 2>&1 </dev/null)
  got_code=$?
  got_stderr=${got_stderr//$'\r'/}
  got_calls=$(<"$tree/apt")
  # shellcheck disable=SC2053  # a pattern is meant
  if [[ $got_code != "$code" || $got_stderr != $stderr || $got_calls != "$calls" ]]; then
    ((failed += 1))
    printf '%s: exit %s, said "%s", apt-get was called "%s"; expected exit %s, "%s", "%s"\n' "$name" "$got_code" "$got_stderr" \
      "$got_calls" "$code" "$stderr" "$calls"
  fi
}
# A terminal on which ANSWER is typed.
typed() { script -qec "$PWD/.ci/packages build" /dev/null <<<"$1"; }
all=$install$'\n'$update$'\n'$install
by_hand='vramplan: missing Debian packages: zlib1g-dev (as root: apt-get install zlib1g-dev)'
packages 'no terminal: installed'      0 'vramplan: installing zlib1g-dev' "$all" 0 .ci/packages build
packages 'another reads the lists'     0 'vramplan: installing zlib1g-dev' "$install"$'\n'"$update"$'\n'"$update"$'\n'"$update"$'\n'"$install" 2 .ci/packages build
packages 'VRAMPLAN_INSTALL=no'         1 "$by_hand" '' 0 env VRAMPLAN_INSTALL=no .ci/packages build
packages 'VRAMPLAN_INSTALL=yes'        0 'vramplan: installing zlib1g-dev' "$all" 0 env VRAMPLAN_INSTALL=yes .ci/packages build
packages 'VRAMPLAN_INSTALL=maybe'      1 'vramplan: "maybe" is neither yes nor no, so nothing is installed; missing Debian packages: zlib1g-dev' \
  '' 0 env VRAMPLAN_INSTALL=maybe .ci/packages build
if command -v script >/dev/null; then
  packages 'on a terminal: no'         1 *'install them with apt-get now? [[]Y/n] '*"$by_hand" '' 0 typed n
  packages 'on a terminal: yes'        0 *'[[]Y/n] '*'vramplan: installing zlib1g-dev' "$all" 0 typed y
  packages 'on a terminal: Enter'      0 *'[[]Y/n] '*'vramplan: installing zlib1g-dev' "$all" 0 typed ''
  export VRAMPLAN_INSTALL=yes
  packages 'on a terminal: answered'   0 *'vramplan: installing zlib1g-dev' "$all" 0 typed n
  unset VRAMPLAN_INSTALL
fi

# The real tree, where it is built: what the launcher costs over the program itself. Processor time, 20 runs each: the time that
# others on the machine take is not the launcher's.
milliseconds() {
  local TIMEFORMAT='%3U %3S' spent
  spent=$({ time for _ in {1..20}; do "$@" >/dev/null 2>&1; done; } 2>&1)
  awk '{printf "%d", ($1 + $2) * 1000 / 20}' <<<"$spent"
}
if [[ -x build/release/vramplan ]]; then
  export PATH=${PATH#*:}
  ./vramplan --version >/dev/null 2>&1  # builds what is stale
  overhead=$(($(milliseconds ./vramplan --version) - $(milliseconds build/release/vramplan --version)))
  echo "overhead: $overhead ms"
  if ((overhead >= 20)); then
    echo "overhead is 20 ms or more"
    ((failed += 1))
  fi
fi
echo "launcher: $failed wrong"
((failed == 0))
