#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Regenerates everything generated: deep copies, conversions of query options and model
# names in api/, the OpenAPI definitions in apiserver/, all of client/, and the schema and the
# table of the values of charts/convoy.
# Usage: tools/generate.sh [root]   (root: the tree to write into; default: this one)
set -euo pipefail

tools_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "${1:-$tools_dir/..}" && pwd)
bin="${CONVOY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/convoy}/tools"

mkdir -p "$bin"
(cd "$tools_dir" && GOWORK=off go build -o "$bin/" tool)

cd "$root"
header="$tools_dir/boilerplate.go.txt"
api=kumodo.io/convoy/api
client=kumodo.io/convoy/client
groups=("$api/core/v1alpha1" "$api/source/v1alpha1" "$api/extensions/v1alpha1")

# The client generators read the api packages, so that these come first.
"$bin/deepcopy-gen" --output-file zz_generated.deepcopy.go --go-header-file "$header" "${groups[@]}"
"$bin/conversion-gen" --output-file zz_generated.conversion.go --go-header-file "$header" "${groups[@]}"

openapi_dir=apiserver/internal/generated/openapi
mkdir -p "$openapi_dir"
machinery=k8s.io/apimachinery/pkg
readonly_pkgs="$machinery/apis/meta/v1,$machinery/api/resource,$machinery/runtime,$machinery/version,$machinery/types,$machinery/util/intstr,time"
"$bin/openapi-gen" --output-dir "$openapi_dir" --output-pkg kumodo.io/convoy/apiserver/internal/generated/openapi \
  --output-file zz_generated.openapi.go --output-model-name-file zz_generated.model_name.go \
  --readonly-pkg "$readonly_pkgs" --report-filename tools/api-violations.txt --go-header-file "$header" \
  "$machinery/apis/meta/v1" "$machinery/runtime" "$machinery/version" "$machinery/api/resource" "${groups[@]}"

# All of the client is generated but for what it is written to be extended by: the methods
# that client-gen cannot make.
find client/applyconfiguration client/clientset client/informers client/listers -name '*.go' \
  ! -name 'release_expansion.go' ! -name 'fake_release_expansion.go' ! -name '*_test.go' -delete
"$bin/applyconfiguration-gen" --output-dir client/applyconfiguration --output-pkg "$client/applyconfiguration" \
  --go-header-file "$header" "${groups[@]}"
"$bin/client-gen" --clientset-name versioned --input-base "$api" \
  --input core/v1alpha1 --input source/v1alpha1 --input extensions/v1alpha1 \
  --output-dir client/clientset --output-pkg "$client/clientset" \
  --apply-configuration-package "$client/applyconfiguration" --go-header-file "$header"
"$bin/lister-gen" --output-dir client/listers --output-pkg "$client/listers" --go-header-file "$header" "${groups[@]}"
"$bin/informer-gen" --output-dir client/informers --output-pkg "$client/informers" \
  --versioned-clientset-package "$client/clientset/versioned" --listers-package "$client/listers" \
  --go-header-file "$header" "${groups[@]}"

(cd "$tools_dir/chart" && GOWORK=off go run . generate -root "$root")
