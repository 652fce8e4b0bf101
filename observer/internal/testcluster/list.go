// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// listed gives the kind that a path lists.
func (s *Server) listed(path string) (Resource, bool) {
	i := slices.IndexFunc(s.resources, func(r Resource) bool {
		return strings.HasPrefix(path, r.root()) && strings.HasSuffix(path, "/"+r.Plural)
	})
	if i < 0 {
		return Resource{}, false
	}
	return s.resources[i], true
}

// isAbout tells whether an object is an event about the one whose UID a field selector names.
func isAbout(object *unstructured.Unstructured, selector string) bool {
	uid, asked := strings.CutPrefix(selector, "involvedObject.uid=")
	about, _, _ := unstructured.NestedString(object.Object, "involvedObject", "uid")
	return !asked || about == uid
}

// list answers with a page of the objects under a path that selectors select.
func (s *Server) list(w http.ResponseWriter, r *http.Request, kind Resource) {
	query := r.URL.Query()
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		panic(err)
	}
	var items []any
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		object := &unstructured.Unstructured{Object: s.objects[path]}
		if strings.HasPrefix(path, r.URL.Path+"/") && selector.Matches(labels.Set(object.GetLabels())) && isAbout(object, query.Get("fieldSelector")) {
			items = append(items, object.Object)
		}
	}
	from, _ := strconv.Atoi(query.Get("continue"))
	to, next := len(items), ""
	if limit, _ := strconv.Atoi(query.Get("limit")); limit > 0 && from+limit < to {
		to, next = from+limit, strconv.Itoa(from+limit)
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"apiVersion": strings.TrimPrefix(kind.Group+"/"+kind.Version, "/"), "kind": kind.Kind + "List",
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version), "continue": next}, "items": items[from:to],
	})
}
