#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Proves that each module stands on its own: outside the workspace it builds, vets, and
# its go.mod and go.sum name all it needs and nothing else. The modules of the workspace
# use the same versions outside as inside it, where the tests run; a build of one then
# serves the others too.
# Usage: tools/verify-modules.sh module…
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
version='{{.Path}} {{if .Replace}}{{.Replace.Version}}{{else}}{{.Version}}{{end}}'
tested=$(mktemp)
trap 'rm -f "$tested"' EXIT
go list -m -f "$version" all | sort >"$tested"

export GOWORK=off
for module in "$@"; do
  echo "module $module"
  if grep -qx "[[:space:]]*\./$module" go.work; then
    untested=$(cd "$module" && go list -deps -test -f "{{with .Module}}{{if not .Main}}$version{{end}}{{end}}" ./... |
      grep -v '^kumodo\.io/convoy/' | sort -u | comm -23 - "$tested" || true)
    if [ -n "$untested" ]; then
      printf '%s uses other versions than the workspace (go work sync, then go mod tidy):\n%s\n' "$module" "$untested" >&2
      exit 1
    fi
  fi
  (cd "$module" && go mod tidy -diff && go build -o /dev/null ./... && go vet ./...)
done
