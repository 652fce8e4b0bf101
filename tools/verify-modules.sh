#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Proves that each module stands on its own: outside the workspace it builds, vets, and
# its go.mod and go.sum name all it needs and nothing else.
# Usage: tools/verify-modules.sh module…
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export GOWORK=off
for module in "$@"; do
  echo "module $module"
  (cd "$module" && go mod tidy -diff && go build -o /dev/null ./... && go vet ./...)
done
