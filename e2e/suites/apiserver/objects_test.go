// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

type object = map[string]any

// releasesPath is the collection of a namespace's Releases.
func releasesPath(namespace string) string {
	return "/apis/" + coreGroup + "/v1alpha1/namespaces/" + namespace + "/releases"
}

// releasePath is a Release, or a subresource of it.
func releasePath(namespace, name string, subresource ...string) string {
	return strings.Join(append([]string{releasesPath(namespace), name}, subresource...), "/")
}

// newRelease is a valid Release, on which nobody acts.
func newRelease(namespace, name string) object {
	return object{
		"apiVersion": coreGroup + "/v1alpha1", "kind": "Release",
		"metadata": object{"namespace": namespace, "name": name},
		"spec": object{
			"clusterRef": object{"name": "edge"},
			"source":     object{"git": object{"repositoryRef": object{"name": "repo"}, "ref": object{"branch": "main"}}},
		},
	}
}

// with sets a field of an object, given with dots; what lies above it is made.
func with(o object, path string, value any) object {
	names := strings.Split(path, ".")
	above := o
	for _, name := range names[:len(names)-1] {
		next, ok := above[name].(object)
		if !ok {
			next = object{}
			above[name] = next
		}
		above = next
	}
	above[names[len(names)-1]] = value
	return o
}

// field reads a field of an object, given with dots; nil when it is absent. Names with dots
// in them are given after the others.
func field(o object, path string, more ...string) any {
	var value any = o
	for _, name := range append(strings.Split(path, "."), more...) {
		above, ok := value.(object)
		if !ok {
			return nil
		}
		value = above[name]
	}
	return value
}

// createRelease makes a Release as the administrator, and returns it as it was stored.
func (r *rig) createRelease(ctx context.Context, namespace, name string) object {
	GinkgoHelper()
	got := r.admin.post(ctx, releasesPath(namespace), newRelease(namespace, name))
	Expect(got.code).To(Equal(http.StatusCreated), got.body)
	return got.object()
}

// readRelease reads a Release as the administrator.
func (r *rig) readRelease(ctx context.Context, namespace, name string) object {
	GinkgoHelper()
	got := r.admin.get(ctx, releasePath(namespace, name))
	Expect(got.code).To(Equal(http.StatusOK), got.body)
	return got.object()
}
