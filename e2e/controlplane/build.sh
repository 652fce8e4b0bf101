#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds etcd with its tools, kube-apiserver, kube-controller-manager,
# kube-scheduler, kwok and, where the machine has none, kubectl from their modules,
# once, and prints the folder that holds them as the only line of standard output.
# Progress goes to standard error.
#
#   CONVOY_CACHE        where the binaries are kept (default: <user cache>/convoy)
#   KUBEBUILDER_ASSETS  a folder with an etcd and a kube-apiserver of the same
#                       minor version: what it has is used, the rest is built
set -euo pipefail
cd "$(dirname "$0")"
export GOWORK=off GOFLAGS=-mod=readonly

version=$(sed -n 's|^[[:space:]]*k8s.io/kubernetes \(v[0-9.]*\)$|\1|p' go.mod)
minor=${version#v*.} minor=${minor%%.*}
component=k8s.io/component-base/version
flags=(-trimpath -ldflags "-s -w -X $component.gitVersion=$version -X $component.gitMajor=1 -X $component.gitMinor=$minor -X $component.gitTreeState=clean")

cache=${CONVOY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/convoy}/controlplane
folder=$cache/$version
assets=${KUBEBUILDER_ASSETS:-}
lock='' temporary=''

say() { printf '%s\n' "controlplane: $*" >&2; }

# The package of each binary; etcd's main package would name it "server".
package() {
	case $1 in
	etcd) echo go.etcd.io/etcd/server/v3 ;;
	etcdctl | etcdutl) echo "go.etcd.io/etcd/$1/v3" ;;
	kwok) echo sigs.k8s.io/kwok/cmd/kwok ;;
	*) echo "k8s.io/kubernetes/cmd/$1" ;;
	esac
}

apiserver_version() { "$1/kube-apiserver" --version 2>/dev/null | sed -n 's/^Kubernetes //p'; }

# What binaries are made of: a stamp with this hash says that they are current.
fingerprint() {
	{ cat go.mod go.sum; printf '%s\n' "${flags[@]}" "$(go env GOOS GOARCH)" "$assets"; } | git hash-object --stdin
}

current() {
	[ "$(cat "$folder/stamp" 2>/dev/null)" = "$(fingerprint)" ] || return 1
	for binary in "${binaries[@]}"; do [ -x "$folder/$binary" ] || return 1; done
}

# Binaries of the right version that lack only the stamp are taken over.
adopt() {
	[ ! -e "$folder/stamp" ] && [ -z "$assets" ] && [ -x "$folder/kube-apiserver" ] || return 1
	[ "$(apiserver_version "$folder")" = "$version" ] || return 1
	[ -x "$folder/etcd" ] || { [ -x "$folder/server" ] && ln -s server "$folder/etcd"; } || return 1
	for binary in "${binaries[@]}"; do [ -x "$folder/$binary" ] || return 1; done
	fingerprint >"$folder/stamp"
	say "took over the binaries in $folder"
}

# mkdir is the lock that every system has; it holds the owner's process id.
acquire() {
	mkdir -p "$cache"
	local told='' nameless=0
	until mkdir "$folder.lock" 2>/dev/null; do
		local owner
		owner=$(cat "$folder.lock/pid" 2>/dev/null || true)
		[ -n "$owner" ] || nameless=$((nameless + 1))
		if [ "$nameless" -gt 5 ] || { [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null; }; then
			say "removing a lock whose owner is gone"
			nameless=0
			mv "$folder.lock" "$folder.lock.$$" 2>/dev/null && rm -rf "$folder.lock.$$"
			continue
		fi
		[ -n "$told" ] || say "waiting for another build (process ${owner:-unknown}, lock $folder.lock)"
		told=yes
		sleep 1
	done
	lock=$folder.lock
	echo $$ >"$lock/pid"
}

cleanup() {
	[ -z "${build:-}" ] || kill "$build" 2>/dev/null || true
	[ -z "$temporary" ] || rm -rf "$temporary"
	[ -z "$lock" ] || rm -rf "$lock"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# Runs a command in the background and every few seconds says how far it is:
# progress LABEL TOTAL LOG COMMAND...; LOG gets a line per package or module.
progress() {
	local label=$1 total=$2 log=$3 started=$SECONDS last=''
	shift 3
	"$@" 2>"$log" &
	build=$!
	local waited=0
	while kill -0 "$build" 2>/dev/null; do
		sleep 1
		waited=$((waited + 1))
		[ $((waited % 5)) -eq 0 ] || continue
		last=$(tail -n 1 "$log")
		say "$label: $(wc -l <"$log" | tr -d ' ')${total:+ of about $total} packages, $((SECONDS - started)) s, now ${last:-linking}"
	done
	local status=0
	wait "$build" || status=$?
	build=''
	[ "$status" -eq 0 ] || { tail -n 20 "$log" >&2; say "$label failed"; return "$status"; }
}

list() { go list "${flags[@]}" -deps -f '{{if .Stale}}{{.ImportPath}}{{end}}' "$@" >"$temporary/stale"; }

build_missing() {
	temporary=$(mktemp -d "$folder.new.XXXXXX")
	mkdir "$temporary/bin" "$temporary/out"
	local packages=()
	for binary in "${binaries[@]}"; do
		if [ -n "$assets" ] && [ -x "$assets/$binary" ]; then
			ln -s "$assets/$binary" "$temporary/bin/$binary"
		else
			packages+=("$(package "$binary")")
		fi
	done
	say "building ${#packages[@]} binaries of Kubernetes $version, once; without caches this takes 5 to 30 minutes"
	progress "fetching modules" "" "$temporary/log" list "${packages[@]}"
	local total
	total=$(grep -c . "$temporary/stale" || true)
	progress "compiling" "$total" "$temporary/log" go build -v "${flags[@]}" -o "$temporary/out/" "${packages[@]}"
	[ ! -e "$temporary/out/server" ] || mv "$temporary/out/server" "$temporary/out/etcd"
	mv "$temporary/out/"* "$temporary/bin/"
	fingerprint >"$temporary/bin/stamp"
	[ ! -e "$folder" ] || mv "$folder" "$temporary/old"
	mv "$temporary/bin" "$folder"
	say "built in $SECONDS s"
}

if [ -n "$assets" ]; then
	found=$(apiserver_version "$assets" || true)
	if [ -x "$assets/etcd" ] && [ "${found%.*}" = "${version%.*}" ]; then
		say "using kube-apiserver $found of KUBEBUILDER_ASSETS"
		folder=$cache/$version-assets-$(printf %s "$assets" | git hash-object --stdin | cut -c 1-8)
	else
		say "KUBEBUILDER_ASSETS has no etcd with a kube-apiserver ${version%.*}; it is not used"
		assets=
	fi
fi
binaries=(etcd etcdctl etcdutl kube-apiserver kube-controller-manager kube-scheduler kwok)
command -v kubectl >/dev/null || binaries+=(kubectl)

if ! current; then
	acquire
	current || adopt || build_missing
fi
echo "$folder"
