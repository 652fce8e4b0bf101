// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"cmp"
	"context"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/fault"
)

// Dependency is a chart that another chart depends on, as its Chart.yaml says.
type Dependency struct {
	// Repository is the URL of the repository; or @ or alias: and the name of a HelmRegistry.
	Repository string
	// Name of the chart, and Version: a version or a range.
	Name, Version string
}

// ReadChart gives a chart that another one depends on, from the registry of a namespace whose
// url is the repository's: a HelmRegistry, or an *OCIRegistry for an oci URL, of which the
// longest url counts that the repository lies at or below. registries are those of the
// namespace; others are passed over. maxAge is how old the look at what versions there are
// may be. The error is ErrNotFound when there is no such registry; others are those of
// Resolve and Fetch. Every process that must find the same charts reads them by this.
func ReadChart(ctx context.Context, fetcher Fetcher, namespace string, registries []runtime.Object, wanted Dependency, maxAge time.Duration) (*Artifact, error) {
	found, err := registryOf(namespace, registries, wanted)
	if err != nil {
		return nil, err
	}
	if Suspended(found.source) {
		return nil, fault.New(ErrInvalid, "%s is suspended", found.name)
	}
	want := Want{Namespace: namespace, Source: found.source, Content: found.content, MaxAge: maxAge}
	revision, _, err := fetcher.Resolve(ctx, want)
	if err != nil {
		return nil, err
	}
	return fetcher.Fetch(ctx, want, revision)
}

// registry is one that has a chart.
type registry struct {
	source  runtime.Object
	content corev1alpha1.ReleaseSource
	name    string
	// length of the url, and rank among those that have the same.
	length, rank int
}

func registryOf(namespace string, registries []runtime.Object, wanted Dependency) (registry, error) {
	if name, ok := named(wanted.Repository); ok {
		for _, source := range registries {
			if s, ok := source.(*sourcev1alpha1.HelmRegistry); ok && s.Name == name {
				return ofHelm(s, wanted.Name, wanted.Version, 0), nil
			}
		}
		return registry{}, fault.New(ErrNotFound, "its repository is called %q, and the namespace %s has no HelmRegistry of that name; create it, or give the chart's Chart.yaml the URL of the repository", wanted.Repository, namespace)
	}
	u, err := url.Parse(wanted.Repository)
	if err != nil || u.User != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "oci"}, u.Scheme) {
		return registry{}, fault.New(ErrInvalid, "its repository %q is none of an http, https or oci URL without credentials, file:// and a path, and @ and a name", fault.URL(wanted.Repository))
	}
	var fitting []registry
	for _, source := range registries {
		if r, ok := fits(source, u, wanted); ok {
			fitting = append(fitting, r)
		}
	}
	if len(fitting) == 0 {
		kinds := "HelmRegistry"
		if u.Scheme == "oci" {
			kinds = "HelmRegistry or OCIRegistry"
		}
		return registry{}, fault.New(ErrNotFound, "the namespace %s has no %s with the url %s; create one, or add the chart to charts/ with `helm dependency update`", namespace, kinds, fault.URL(wanted.Repository))
	}
	return slices.MinFunc(fitting, func(a, b registry) int {
		return cmp.Or(cmp.Compare(b.length, a.length), cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name))
	}), nil
}

// named tells the names of repositories that `helm repo add` gives from URLs.
func named(repository string) (name string, ok bool) {
	if name, ok = strings.CutPrefix(repository, "@"); ok {
		return name, true
	}
	return strings.CutPrefix(repository, "alias:")
}

// fits tells whether a registry has the charts of a repository.
func fits(source runtime.Object, repository *url.URL, wanted Dependency) (registry, bool) {
	switch s := source.(type) {
	case *sourcev1alpha1.HelmRegistry:
		rest, length, ok := below(s.Spec.URL, repository)
		if !ok || rest != "" && repository.Scheme != "oci" {
			return registry{}, false
		}
		return ofHelm(s, path.Join(rest, wanted.Name), wanted.Version, length), true
	case *sourcev1alpha1.OCIRegistry:
		rest, length, ok := below(s.Spec.URL, repository)
		content := corev1alpha1.ReleaseSource{OCI: &corev1alpha1.OCISource{
			RegistryRef: corev1alpha1.LocalReference{Name: s.Name}, Repository: path.Join(rest, wanted.Name),
			Ref: corev1alpha1.OCIRef{Semver: cmp.Or(wanted.Version, "*")},
		}}
		return registry{source: s, content: content, name: shown("OCIRegistry", s), length: length, rank: 1}, ok
	}
	return registry{}, false
}

func ofHelm(s *sourcev1alpha1.HelmRegistry, chart, version string, length int) registry {
	content := corev1alpha1.ReleaseSource{Helm: &corev1alpha1.HelmSource{RegistryRef: corev1alpha1.LocalReference{Name: s.Name}, Chart: chart, Version: version}}
	return registry{source: s, content: content, name: shown("HelmRegistry", s), length: length}
}

func shown(kind string, object metav1.Object) string {
	return kind + " " + object.GetNamespace() + "/" + object.GetName()
}

// below tells whether a repository is at the address of a registry or below it, and where.
// length is that of the registry's path.
func below(address string, repository *url.URL) (rest string, length int, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != repository.Scheme || hostOf(u) != hostOf(repository) || u.RawQuery != repository.RawQuery {
		return "", 0, false
	}
	base, at := strings.Trim(u.Path, "/"), strings.Trim(repository.Path, "/")
	switch {
	case base == at:
		return "", len(base), true
	case base == "":
		return at, 0, true
	}
	rest, ok = strings.CutPrefix(at, base+"/")
	return rest, len(base), ok
}

// hostOf spells the port out where it is the usual one.
func hostOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80"}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()) + ":" + cmp.Or(port, "443")
}
