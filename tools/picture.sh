#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Takes the picture of the plugin that README.md shows, docs/images/plugin.svg, of the demo as it runs
# (make demo).
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
eval "$(bin/convoy-demo env)"

story='
run() { printf "\033[1m$ %s\033[0m\n" "$*"; "$@" || true; echo; }
run kubectl convoy -n demo status
run kubectl convoy -n demo why broken
run kubectl convoy -n demo tree production --deep
run kubectl convoy -n demo history production
run kubectl convoy -n demo diff production --from 1 --to 2
'
GOWORK=off go run github.com/charmbracelet/freeze@v0.2.2 --execute "bash -c '$story'" --execute.timeout 2m \
	--font.family monospace --font.size 13 --padding 16 --background '#1b1f24' --output docs/images/plugin.svg
