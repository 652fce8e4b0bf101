#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the fuzz targets of all modules, one after the other, and prints for each how many
# inputs it was given, how many of them reached new code, and the most memory that one of
# its processes held, in MiB. A target fails when it crashes, or holds more than it may; go
# keeps the input in testdata/fuzz then. Memory is seen where there is a /proc.
#
# FUZZTIME (10m) is how long each runs, FUZZMEM (2048) how many MiB it may hold, and FUZZ
# (all) a regular expression for "package target", as the table has them.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
most=${FUZZMEM:-2048}
export GOMEMLIMIT=$((most * 3 / 4))MiB # garbage that could be collected is no fault
ulimit -c 0

log=$(mktemp)
running=
finish() {
  [ -z "$running" ] || kill -INT -- "-$running" 2>/dev/null || true
  rm -f "$log"
}
trap finish EXIT
trap 'exit 130' INT TERM

# offspring prints the ids of the processes that come of a process.
offspring() {
  local id
  for id in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
    echo "$id"
    offspring "$id"
  done
}

# watch sets peak to the most memory that one process of a test held, until the test ends,
# and aborts what holds too much: go takes that for a crash.
watch() {
  local id kib
  peak=0
  while kill -0 "$1" 2>/dev/null; do
    for id in $(offspring "$1"); do
      grep -qs -e -test.fuzz "/proc/$id/cmdline" || continue # a compiler
      kib=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$id/status" 2>/dev/null) || continue
      [ "$((${kib:-0} / 1024))" -le "$peak" ] || peak=$((kib / 1024))
      [ "$((${kib:-0} / 1024))" -le "$most" ] || kill -ABRT "$id" 2>/dev/null || true
    done
    sleep 0.5
  done
}

# number prints what follows a name in the last line of the log that has it.
number() { sed -n "s/.*$1: \([0-9]*\).*/\1/p" "$log" | tail -n 1; }

# fuzz runs one target.
fuzz() {
  local result=ok
  set -m # a process group of its own, which can be ended as a whole
  go test -run '^$' -fuzz "^$2\$" -fuzztime "${FUZZTIME:-10m}" -parallel 1 "./$1" >"$log" 2>&1 </dev/null &
  running=$!
  set +m
  watch "$running"
  wait "$running" || result=FAILED
  running=
  [ "$result" = ok ] || [ "$peak" -le "$most" ] || result="FAILED: more than $most MiB"
  printf '%-36s %-16s %10s %6s %6s  %s\n' "$1" "$2" "$(number execs)" "$(number 'new interesting')" "$peak" "$result"
  [ "$result" = ok ] || { tail -n 60 "$log" >&2 && return 1; }
}

targets=$(grep -r --include='*_test.go' -o '^func Fuzz[A-Za-z0-9_]*' . |
  sed 's|^\./\(.*\)/[^/]*:func |\1 |' | sort | grep -E "${FUZZ:-.}") || {
  echo "no fuzz target is like ${FUZZ:-.}" >&2
  exit 1
}
failed=0
printf '%-36s %-16s %10s %6s %6s\n' package target inputs new MiB
while read -r package target; do
  fuzz "$package" "$target" || failed=$((failed + 1))
done <<<"$targets"
echo "$(wc -l <<<"$targets") targets, $failed failed"
[ "$failed" -eq 0 ]
