// SPDX-License-Identifier: Apache-2.0

package testcluster

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// discovery answers requests for what is served; false when r is none.
func (s *Server) discovery(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/livez":
		writeJSON(w, http.StatusOK, "ok")
	case r.URL.Path == "/version":
		writeJSON(w, http.StatusOK, map[string]string{"gitVersion": "v1.37.2"})
	case r.URL.Path == "/api":
		writeJSON(w, http.StatusOK, metav1.APIVersions{Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		s.groups(w)
	case parts[0] == "api" && len(parts) == 2:
		s.served(w, schema.GroupVersion{Version: parts[1]})
	case parts[0] == "apis" && len(parts) == 3:
		s.served(w, schema.GroupVersion{Group: parts[1], Version: parts[2]})
	default:
		return false
	}
	return true
}

func (s *Server) groups(w http.ResponseWriter) {
	list := metav1.APIGroupList{}
	for _, r := range s.resources {
		known := slices.ContainsFunc(list.Groups, func(g metav1.APIGroup) bool { return g.Name == r.Group })
		if r.Group == "" || known {
			continue
		}
		version := metav1.GroupVersionForDiscovery{GroupVersion: r.Group + "/" + r.Version, Version: r.Version}
		list.Groups = append(list.Groups, metav1.APIGroup{
			Name: r.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
		})
	}
	writeJSON(w, http.StatusOK, list)
}

func (s *Server) served(w http.ResponseWriter, gv schema.GroupVersion) {
	list := metav1.APIResourceList{GroupVersion: gv.String()}
	for _, r := range s.resources {
		if r.Group == gv.Group && r.Version == gv.Version {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.Plural, Kind: r.Kind, Namespaced: !r.ClusterScoped, Verbs: []string{"get", "list", "watch", "patch"},
			})
		}
	}
	writeJSON(w, http.StatusOK, list)
}

// metadata answers lists and watches of a kind's metadata, of objects that have an owner.
func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	i := slices.IndexFunc(s.resources, func(resource Resource) bool { return resource.root()+resource.Plural == r.URL.Path })
	if i < 0 {
		s.mu.Unlock()
		http.NotFound(w, r)
		return
	}
	var items []map[string]any
	for path, object := range s.objects {
		if strings.HasPrefix(path, s.resources[i].root()) && object["kind"] == s.resources[i].Kind && owned(object) {
			items = append(items, metadataOf(object))
		}
	}
	version := strconv.Itoa(s.version)
	if r.URL.Query().Get("watch") == "" {
		s.mu.Unlock()
		writeJSON(w, http.StatusOK, map[string]any{
			"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList",
			"metadata": map[string]any{"resourceVersion": version}, "items": items,
		})
		return
	}
	events := make(chan event, 1000)
	s.watches[events] = s.resources[i]
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, events)
	}()
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		first := initial(items, version)
		s.stream(w, r, events, first)
		return
	}
	s.stream(w, r, events, newer(items, r.URL.Query().Get("resourceVersion")))
}

// newer are the events of what changed since a version.
func newer(items []map[string]any, version string) []event {
	since, _ := strconv.Atoi(version)
	var events []event
	for _, item := range items {
		metadata, _ := item["metadata"].(map[string]any)
		text, _ := metadata["resourceVersion"].(string)
		if at, err := strconv.Atoi(text); err == nil && at > since {
			events = append(events, event{Type: "MODIFIED", Object: item})
		}
	}
	return events
}

// initial are the events with which a watch that is to begin with a list begins.
func initial(items []map[string]any, version string) []event {
	var events []event
	for _, item := range items {
		events = append(events, event{Type: "ADDED", Object: item})
	}
	return append(events, event{Type: "BOOKMARK", Object: map[string]any{
		"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
		"metadata": map[string]any{"resourceVersion": version, "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"}},
	}})
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request, events <-chan event, first []event) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	encoder := json.NewEncoder(w)
	for _, one := range first {
		_ = encoder.Encode(one)
	}
	for {
		w.(http.Flusher).Flush()
		select {
		case one := <-events:
			_ = encoder.Encode(one)
		case <-r.Context().Done():
			return
		case <-s.ended:
			return
		}
	}
}

func owned(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	_, ok := labels[corev1alpha1.LabelOwner]
	return ok
}

func metadataOf(object map[string]any) map[string]any {
	return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": object["metadata"]}
}
