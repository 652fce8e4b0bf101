#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Lints the given modules: formatting, staticcheck (staticcheck.conf), the licence line.
# Usage: tools/lint.sh module…
set -euo pipefail

tools_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$tools_dir/.."
bin="${CONVOY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/convoy}/tools"
mkdir -p "$bin"
(cd "$tools_dir" && GOWORK=off go build -o "$bin/" tool)

failed=0
unformatted=$(gofmt -l "$@" tools e2e/controlplane)
if [ -n "$unformatted" ]; then
  printf 'not formatted (gofmt -w):\n%s\n' "$unformatted"
  failed=1
fi

unlicensed=$(find "$@" tools -name '*.go' -print0 | xargs -0 grep -L 'SPDX-License-Identifier: Apache-2.0' || true)
if [ -n "$unlicensed" ]; then
  printf 'without the licence line:\n%s\n' "$unlicensed"
  failed=1
fi

packages=()
for module in "$@"; do packages+=("./$module/..."); done
"$bin/staticcheck" "${packages[@]}" || failed=1
[ "$failed" -eq 0 ] && echo "lint: clean"
exit "$failed"
