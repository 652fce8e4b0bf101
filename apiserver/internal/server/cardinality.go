// SPDX-License-Identifier: Apache-2.0

package server

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/metrics"
)

// boundedMetrics have labels that the library takes from paths before it knows who asks and
// whether there is such a thing. A time series is never given up: anybody could fill the
// memory by asking for things that do not exist.
var boundedMetrics = []string{"apiserver_request_terminations_total", "apiserver_request_aborts_total"}

// plainPaths are the paths beside the API that are told apart in these metrics.
var plainPaths = []string{"/", "/apis", "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"}

// boundLabels lets no label of these metrics have a value but those of what is served. It
// has to be called before anything is.
func boundLabels(infos []*genericapiserver.APIGroupInfo) {
	values := map[string]sets.Set[string]{
		"group": sets.New(""), "version": sets.New(""), "resource": sets.New(""), "subresource": sets.New("").Insert(plainPaths...),
	}
	for _, info := range infos {
		for version, storages := range info.VersionedResourcesStorageMap {
			values["version"].Insert(version)
			for path := range storages {
				resource, subresource, _ := strings.Cut(path, "/")
				values["resource"].Insert(resource)
				values["subresource"].Insert(subresource)
			}
		}
		for _, version := range info.PrioritizedVersions {
			values["group"].Insert(version.Group)
		}
	}
	allowed := map[string]string{}
	for _, metric := range boundedMetrics {
		for label, of := range values {
			allowed[metric+","+label] = strings.Join(slices.Sorted(maps.Keys(of)), ",")
		}
	}
	metrics.SetLabelAllowList(allowed)
}
