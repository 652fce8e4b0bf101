// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// asker is who asks for a render.
type asker struct {
	namespace, name string
	upgrade         bool
}

func askerOf(in *Input) asker {
	return asker{namespace: in.Release.Namespace, name: in.Release.Name, upgrade: in.Upgrade}
}

// given is all that the last render of an asker was made of, so that it can be told to be the
// same without being read, parsed and digested again.
type given struct {
	spec     *corev1alpha1.ReleaseSpec
	artifact Artifact // without its Root
	// kubeVersion and apiVersions are of the target, if the engine asks for them.
	capabilities bool
	kubeVersion  string
	apiVersions  []string
	// kinds whose scope the target knows.
	kinds []scopedKind
	// result is the key of the Result.
	result string
}

type scopedKind struct {
	schema.GroupVersionKind
	namespaced bool
}

// recall gives the result of an input that nothing of has changed since it was rendered. It
// allocates nothing.
func (r *Renderer) recall(ctx context.Context, in *Input) (*Result, bool) {
	before, ok := r.givens.Get(askerOf(in))
	if !ok || !before.same(ctx, in) {
		return nil, false
	}
	return r.results.Get(before.result)
}

// remember keeps what a result was made of, unless that has to be asked for each time.
func (r *Renderer) remember(in *Input, p *plan, d *draft, s *scopes, result string) {
	if p.lookup != nil || len(p.options.ValuesFrom) > 0 || len(p.charts) > 0 || in.Artifact.RootDigest == "" {
		return
	}
	g := &given{
		spec: in.Release.Spec.DeepCopy(), artifact: in.Artifact, result: result,
		capabilities: p.engine == corev1alpha1.RenderHelm, kubeVersion: p.kubeVersion, apiVersions: r.served.share(p.served),
	}
	g.artifact.Root = nil
	for _, k := range d.kinds {
		if _, own := d.own[k.GroupVersionKind]; !own {
			g.kinds = append(g.kinds, scopedKind{k.GroupVersionKind, s.namespaced[k.GroupKind()]})
		}
	}
	r.givens.Put(askerOf(in), g)
	if in.Upgrade { // what was installed is seldom asked for again
		installed := askerOf(in)
		installed.upgrade = false
		r.givens.Forget(installed, func(*given) bool { return true })
	}
}

// lists has equal lists of API versions in memory once: those of all Releases of a cluster are, and
// have hundreds of elements.
type lists struct {
	mu sync.Mutex
	// known are those of some clusters, the one that was asked for last in front.
	known [][]string
}

// mostLists is how many lists are known.
const mostLists = 64

func (l *lists) share(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.known, func(known []string) bool { return slices.Equal(known, list) })
	if i >= 0 {
		list = l.known[i]
		l.known = slices.Delete(l.known, i, i+1)
	}
	l.known = slices.Insert(l.known, 0, list)
	l.known = l.known[:min(len(l.known), mostLists)]
	return list
}

// same tells whether an input is what was given before.
func (g *given) same(ctx context.Context, in *Input) bool {
	a := &in.Artifact
	if a.Path != g.artifact.Path || a.Digest != g.artifact.Digest || a.RootDigest != g.artifact.RootDigest {
		return false
	}
	if !equal(reflect.ValueOf(g.spec), reflect.ValueOf(&in.Release.Spec)) {
		return false
	}
	if g.capabilities {
		version, served, err := in.Cluster.Capabilities(ctx)
		if err != nil || version != g.kubeVersion || !slices.Equal(served, g.apiVersions) {
			return false
		}
	}
	for _, k := range g.kinds {
		namespaced, err := in.Cluster.Namespaced(ctx, k.GroupVersionKind)
		if err != nil || namespaced != k.namespaced {
			return false
		}
	}
	return true
}

// equal tells whether two values of a type of the API are the same. It differs from
// reflect.DeepEqual in that it allocates nothing, and in that it finds maps and what is behind
// interfaces different: the spec of a Release has none.
func equal(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		return equal(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if !equal(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		return equalSlices(a, b)
	case reflect.String:
		return a.String() == b.String()
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.Int, reflect.Int32, reflect.Int64:
		return a.Int() == b.Int()
	case reflect.Map, reflect.Interface:
		return a.IsNil() && b.IsNil()
	}
	return false
}

func equalSlices(a, b reflect.Value) bool {
	if a.Len() != b.Len() || a.IsNil() != b.IsNil() {
		return false
	}
	if a.Type().Elem().Kind() == reflect.Uint8 {
		return bytes.Equal(a.Bytes(), b.Bytes())
	}
	for i := range a.Len() {
		if !equal(a.Index(i), b.Index(i)) {
			return false
		}
	}
	return true
}
