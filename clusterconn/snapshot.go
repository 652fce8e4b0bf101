// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// snapshot is what a cluster said of its kinds at one time. It is immutable once it is
// the current one.
type snapshot struct {
	begun time.Time
	epoch uint64

	version     string
	latency     time.Duration // of the answer with the version
	kinds       map[schema.GroupVersionKind]*meta.RESTMapping
	preferred   map[schema.GroupKind]*meta.RESTMapping
	failed      map[schema.GroupVersion]error
	apiVersions []string // sorted
}

func newSnapshot(version string, groups []*metav1.APIGroup, lists []*metav1.APIResourceList, failed map[schema.GroupVersion]error) *snapshot {
	s := &snapshot{
		version:   version,
		kinds:     map[schema.GroupVersionKind]*meta.RESTMapping{},
		preferred: map[schema.GroupKind]*meta.RESTMapping{},
		failed:    failed,
	}
	names := map[string]struct{}{}
	for gv := range failed {
		names[gv.String()] = struct{}{}
	}
	for _, list := range lists {
		names[list.GroupVersion] = struct{}{}
		for i := range list.APIResources {
			names[list.GroupVersion+"/"+list.APIResources[i].Kind] = struct{}{}
			s.add(list.GroupVersion, &list.APIResources[i])
		}
	}
	s.apiVersions = slices.Sorted(maps.Keys(names))
	s.prefer(groups)
	return s
}

// add notes a resource, unless it is a subresource. Of two resources of one kind the one
// that objects can be read from is kept.
func (s *snapshot) add(groupVersion string, resource *metav1.APIResource) {
	gv, err := schema.ParseGroupVersion(groupVersion)
	if err != nil || strings.Contains(resource.Name, "/") {
		return
	}
	gvk := gv.WithKind(resource.Kind)
	if _, taken := s.kinds[gvk]; taken && !slices.Contains(resource.Verbs, "get") {
		return
	}
	mapping := &meta.RESTMapping{Resource: gv.WithResource(resource.Name), GroupVersionKind: gvk, Scope: meta.RESTScopeRoot}
	if resource.Namespaced {
		mapping.Scope = meta.RESTScopeNamespace
	}
	s.kinds[gvk] = mapping
}

// prefer notes for each kind the version that the server would take: the preferred one of
// its group, if that has the kind, else the first that does.
func (s *snapshot) prefer(groups []*metav1.APIGroup) {
	rank := map[schema.GroupVersion]int{}
	for _, group := range groups {
		for i, version := range group.Versions {
			rank[schema.GroupVersion{Group: group.Name, Version: version.Version}] = i + 1
		}
		rank[schema.GroupVersion{Group: group.Name, Version: group.PreferredVersion.Version}] = 0
	}
	for gvk, mapping := range s.kinds {
		present, taken := s.preferred[gvk.GroupKind()]
		if !taken || rank[gvk.GroupVersion()] < rank[present.GroupVersionKind.GroupVersion()] {
			s.preferred[gvk.GroupKind()] = mapping
		}
	}
}

// keep takes over from an older snapshot what it knew of the groups that failed now.
func (s *snapshot) keep(older *snapshot) {
	if older == nil || len(s.failed) == 0 {
		return
	}
	for gvk, mapping := range older.kinds {
		if _, failed := s.failed[gvk.GroupVersion()]; !failed {
			continue
		}
		s.kinds[gvk] = mapping
		if _, taken := s.preferred[gvk.GroupKind()]; !taken {
			s.preferred[gvk.GroupKind()] = mapping
		}
	}
	names := map[string]struct{}{}
	for _, name := range s.apiVersions {
		names[name] = struct{}{}
	}
	for gv := range s.failed {
		for _, name := range older.apiVersions {
			if strings.HasPrefix(name, gv.String()+"/") {
				names[name] = struct{}{}
			}
		}
	}
	s.apiVersions = slices.Sorted(maps.Keys(names))
}

// mapping finds a kind that can be worked with.
func (s *snapshot) mapping(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := s.lastMapping(gvk)
	if err != nil {
		return nil, err
	}
	if cause, failed := s.failed[mapping.GroupVersionKind.GroupVersion()]; failed {
		return nil, &GroupUnavailableError{GroupVersion: mapping.GroupVersionKind.GroupVersion(), Err: cause}
	}
	return mapping, nil
}

// lastMapping finds a kind, also one whose group has failed since it was seen.
func (s *snapshot) lastMapping(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, found := s.kinds[gvk]
	if gvk.Version == "" {
		mapping, found = s.preferred[gvk.GroupKind()]
	}
	if found {
		return mapping, nil
	}
	if failed := s.failedVersion(gvk); failed != nil {
		return nil, failed
	}
	noMatch := &meta.NoKindMatchError{GroupKind: gvk.GroupKind()}
	if gvk.Version != "" {
		noMatch.SearchedVersions = []string{gvk.Version}
	}
	return nil, noMatch
}

// failedVersion gives the failure that may hide a kind, nil if there is none. Of several
// it is the first by name, so that the same state gives the same message.
func (s *snapshot) failedVersion(gvk schema.GroupVersionKind) error {
	versions := slices.SortedFunc(maps.Keys(s.failed), func(a, b schema.GroupVersion) int {
		return strings.Compare(a.String(), b.String())
	})
	for _, gv := range versions {
		if gv.Group == gvk.Group && (gvk.Version == "" || gv.Version == gvk.Version) {
			return &GroupUnavailableError{GroupVersion: gv, Err: s.failed[gv]}
		}
	}
	return nil
}
