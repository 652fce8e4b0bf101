// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// readOnlyTransport refuses every request that could change the cluster.
type readOnlyTransport struct {
	prefix   string // path of the server's URL
	delegate http.RoundTripper
}

func (t *readOnlyTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if why := changes(request, t.prefix); why != "" {
		discardBody(request)
		return nil, fmt.Errorf("%w: %s %s is refused: %s", ErrReadOnly, request.Method, request.URL.Path, why)
	}
	return t.delegate.RoundTrip(request)
}

func (t *readOnlyTransport) WrappedRoundTripper() http.RoundTripper { return t.delegate }

// changes says why a request could change a cluster, nothing if it cannot. Reads are
// safe, except of the subresources that connect to something behind the API server. A
// write is safe when it is a dry run of a whole object: subresources such as exec,
// eviction or binding act without looking at dryRun, or on other objects.
func changes(request *http.Request, prefix string) string {
	isObject, subresource := splitPath(strings.TrimPrefix(request.URL.Path, prefix))
	switch request.Method {
	case http.MethodGet, http.MethodHead:
		if slices.Contains([]string{"exec", "attach", "portforward", "proxy"}, subresource) {
			return "the subresource connects to what is behind the API server"
		}
		return ""
	}
	switch {
	case !isObject:
		return "only objects can be written in a dry run"
	case subresource != "":
		return "a subresource cannot be written in a dry run"
	case !slices.Equal(request.URL.Query()["dryRun"], []string{"All"}):
		return "it is no dry run"
	}
	return ""
}

// splitPath says whether a path is that of an object or a collection, and gives the
// subresource.
func splitPath(path string) (isObject bool, subresource string) {
	parts := objectPath(path)
	if len(parts) > 2 {
		return true, parts[2]
	}
	return len(parts) > 0, ""
}

// isCollection says whether a path is that of all objects of a resource, in a namespace or in all.
func isCollection(path string) bool { return len(objectPath(path)) == 1 }

// objectPath gives <resource>[/<name>[/<subresource>…]] of a path, nothing where there is none.
// The forms are /api/v1/… and /apis/<group>/<version>/…, then optionally
// namespaces/<namespace>, then that. A path like
// namespaces/<name>/<subresource of a namespace> reads as that of a resource of that
// name; of the subresources that matter here, a namespace has none but finalize.
func objectPath(path string) []string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		return nil
	}
	if parts[0] == "watch" {
		parts = parts[1:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "finalize" && parts[2] != "status" {
		parts = parts[2:]
	}
	return parts
}
