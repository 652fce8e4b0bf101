#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Proves that the committed generated code is what tools/generate.sh makes: generates into
# a copy of the tree and compares.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

tar -C "$root" --exclude=.git --exclude=.demo --exclude=bin -cf - . | tar -C "$copy" -xf -
"$root/tools/generate.sh" "$copy"

stale=0
for path in api client apiserver/internal/generated tools/api-violations.txt charts; do
  diff -r "$root/$path" "$copy/$path" || stale=1
done
if [ "$stale" -ne 0 ]; then
  echo "generated code is stale: run tools/generate.sh and commit the result" >&2
  exit 1
fi
echo "generated code is current"
